// Package chat speaks the Chat Completions protocol, which OpenAI began and many
// servers understand: one POST a call, whose answer comes at once or, if wanted,
// in pieces. Its Providers are the names under which such servers are reached.
//
// It refuses to try a failed call again and to wait; the wrappers of llm do.
package chat

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// Options are what a client is made of.
type Options struct {
	Name  string // the model's whole name, for errors
	Model string // the name that the server is told
	URL   string // where requests go, up to and with /chat/completions
	Key   string // the credential; empty for none
	// KeyHeader is the header that carries the key by itself, such as
	// "api-key"; empty for "Authorization: Bearer KEY".
	KeyHeader string
	// CompletionCap names the cap on output tokens max_completion_tokens, not
	// max_tokens. A server that refuses the one is sent the other.
	CompletionCap bool
	// QuotaIsRate is for servers that say insufficient_quota of a limit by the
	// minute.
	QuotaIsRate bool
	// TopLogprobs is how many tokens a place to ask for where log-probabilities
	// are wanted; 0 stands for 5, as many as every provider grants.
	TopLogprobs int
	// Counting asks for the counts of tokens with each piece of a stream, by the
	// server's own name for that: a member of the body, or of stream_options
	// behind a dot; empty where there is none.
	Counting string
	Settings provider.Settings
}

// New returns a client for one model. It makes no request.
func New(o Options) (*provider.Model, error) {
	header := http.Header{}
	switch {
	case o.Key == "":
	case o.KeyHeader != "":
		header.Set(o.KeyHeader, o.Key)
	default:
		header.Set("Authorization", "Bearer "+o.Key)
	}
	if o.TopLogprobs == 0 {
		o.TopLogprobs = 5
	}
	shared := provider.Options{Name: o.Name, Model: o.Model, URL: o.URL, Key: o.Key, Settings: o.Settings}
	o.Key, o.Settings.Header = "", nil // only the requests need them
	return provider.New(shared, provider.Protocol{
		Header: header, Ours: []string{"model", "messages", "stream", "n"}, QuotaIsRate: o.QuotaIsRate,
		Encode: o.encode, Read: read, Stream: newStream, Batches: newBatches, Refuses: refuses, Instead: o.instead,
	})
}

// Parameters that are known by more than their names.
const (
	paramSchema        = "response_format"
	paramTokens        = "max_tokens"
	paramCompletionCap = "max_completion_tokens"
)

