package chat

import (
	"encoding/json"

	"github.com/spatialstale/spatialstale/llm/provider"
)

// logprobs are the tokens of a reply: a list of objects, or, as older servers
// have it, lists side by side. Anything else is no tokens.
type logprobs provider.Tokens

// UnmarshalJSON never fails.
func (l *logprobs) UnmarshalJSON(b []byte) error {
	var form struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(b, &form) != nil {
		return nil
	}
	if tokens := provider.ReadTokens(form.Content); len(tokens) > 0 {
		*l = logprobs(tokens)
		return nil
	}
	*l = sideBySide(b)
	return nil
}

// sideBySide reads a list of tokens, one of their log-probabilities and one of
// objects with those of the likeliest.
func sideBySide(b []byte) logprobs {
	var form struct {
		Tokens   []string          `json:"tokens"`
		Logprobs []*float64        `json:"token_logprobs"`
		Top      []json.RawMessage `json:"top_logprobs"`
	}
	if json.Unmarshal(b, &form) != nil {
		return nil
	}
	tokens := make(logprobs, len(form.Tokens))
	for i, text := range form.Tokens {
		tokens[i].Text = text
		if i < len(form.Logprobs) {
			tokens[i].Logprob = provider.Logprob(form.Logprobs[i])
		}
		if i < len(form.Top) {
			tokens[i].Others = provider.ReadLikeliest(form.Top[i])
		}
	}
	return tokens
}

// defaultTopLogprobs is how many tokens a place are asked for: as many as every
// provider grants.
const defaultTopLogprobs = 5

func (o *Options) topLogprobs() int {
	if o.TopLogprobs == 0 {
		return defaultTopLogprobs
	}
	return o.TopLogprobs
}
