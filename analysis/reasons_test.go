package analysis_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// What a reason says of its cell, as the table of reasons counts it.
type said struct {
	claims string // "safe", "hole", "both" or "nothing"
	unsure bool
}

// read reads reasons given for the entry of (2,5), which says SAFE of a safe
// cell: each is that of a model of its own.
func read(t testing.TB, reasons ...string) []said {
	t.Helper()
	f := &analysis.Frame{}
	for i, reason := range reasons {
		spec := record.Spec{Key: fmt.Sprint(i), Task: record.Detect, Model: fmt.Sprint("m", i), Modality: record.Text, Regime: "L1", Strategy: "omcd", Rows: 8, Cols: 8}
		j := record.Judgment{Pos: record.Pos{2, 5}, Claim: "SAFE", Verdict: record.Valid, Reason: reason}
		if _, err := f.Expect(spec); err != nil {
			t.Fatal(err)
		}
		if err := f.AddTrial(&record.Trial{Spec: spec, Outcome: record.Done, Counts: record.Counts{TN: 1},
			Windows: []record.Window{{Judgments: []record.Judgment{j}, Replies: []record.Parsed{{Outcome: "answered"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	table := tableOf(t, f, "reasons")
	out := make([]said, len(reasons))
	for i := range out {
		row := rowOf(t, table, map[string]string{"model": fmt.Sprint("m", i)})
		out[i] = said{"nothing", row["unsure"].Count > 0}
		switch {
		case row["both"].Count > 0:
			out[i].claims = "both"
		case row["wrong"].Count > 0:
			out[i].claims = "hole"
		case row["named"].Count > 0:
			out[i].claims = "safe"
		}
	}
	return out
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
		{"looks different now", "nothing"},
	} {
		if got := read(t, tt.reason)[0].claims; got != tt.want {
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
	} {
		if got := read(t, tt.reason)[0].unsure; got != tt.want {
			t.Errorf("%q hedges: %v", tt.reason, got)
		}
	}
}

// Words that lie outside a sentence change nothing in it, whatever they are.
func TestReadingSentenceBySentence(t *testing.T) {
	phrases := []string{"F", "a hole", "frozen", "the memory says H", "not safe", "(2,6) is H", "unclear", "next to a hole", "row 2 column 5", "the way"}
	sentence := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(phrases), 1, 3).Draw(t, "phrases"), rapid.SampledFrom([]string{" ", ", ", " and "}).Draw(t, "between"))
	})
	join := map[[2]string]string{} // of two claims
	for _, a := range []string{"nothing", "safe", "hole", "both"} {
		join[[2]string{a, a}], join[[2]string{"nothing", a}], join[[2]string{a, "nothing"}] = a, a, a
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := sentence.Draw(rt, "a"), sentence.Draw(rt, "b")
		end := rapid.SampledFrom([]string{". ", "; ", "\n", " — ", "! "}).Draw(rt, "end")
		got := read(t, a, b, a+end+b)
		want := said{join[[2]string{got[0].claims, got[1].claims}], got[0].unsure || got[1].unsure}
		if want.claims == "" {
			want.claims = "both"
		}
		if got[2] != want {
			rt.Fatalf("%q and %q are read as %+v and %+v, together as %+v", a, b, got[0], got[1], got[2])
		}
	})
}

func FuzzReadReason(f *testing.F) {
	for _, s := range []string{"(2,5) is F", "I can’t tell", "row 2, column", "\xe2\x80", "9999999999999999999,1", "((((,]", "don'", "’", "a’b’"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reason string) {
		got := read(t, reason, reason, reason+". It is unclear.")
		if got[0] != got[1] {
			t.Fatalf("%q is read as %+v, then as %+v", reason, got[0], got[1])
		}
		if utf8.ValidString(reason) && !got[2].unsure {
			t.Fatalf("%q hides a word that follows it", reason)
		}
	})
}