// encode writes a request's body.
func (o *Options) encode(req *llm.Request, b *provider.Body) {
	b.Set("model", o.Model)
	b.Set("messages", []any{message{"user", o.content(req.Parts)}})
	if n := req.Params.MaxTokens; n != nil {
		// Never without a cap: a reply could then cost anything. Both names
		// cannot be refused, see instead.
		first, second := o.capNames()
		if !b.Try(first, *n) {
			b.Try(second, *n)
		}
	}
	if t := req.Params.Temperature; t != nil {
		b.Try("temperature", *t)
	}
	if p := req.Params.TopP; p != nil {
		b.Try("top_p", *p)
	}
	if req.Params.Thinking != nil {
		b.Leave("thinking", "the protocol has no budget; say how hard the model is to think by its own parameter, with --extra-body")
	}
	if req.Params.Logprobs && b.Try("logprobs", true) { // without the switch the number is an error
		b.Try("top_logprobs", o.TopLogprobs)
	}
	if s := req.Schema; s != nil && !o.Settings.NoSchema {
		b.Try(paramSchema, responseFormat{"json_schema", schema{s.Name, true, b.Schema(s)}})
	}
	if o.Settings.Stream && !req.Batch && b.Try(provider.ParamStream, true) {
		inner, within := strings.CutPrefix(o.Counting, "stream_options.")
		options := map[string]bool{"include_usage": true}
		if within {
			options[inner] = true
		} else if o.Counting != "" {
			b.Try(o.Counting, true)
		}
		b.Try("stream_options", options)
	}
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type responseFormat struct {
	Type   string `json:"type"`
	Schema schema `json:"json_schema"`
}

type schema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imagePart struct {
	Type string   `json:"type"`
	URL  imageURL `json:"image_url"`
}

type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

// content returns the prompt as it is sent. One without pictures is a plain
// string, which every server takes.
func (o *Options) content(parts []llm.Part) any {
	joined := provider.Texts(parts)
	if len(joined) == 0 {
		return ""
	}
	if len(joined) == 1 && !joined[0].IsImage() {
		return joined[0].Text()
	}
	var content []any
	for i := range joined {
		if p := &joined[i]; p.IsImage() {
			content = append(content, imagePart{"image_url", imageURL{"data:image/png;base64," + base64.StdEncoding.EncodeToString(p.PNG()), o.Settings.Detail}})
		} else {
			content = append(content, textPart{"text", p.Text()})
		}
	}
	return content
}

// refuses reports whether a server refuses to take a parameter.
func refuses(f *provider.Fault, param string, _ *llm.Request) bool {
	return param == paramSchema && f.RefusesSchema(param) || f.Refuses(param)
}

// instead sends the cap on output tokens under its other name, once; everything
// else that is refused is left out.
func (o *Options) instead(param, _ string) (string, bool) {
	first, second := o.capNames()
	if param == first {
		return second, true
	}
	return "", param != second
}

// capNames returns the names of the cap on output tokens, in the order in which
// they are tried.
func (o *Options) capNames() (first, second string) {
	if o.CompletionCap {
		return paramCompletionCap, paramTokens
	}
	return paramTokens, paramCompletionCap
}

func read(_ *llm.Request, a *provider.Answer) (*llm.Reply, error) {
	completion, err := a.Decode("completion")
	if err != nil {
		return nil, err
	}
	return readCompletion(completion)
}

// readCompletion reads a completion. Servers differ in much beside what is read
// here, and none of it may spoil a reply that was paid for.
func readCompletion(c provider.Value) (*llm.Reply, error) {
	if c.At("error").IsSet() {
		return nil, begun(provider.ErrorMember(c.At("error")), c)
	}
	choices, isList := c.At("choices").List()
	choice := c.At("choices", 0)
	switch {
	case c.At("choices").IsSet() && !isList:
		return nil, provider.Malformed("an answer in JSON that is no completion")
	case len(choices) == 0:
		if f := provider.FindFault(c); f.Said() {
			return nil, f
		}
		return nil, provider.Malformed("an answer without choices")
	case choice.At("error").IsSet():
		return nil, begun(provider.ErrorMember(choice.At("error")), c)
	}
	m := choice.At("message")
	text, thinking, given := content(m.At("content"))
	reply := &llm.Reply{
		Text:   text,
		Finish: finish(choice.At("finish_reason").Text()),
		Usage:  usage(c), Model: c.At("model").Text(), Timings: timings(c.At("timings")),
	}
	for _, thought := range []string{m.At("reasoning_content").Text(), m.At("reasoning").Text(), thinking} {
		if reply.Reasoning == "" {
			reply.Reasoning = thought
		}
	}
	if reply.Text == "" {
		reply.Text = m.At("refusal").Text()
	}
	switch {
	case reply.Finish == finishFailed:
		return nil, &provider.Fault{Message: "the server ended the reply itself: " + choice.At("finish_reason").Text()}
	case reply.Text != "", given, reply.Reasoning != "":
	case reply.Finish == llm.FinishLength, reply.Finish == llm.FinishContentFilter:
	default:
		return nil, provider.Malformed("a reply without content")
	}
	reply.Booleans = tokens(choice.At("logprobs")).Booleans(reply.Text)
	return reply, nil
}

// begun marks a failure that came with a part of an answer.
func begun(f *provider.Fault, c provider.Value) *provider.Fault {
	f.Usage = usage(c)
	f.Begun = c.At("choices", 0).IsSet() || f.Usage.OutputTokens != nil
	return f
}

// content reads a message's content: a string, or parts of text and thinking.
// given says that it is of such a form.
func content(v provider.Value) (text, thinking string, given bool) {
	parts, _ := v.List()
	for _, p := range parts {
		given = given || p.At("type").Text() == "text"
		text += p.At("text").Text()
		thinking += p.At("thinking").Text()
		thoughts, _ := p.At("thinking").List()
		for _, t := range thoughts {
			thinking += t.At("text").Text()
		}
	}
	return v.Text() + text, thinking, given || v.IsText()
}

// usage counts tokens by the names that servers use. Some count thinking beside
// the completion, not within: it is paid for all the same, and the total has it.
func usage(c provider.Value) llm.Usage {
	v := c.At("usage")
	either := func(first, second string) *int {
		if n := v.At(first).Count(); n != nil {
			return n
		}
		return v.At(second).Count()
	}
	u := llm.Usage{
		InputTokens: either("prompt_tokens", "input_tokens"), OutputTokens: either("completion_tokens", "output_tokens"),
		CachedTokens:     v.At("prompt_tokens_details", "cached_tokens").Count(),
		CacheWriteTokens: v.At("prompt_tokens_details", "cache_write_tokens").Count(),
		ReasoningTokens:  v.At("completion_tokens_details", "reasoning_tokens").Count(),
	}
	if u.ReasoningTokens == nil {
		u.ReasoningTokens = v.At("reasoning_tokens").Count()
	}
	if out, total := u.OutputTokens, v.At("total_tokens").Count(); out != nil {
		all := *out
		if u.ReasoningTokens != nil && *u.ReasoningTokens > all {
			all += *u.ReasoningTokens
		}
		if u.InputTokens != nil && total != nil {
			all = max(all, *total-*u.InputTokens)
		}
		u.OutputTokens = &all
	}
	if t := c.At("timings"); u.OutputTokens == nil && t.IsObject() { // of llama.cpp, also with a piece of a stream
		u.OutputTokens = t.At("predicted_n").Count()
		if n, cached := t.At("prompt_n").Count(), t.At("cache_n").Count(); n != nil && cached != nil {
			all := *n + *cached
			u.InputTokens, u.CachedTokens = &all, cached
		}
	}
	return u
}

// timings reads what llama.cpp says of its time.
func timings(v provider.Value) *record.Timings {
	read, wrote := v.At("prompt_ms").Number(), v.At("predicted_ms").Number()
	n, out := v.At("prompt_n").Count(), v.At("predicted_n").Count()
	if read == nil || wrote == nil || n == nil || out == nil {
		return nil
	}
	ms := func(f float64) time.Duration { return time.Duration(min(max(f, 0), 1e9) * float64(time.Millisecond)) }
	return &record.Timings{PromptTokens: *n, OutputTokens: *out, Prompt: ms(*read), Output: ms(*wrote)}
}

// tokens reads the tokens of a reply: a list of objects, or, as older servers
// have it, lists side by side. Anything else is no tokens.
func tokens(v provider.Value) provider.Tokens {
	if tokens := provider.ReadTokens(v.At("content")); len(tokens) > 0 {
		return tokens
	}
	list, _ := v.At("tokens").List()
	if slices.ContainsFunc(list, func(text provider.Value) bool { return !text.IsText() }) {
		return nil
	}
	tokens := make(provider.Tokens, len(list))
	for i, text := range list {
		tokens[i].Text = text.Text()
		tokens[i].Logprob = provider.Logprob(v.At("token_logprobs", i))
		tokens[i].Others = provider.ReadLikeliest(v.At("top_logprobs", i))
	}
	return tokens
}

// finishFailed stands for the words with which a server gives up on a reply.
const finishFailed llm.Finish = "\x00failed"

// finish translates a server's word for why a reply ended.
func finish(word string) llm.Finish {
	switch strings.ToLower(word) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence":
		return llm.FinishStop
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return llm.FinishLength
	case "content_filter", "content_filtered", "sensitive", "safety":
		return llm.FinishContentFilter
	case "error", "network_error", "abort", "insufficient_system_resource":
		return finishFailed
	}
	return llm.Finish(word)
}
