package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A response is what is read of a server's answer.
type response struct {
	Candidates []struct {
		Content struct {
			Parts []part `json:"parts"`
		} `json:"content"`
		FinishReason provider.Text `json:"finishReason"`
		Logprobs     logprobs      `json:"logprobsResult"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason provider.Text `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage        usage           `json:"usageMetadata"`
	ModelVersion provider.Text   `json:"modelVersion"`
	Error        json.RawMessage `json:"error"`
}

type part struct {
	Text    *provider.Text  `json:"text"`
	Thought json.RawMessage `json:"thought"`
}

// A usage counts tokens.
type usage struct {
	Prompt     provider.Count `json:"promptTokenCount"` // what was cached among it
	Cached     provider.Count `json:"cachedContentTokenCount"`
	Candidates provider.Count `json:"candidatesTokenCount"` // without thoughts
	Thoughts   provider.Count `json:"thoughtsTokenCount"`
	Total      provider.Count `json:"totalTokenCount"`
}

// UnmarshalJSON never fails.
func (u *usage) UnmarshalJSON(b []byte) error {
	type plain usage
	var p plain
	if json.Unmarshal(b, &p) == nil {
		*u = usage(p)
	}
	return nil
}

func (u *usage) tokens() llm.Usage {
	out := llm.Usage{InputTokens: u.Prompt.N, CachedTokens: u.Cached.N, ReasoningTokens: u.Thoughts.N}
	switch {
	case u.Candidates.N != nil && u.Thoughts.N != nil:
		out.OutputTokens = new(*u.Candidates.N + *u.Thoughts.N)
	case u.Candidates.N != nil:
		out.OutputTokens = u.Candidates.N
	case u.Thoughts.N != nil:
		out.OutputTokens = u.Thoughts.N // a count of none is left out
	case u.Prompt.N != nil && u.Total.N != nil:
		out.OutputTokens = new(max(0, *u.Total.N-*u.Prompt.N))
	}
	return out
}

// read reads a server's answer. The error is a *provider.Fault where the server
// says that it failed, another where the answer cannot be read.
func read(req *llm.Request, a *provider.Answer) (*llm.Reply, error) {
	if a.Status/100 != 2 {
		f := readFault(a)
		if n := req.Params.Thinking; n != nil && strings.HasSuffix(f.Message, "contains an invalid argument.") {
			f.Message += fmt.Sprintf(" It may be the thinking budget of %d: models differ in what they take.", *n)
		}
		return nil, f
	}
	body := a.Text()
	var r response
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, a.Unreadable("generateContent response", err)
	}
	if provider.IsSet(r.Error) {
		f := provider.ErrorMember(r.Error)
		tell(f, r.Error)
		return nil, f
	}
	reply := &llm.Reply{Usage: r.Usage.tokens(), Model: string(r.ModelVersion)}
	if len(r.Candidates) == 0 {
		if r.PromptFeedback.BlockReason != "" {
			reply.Finish = llm.FinishContentFilter
			return reply, nil
		}
		return nil, provider.Malformed("an answer without candidates")
	}
	first := &r.Candidates[0]
	given := false
	for _, p := range first.Content.Parts {
		switch {
		case p.Text == nil:
		case string(p.Thought) == "true":
			reply.Reasoning += string(*p.Text)
		default:
			given = true
			reply.Text += string(*p.Text)
		}
	}
	reply.Booleans = provider.Tokens(first.Logprobs).Booleans(reply.Text)
	reply.Finish = finish(string(first.FinishReason))
	if !given && reply.Reasoning == "" && (reply.Finish == llm.FinishStop || reply.Finish == "") {
		return nil, provider.Malformed("a reply without content")
	}
	return reply, nil
}

// logprobs are the tokens of a reply: those that were chosen, and beside each the
// likeliest in its place. Anything else is no tokens.
type logprobs provider.Tokens

// UnmarshalJSON never fails.
func (l *logprobs) UnmarshalJSON(b []byte) error {
	type candidate struct {
		Token   provider.Text   `json:"token"`
		Logprob json.RawMessage `json:"logProbability"`
	}
	var form struct {
		Chosen []candidate `json:"chosenCandidates"`
		Top    []struct {
			Candidates []candidate `json:"candidates"`
		} `json:"topCandidates"`
	}
	if json.Unmarshal(b, &form) != nil {
		return nil
	}
	choice := func(c *candidate) provider.TokenChoice {
		var p *float64
		_ = json.Unmarshal(c.Logprob, &p) // one that is no number is not known
		return provider.TokenChoice{Text: string(c.Token), Logprob: provider.Logprob(p)}
	}
	for i := range form.Chosen {
		token := provider.Token{TokenChoice: choice(&form.Chosen[i])}
		if i < len(form.Top) {
			for j := range form.Top[i].Candidates {
				token.Others = append(token.Others, choice(&form.Top[i].Candidates[j]))
			}
		}
		*l = append(*l, token)
	}
	return nil
}

// finish translates a server's word for why a reply ended.
func finish(word string) llm.Finish {
	switch word {
	case "STOP":
		return llm.FinishStop
	case "MAX_TOKENS", "CONTINUATION": // the second at a limit of one request's, after which another could go on
		return llm.FinishLength
	case "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "MODEL_ARMOR", "JAILBREAK",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return llm.FinishContentFilter
	case "FINISH_REASON_UNSPECIFIED":
		return ""
	}
	return llm.Finish(strings.ToLower(word))
}
