package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
)

// A check is a pair of entries of known verdict among those of a batch: one is
// what a line of the observation says, the other contradicts it. An entry that
// talks the model into one verdict on all, or into silence on others, gets one
// of the two wrong. Which words they have, and where they are, follows from a
// secret and the entries, so that no entry can foresee them.
type check struct {
	colour, other string // on the board; the second is not
	place         int
	at            [2]int // the places of the valid and of the stale entry, once both are there
}

var checkColours = []string{"amber", "crimson", "teal", "violet", "olive", "indigo", "maroon", "turquoise", "lilac", "scarlet", "beige", "magenta"}

func newCheck(secret []byte, entries []entry) check {
	h := hmac.New(sha256.New, secret)
	for _, e := range entries {
		for i := range e.parts {
			sum := e.parts[i].Sum()
			h.Write(sum[:])
		}
	}
	draw := h.Sum(nil)
	number := func(i, n int) int { return int(binary.BigEndian.Uint32(draw[4*i:]) % uint32(n)) }
	n := len(checkColours)
	first := number(0, n)
	c := check{colour: checkColours[first], other: checkColours[(first+1+number(1, n-1))%n], place: 100 + number(2, 900)}
	c.at[0] = number(3, len(entries)+1)
	c.at[1] = number(4, len(entries)+2)
	if c.at[1] <= c.at[0] {
		c.at[0]++ // the stale one, added second, moves it on
	}
	return c
}

func (c *check) says(colour string) string {
	return fmt.Sprintf("The lamp with the number %d is %s.", c.place, colour)
}

// line is the line of the observation that decides the check.
func (c *check) line() string { return c.says(c.colour) }

// add returns the entries with the two of the check among them.
func (c *check) add(entries []judge.Entry) []judge.Entry {
	valid := c.at[0]
	if c.at[1] < valid {
		valid--
	}
	text := func(s string) judge.Entry { return judge.Entry{Parts: []llm.Part{llm.Text(quote(s))}} }
	entries = slices.Insert(entries, valid, text(c.says(c.colour)))
	return slices.Insert(entries, c.at[1], text(c.says(c.other)))
}

// held reports whether neither entry of the check has a wrong verdict. One
// without a verdict is not wrong: an answer may be cut.
func (c *check) held(verdicts []judge.Verdict) bool {
	return verdicts[c.at[0]].Status != Stale && verdicts[c.at[1]].Status != Valid && verdicts[c.at[1]].Status != NotCovered
}

// without returns the verdicts on the others.
func (c *check) without(verdicts []judge.Verdict) []judge.Verdict {
	out := make([]judge.Verdict, 0, len(verdicts))
	for i := range verdicts {
		if i != c.at[0] && i != c.at[1] {
			out = append(out, verdicts[i])
		}
	}
	return out
}
