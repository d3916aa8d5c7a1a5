package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// The entry is the one for (2,5).
var here = record.Pos{2, 5}

// nothing, safe, hole and both are what a reason can claim of its cell.
func claims(r reading) string {
	switch {
	case r.safe && r.hole:
		return "both"
	case r.safe:
		return "safe"
	case r.hole:
		return "hole"
	}
	return "nothing"
}

func TestWhatReasonsClaim(t *testing.T) {
	for _, tt := range []struct{ reason, want string }{
		// Types by name, letter, property and colour.
		{"(2,5) is F", "safe"},
		{"(2,5) is H.", "hole"},
		{"The grid shows (2,5)=H", "hole"},
		{"Cell is frozen ice, safe to walk", "safe"},
		{"Now a hole", "hole"},
		{"The cell is light blue", "safe"},
		{"The cell is black", "hole"},
		{"It is the goal cell", "safe"},
		{"unsafe now", "hole"},
		{"There is a hole in the ice", "hole"},
		{"row 2, column 5 is a hole", "hole"},
		{"Row 2 col 5 shows F", "safe"},
		{"\u201cF\u201d at (2, 5) \u2013 frozen", "safe"},
		// A letter is a type only as it is written, and only alone.
		{"see f. h. and F1, H2", "nothing"},
		{"the ice", "safe"},
		{"The Icelandic hole-y", "hole"},
		// What the memory says is no claim of the reason's own.
		{"the memory says SAFE", "nothing"},
		{"The entry claims frozen ice", "nothing"},
		{"mem_021 SAFE", "nothing"},
		{"Was frozen before", "nothing"},
		{"The memory says safe but the cell is H", "hole"},
		{"The memory says safe; the cell is a hole", "hole"},
		{"Memory says safe, observation shows a hole", "hole"},
		{"Memory says safe, (2,5) is a hole", "hole"},
		{"Memory says it is frozen, safe to walk", "nothing"}, // it may go on about the memory
		{"Memory agrees: frozen", "nothing"},
		{"Matches, the cell is frozen", "safe"},
		// Neither is what is denied,
		{"not a hole", "nothing"},
		{"It is no longer safe", "nothing"},
		{"isn\u2019t frozen", "nothing"},
		{"hole-free", "nothing"},
		{"not frozen, a hole", "hole"},
		{"rather than safe, deadly", "hole"},
		{"a hole (not frozen, deadly)", "nothing"}, // brackets are no clause of their own
		// nor what is said of another cell.
		{"(2,6) is a hole", "nothing"},
		{"next to a hole", "nothing"},
		{"(2,6), which is a hole", "nothing"},
		{"(2,6) is a hole and so is (3,5)", "nothing"},
		{"(2,6) is a hole. (2,5) is F", "safe"},
		{"(2,6) is a hole, (2,5) is F", "safe"},
		{"(2,6) is a hole but this one is frozen", "safe"},
		{"F, surrounded by holes", "safe"},
		{"changed from F to H", "nothing"},
		{"lies on the safe path", "nothing"},
		// Two types are none.
		{"frozen or a hole", "both"},
		{"F; H", "both"},
		{"", "nothing"},
		{"looks different now", "nothing"},
	} {
		var r reasonReader
		if got := claims(r.read(tt.reason, here)); got != tt.want {
			t.Errorf("%q claims %s, want %s", tt.reason, got, tt.want)
		}
	}
}

func TestWhatHedges(t *testing.T) {
	for _, tt := range []struct {
		reason string
		want   bool
	}{
		{"It is unclear.", true},
		{"UNCLEAR", true},
		{"I can’t tell", true},
		{"I can't tell", true},
		{"hard to tell, frozen", true},
		{"hard, to tell", false}, // no phrase
		{"It may be a hole", true},
		{"the mayor's mightiest seamstress", false}, // no words of it
		{"not sure", true},
		{"not so sure", false},
		{"surely", false},
		{"frozen ice, safe to walk", false},
		{"light blue might be F", true},
		{"", false},
	} {
		var r reasonReader
		if got := r.read(tt.reason, here).unsure; got != tt.want {
			t.Errorf("%q hedges: %v", tt.reason, got)
		}
	}
}

// A line of a list that never matches, or stands in two classes, is a mistake.
func TestListsHold(t *testing.T) {
	var r reasonReader
	for _, line := range listLines(uncertaintyList) {
		if !r.read("x "+line+" x", here).unsure {
			t.Errorf("%q of uncertainty.txt never matches", line)
		}
	}
	class := ""
	classes := map[string]string{}
	for _, line := range listLines(celltypeList) {
		if strings.HasPrefix(line, "[") {
			class = line
			continue
		}
		if old, ok := classes[line]; ok {
			t.Errorf("%q stands under %s and %s", line, old, class)
		}
		classes[line] = class
		got := claims(r.read(line, here))
		want := map[string]string{"[safe]": "safe", "[hole]": "hole"}[class]
		if want == "" {
			want = "nothing"
		}
		if got != want {
			t.Errorf("%q of %s claims %s, want %s", line, class, got, want)
		}
	}
	for heading := range wordHeadings {
		found := false
		for _, c := range classes {
			found = found || c == heading
		}
		if !found {
			t.Errorf("celltypes.txt has no words under %s", heading)
		}
	}
}

// Words that lie outside a sentence change nothing in it, whatever they are.
func TestReadingSentenceBySentence(t *testing.T) {
	phrases := []string{"F", "a hole", "frozen", "the memory says H", "not safe", "(2,6) is H", "unclear", "next to a hole", "row 2 column 5", "the way"}
	sentence := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(phrases), 1, 3).Draw(t, "phrases"), rapid.SampledFrom([]string{" ", ", ", " and "}).Draw(t, "between"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := sentence.Draw(t, "a"), sentence.Draw(t, "b")
		end := rapid.SampledFrom([]string{". ", "; ", "\n", " — ", "! "}).Draw(t, "end")
		var r reasonReader
		one, two, got := r.read(a, here), r.read(b, here), r.read(a+end+b, here)
		want := reading{one.unsure || two.unsure, one.safe || two.safe, one.hole || two.hole}
		if got != want {
			t.Fatalf("%q and %q are read as %+v and %+v, together as %+v", a, b, one, two, got)
		}
	})
}

func FuzzReadReason(f *testing.F) {
	for _, s := range []string{"(2,5) is F", "I can’t tell", "row 2, column", "\xe2\x80", "9999999999999999999,1", "((((,]", "don'", "’", "a’b’"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reason string) {
		var r reasonReader
		first := r.read(reason, here)
		if again := r.read(reason, here); again != first {
			t.Fatalf("%q is read as %+v, then as %+v", reason, first, again)
		}
		for _, tok := range r.tokens {
			if tok.start < 0 || tok.end > int32(len(reason)) || tok.start >= tok.end {
				t.Fatalf("%q: a token from %d to %d", reason, tok.start, tok.end)
			}
		}
		if got := r.read(reason+". It is unclear.", here); utf8.ValidString(reason) && !got.unsure {
			t.Fatalf("%q hides a word that follows it", reason)
		}
	})
}

func BenchmarkReadReason(b *testing.B) {
	const reason = "The memory entry claims SAFE at (2,5), but the current observation shows H at (2,5), so it might be stale."
	var r reasonReader
	b.SetBytes(int64(len(reason)))
	for b.Loop() {
		r.read(reason, here)
	}
}
