package llmtest

import (
	"math"
	"regexp"
)

// A wireToken is a token of a reply, as OpenAI writes one.
type wireToken struct {
	Token   string      `json:"token"`
	Logprob float64     `json:"logprob"`
	Bytes   []int       `json:"bytes"`
	Top     []wireToken `json:"top_logprobs,omitempty"`
}

// piece is a token of this server: a boolean with the white space before it, or
// a single character.
var piece = regexp.MustCompile(`(?s)^(?:\s*\b(?:true|false)\b|.)`)

// tokens cuts a text into tokens. A boolean has the probability p, and the other
// one the rest; everything else is certain.
func tokens(text string, p float64) []wireToken {
	var all []wireToken
	for text != "" {
		token := piece.FindString(text)
		text = text[len(token):]
		other := boolean.ReplaceAllStringFunc(token, func(word string) string {
			if word == "true" {
				return "false"
			}
			return "true"
		})
		if other == token {
			all = append(all, tokenOf(token, 0, tokenOf(token, 0)))
			continue
		}
		top := []wireToken{tokenOf(token, math.Log(p)), tokenOf(other, math.Log1p(-p))}
		all = append(all, tokenOf(token, math.Log(p), top...))
	}
	return all
}

var boolean = regexp.MustCompile(`true|false`)

func tokenOf(text string, logprob float64, top ...wireToken) wireToken {
	t := wireToken{Token: text, Logprob: logprob, Bytes: make([]int, len(text)), Top: top}
	for i := range len(text) {
		t.Bytes[i] = int(text[i])
	}
	return t
}
