package llm

// What counts as repetition: the text ends in at least this many copies of one
// piece, and in at least this many bytes of them. A list of verdicts with the
// same words in each is none, because the ids differ; the rows of a lake are
// too short.
const (
	repeatCopies = 4
	repeatBytes  = 2 << 10
	repeatWindow = 8 << 10 // of the end of a text that is looked at
)

// Repeats reports whether a text has begun to say one thing over and over, as a
// model does that found no end. It looks at the end of the text only, in time
// that does not grow with the text: a few times 10 microseconds, so that a
// client that streams can ask again and again.
func Repeats(text string) bool {
	if len(text) < repeatBytes {
		return false
	}
	end := text[max(0, len(text)-repeatWindow):]
	// The failure function of the end read backwards: the last n bytes are made
	// of copies of n-border[n] bytes.
	at := func(i int) byte { return end[len(end)-1-i] }
	border := make([]int, len(end)+1)
	border[0] = -1
	k := -1
	for n := 1; n <= len(end); n++ {
		for k >= 0 && at(k) != at(n-1) {
			k = border[k]
		}
		k++
		border[n] = k
		if n >= repeatBytes && n >= repeatCopies*(n-k) {
			return true
		}
	}
	return false
}
