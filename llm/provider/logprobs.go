package provider

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/record"
)

// Tokens are those of a reply, in order.
type Tokens []Token

// A Token is a piece of a reply as the model wrote it.
type Token struct {
	TokenChoice
	Others []TokenChoice // the likeliest tokens in its place; it can be among them
}

// A TokenChoice is a token that could have stood in a place. The logprob is the
// natural logarithm of its probability, nil where the server does not say.
type TokenChoice struct {
	Text    string
	Logprob *float64
}

// ReadTokens reads a list of one object a token, with token, logprob, bytes and
// top_logprobs, as OpenAI and Ollama have it. Anything else is no tokens.
func ReadTokens(v Value) Tokens {
	list, _ := v.List()
	tokens := make(Tokens, len(list))
	for i, t := range list {
		if !t.IsObject() {
			return nil // then no later token's place is known
		}
		tokens[i] = Token{ReadChoice(t), ReadLikeliest(t.At("top_logprobs"))}
	}
	return tokens
}

// ReadLikeliest reads the tokens that could have stood in a place: a list of
// objects, or an object of log-probabilities.
func ReadLikeliest(v Value) []TokenChoice {
	var choices []TokenChoice
	list, _ := v.List()
	for _, t := range list {
		if t.IsObject() {
			choices = append(choices, ReadChoice(t))
		}
	}
	object, _ := v.v.(map[string]any)
	for _, text := range slices.Sorted(maps.Keys(object)) { // so that sums come out the same each time
		choices = append(choices, TokenChoice{text, Logprob(v.At(text))})
	}
	return choices
}

// ReadChoice reads a token with its logprob. It prefers the bytes: a token can
// end in the middle of a character, which its text cannot show.
func ReadChoice(v Value) TokenChoice {
	c := TokenChoice{v.At("token").Text(), Logprob(v.At("logprob"))}
	numbers, _ := v.At("bytes").List()
	text := make([]byte, len(numbers))
	for i := range numbers {
		n := numbers[i].Count()
		if n == nil || *n > 255 {
			return c
		}
		text[i] = byte(*n)
	}
	if len(text) > 0 {
		c.Text = string(text)
	}
	return c
}

// unlikely is what servers send in place of the log-probability of a token that
// is not among the likeliest.
const unlikely = -9999

// Logprob reads a log-probability, nil for a number that is none.
func Logprob(v Value) *float64 {
	p := v.Number()
	switch {
	case p == nil, !(*p > unlikely), *p > 1e-3:
		return nil
	case *p > 0: // rounding
		return new(float64)
	}
	return p
}

// Booleans returns the JSON booleans in a reply's text that these tokens wrote,
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
func (l Tokens) Booleans(text string) []record.Boolean {
	if len(l) == 0 || text == "" {
		return nil
	}
	var whole strings.Builder
	for i := range l {
		whole.WriteString(l[i].Text)
	}
	base := strings.Index(whole.String(), text)
	if base < 0 || base != strings.LastIndex(whole.String(), text) {
		return nil
	}
	var found []record.Boolean
	start, next := 0, 0 // of the token that is looked at
	for _, at := range booleansAt(text) {
		for next < len(l) && start+len(l[next].Text) <= base+at {
			start += len(l[next].Text)
			next++
		}
		t := &l[next]
		b := record.Boolean{At: at}
		b.True, b.False = t.between(t.Text[:base+at-start])
		if b.True != nil || b.False != nil {
			found = append(found, b)
		}
	}
	return found
}

// booleansAt returns where booleans are in a text.
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
// that go on to false, where before is what is in the token ahead of its
// boolean.
func (t *Token) between(before string) (yes, no *float64) {
	sum := func(word string) *float64 {
		total, given := 0.0, false
		add := func(c *TokenChoice) {
			if c.Logprob != nil && goesOnTo(c.Text, before, word) {
				total, given = total+math.Exp(*c.Logprob), true
			}
		}
		listed := false
		for i := range t.Others {
			listed = listed || t.Others[i].Text == t.Text
			add(&t.Others[i])
		}
		if !listed {
			add(&t.TokenChoice)
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

// goesOnTo reports whether a token in the place of one that begins with before
// can only be the start of a boolean, or the boolean and what follows.
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
