package chat

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// A token is a piece of a reply as the model wrote it.
type token struct {
	choice
	others []choice // the likeliest tokens in its place; it can be among them
}

// A choice is a token that could have stood in a place. The logprob is the
// natural logarithm of its probability, nil where the server does not say.
type choice struct {
	text    string
	logprob *float64
}

// logprobs are the tokens of a reply: a list of objects, or, as older servers
// have it, lists side by side. Anything else is no tokens.
type logprobs []token

// UnmarshalJSON never fails.
func (l *logprobs) UnmarshalJSON(b []byte) error {
	var form struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(b, &form) == nil && len(form.Content) > 0 {
		*l = listed(form.Content)
		return nil
	}
	*l = sideBySide(b)
	return nil
}

// listed reads one object a token.
func listed(raw []json.RawMessage) logprobs {
	tokens := make(logprobs, len(raw))
	for i := range raw {
		var t wireToken
		if json.Unmarshal(raw[i], &t) != nil {
			return nil // then no later token's place is known
		}
		tokens[i].choice = t.choice()
		tokens[i].others = likeliest(t.Top)
	}
	return tokens
}

// likeliest reads the tokens that could have stood in a place: a list of
// objects, or an object of log-probabilities.
func likeliest(raw json.RawMessage) []choice {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return inOrder(raw)
	}
	var choices []choice
	for i := range list {
		var t wireToken
		if json.Unmarshal(list[i], &t) == nil {
			choices = append(choices, t.choice())
		}
	}
	return choices
}

type wireToken struct {
	Token   provider.Text   `json:"token"`
	Bytes   json.RawMessage `json:"bytes"`
	Logprob json.RawMessage `json:"logprob"`
	Top     json.RawMessage `json:"top_logprobs"`
}

// choice prefers the bytes: a token can end in the middle of a character, which
// its text cannot show.
func (t *wireToken) choice() choice {
	c := choice{text: string(t.Token)}
	var p *float64
	if json.Unmarshal(t.Logprob, &p) == nil {
		c.logprob = finite(p)
	}
	var numbers []int
	if json.Unmarshal(t.Bytes, &numbers) != nil || len(numbers) == 0 {
		return c
	}
	text := make([]byte, len(numbers))
	for i, n := range numbers {
		if n < 0 || n > 255 {
			return c
		}
		text[i] = byte(n)
	}
	c.text = string(text)
	return c
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
		tokens[i].text = text
		if i < len(form.Logprobs) {
			tokens[i].logprob = finite(form.Logprobs[i])
		}
		if i < len(form.Top) {
			tokens[i].others = likeliest(form.Top[i])
		}
	}
	return tokens
}

// inOrder reads an object of log-probabilities in the order in which it is
// written, so that sums come out the same each time.
func inOrder(raw json.RawMessage) []choice {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var choices []choice
	for dec.More() {
		text, err := dec.Token()
		var p *float64
		if err != nil || dec.Decode(&p) != nil {
			return nil
		}
		choices = append(choices, choice{text.(string), finite(p)})
	}
	return choices
}

// unlikely is what servers send in place of the log-probability of a token that
// is not among the likeliest.
const unlikely = -9999

// finite returns a log-probability, nil for a number that is none.
func finite(p *float64) *float64 {
	switch {
	case p == nil, !(*p > unlikely), *p > 1e-3:
		return nil
	case *p > 0: // rounding
		return new(float64)
	}
	return p
}

// booleans returns the JSON booleans in a reply's text that these tokens wrote,
// with the probabilities of true and false at the first of each one's tokens:
// true and false differ in their first letter, so that token decides. A boolean
// is a bare true or false, or Python's True or False, behind a colon.
//
// The probability of true is the sum over the tokens that can only go on to it:
// true, True, a part of them such as tr, or one of them with what follows, such
// as "true,"; white space before it does not matter. The others' is not counted:
// a model that hesitates between a boolean and something else gives sums below 1.
//
// Servers list more tokens than make up the text (thinking, end marks). When
// the text is not found in the tokens exactly once it is not known which token
// wrote what, and there are no booleans.
func (l logprobs) booleans(text string) []record.Boolean {
	if len(l) == 0 || text == "" {
		return nil
	}
	var whole strings.Builder
	for i := range l {
		whole.WriteString(l[i].text)
	}
	base := strings.Index(whole.String(), text)
	if base < 0 || base != strings.LastIndex(whole.String(), text) {
		return nil
	}
	var found []record.Boolean
	start, next := 0, 0 // of the token that is looked at
	for _, at := range booleansAt(text) {
		for next < len(l) && start+len(l[next].text) <= base+at {
			start += len(l[next].text)
			next++
		}
		t := &l[next]
		b := record.Boolean{At: at}
		b.True, b.False = t.between(t.text[:base+at-start])
		if b.True != nil || b.False != nil {
			found = append(found, b)
		}
	}
	return found
}

// booleansAt returns where booleans stand in a text.
func booleansAt(text string) []int {
	var found []int
	for at := 0; at < len(text); at++ {
		n := wordAt(text[at:])
		if n == 0 {
			continue
		}
		if strings.HasSuffix(strings.TrimRight(text[:at], " \t\r\n"), ":") {
			found = append(found, at)
		}
		at += n - 1
	}
	return found
}

// wordAt returns the length of the boolean that a text begins with; 0 when it
// begins with none.
func wordAt(text string) int {
	for _, word := range []string{"true", "True", "false", "False"} {
		if strings.HasPrefix(text, word) && !wordGoesOn(text[len(word):]) {
			return len(word)
		}
	}
	return 0
}

func wordGoesOn(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// between sums the probabilities of the tokens that go on to true and of those
// that go on to false, where before is what stands in the token ahead of its
// boolean.
func (t *token) between(before string) (yes, no *float64) {
	sum := func(word string) *float64 {
		total, given := 0.0, false
		add := func(c *choice) {
			if c.logprob != nil && goesOnTo(c.text, before, word) {
				total, given = total+math.Exp(*c.logprob), true
			}
		}
		listed := false
		for i := range t.others {
			listed = listed || t.others[i].text == t.text
			add(&t.others[i])
		}
		if !listed {
			add(&t.choice)
		}
		if !given {
			return nil
		}
		p := math.Log(min(total, 1))
		if math.IsInf(p, -1) {
			return nil
		}
		return &p
	}
	return sum("true"), sum("false")
}

// goesOnTo reports whether a token that stands where another begins with before
// can only be a boolean's beginning, or the boolean and what follows.
func goesOnTo(text, before, word string) bool {
	rest, ok := strings.CutPrefix(text, before)
	if strings.TrimSpace(before) == "" {
		rest, ok = strings.TrimLeft(text, " \t\r\n"), true
	}
	if !ok || rest == "" {
		return false
	}
	first := strings.ToUpper(word[:1]) + word[1:]
	for _, w := range []string{word, first} {
		if strings.HasPrefix(w, rest) || strings.HasPrefix(rest, w) && !wordGoesOn(rest[len(w):]) {
			return true
		}
	}
	return false
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
