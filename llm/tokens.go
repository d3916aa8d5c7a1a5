package llm

import "unicode"

// Tokens is how many tokens a text may have: a range, because every tokenizer
// cuts in its own way.
type Tokens struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// Plus returns the sum of two ranges.
func (t Tokens) Plus(u Tokens) Tokens { return Tokens{t.Low + u.Low, t.High + u.High} }

// Times returns n times the range.
func (t Tokens) Times(n int) Tokens { return Tokens{n * t.Low, n * t.High} }

// Middle returns the middle of the range.
func (t Tokens) Middle() int { return (t.Low + t.High) / 2 }

// Word lengths, in letters, up to which a word is one token.
const (
	longWord  = 12 // to a tokenizer with many words
	shortWord = 7  // to one with few
)

// EstimateTokens estimates the tokens of a text without a tokenizer, by how
// tokenizers cut: at every change between letters, digits and signs. The low end
// takes a word, up to three digits and a run of signs as one token each; the
// high end cuts long words and takes digits and signs one by one. Characters a
// token would not do: prose has four, a listing of cells 1.3.
func EstimateTokens(text string) Tokens {
	var t Tokens
	Runs(text, classOf, func(class int, run []rune) {
		n := len(run)
		switch class {
		case classLetter:
			t.Low += (n + longWord - 1) / longWord
			t.High += (n + shortWord - 1) / shortWord
		case classDigit:
			t.Low += (n + 2) / 3
			t.High += n
		case classSign:
			t.Low++
			t.High += n
		case classOther:
			t.Low += (n + 1) / 2
			t.High += 2 * n
		case classBreak:
			t.High++
		}
	})
	return t
}

// Runs calls f for each stretch of a text whose characters are of one class.
func Runs(text string, classOf func(r rune) int, f func(class int, run []rune)) {
	all := []rune(text)
	for len(all) > 0 {
		class, n := classOf(all[0]), 1
		for n < len(all) && classOf(all[n]) == class {
			n++
		}
		f(class, all[:n])
		all = all[n:]
	}
}

const (
	classSpace = iota // it belongs to what follows
	classLetter
	classDigit
	classSign
	classBreak
	classOther // other scripts and symbols
)

func classOf(r rune) int {
	switch {
	case r == ' ':
		return classSpace
	case r == '\n' || r == '\r' || r == '\t':
		return classBreak
	case r >= '0' && r <= '9':
		return classDigit
	case r < 0x80 && unicode.IsLetter(r):
		return classLetter
	case r < 0x80:
		return classSign
	}
	return classOther
}
