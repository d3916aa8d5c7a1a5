package analysis_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// What a reason says, as the table of reasons counts it.
type said struct {
	agrees string // with "both", "memory", "cell" or "neither"; else "unclear", "quoted" or "nothing"
	unsure bool
}

// read reads reasons given for the entry of (2,5): each is that of a model of
// its own.
func read(t testing.TB, of record.Judgment, reasons ...string) []said {
	t.Helper()
	f := &analysis.Frame{}
	for i, reason := range reasons {
		spec := record.Spec{Key: fmt.Sprint(i), Task: record.Detect, Model: fmt.Sprint("m", i), Modality: record.Text, Regime: "L1", Strategy: "omcd", Rows: 8, Cols: 8}
		of.Pos, of.Reason = record.Pos{2, 5}, reason
		if _, err := f.Expect(spec); err != nil {
			t.Fatal(err)
		}
		trial := &record.Trial{Spec: spec, Outcome: record.Done, Windows: []record.Window{{Judgments: []record.Judgment{of}, Replies: []record.Parsed{{Outcome: "answered"}}}}}
		trial.Counts.Add(of.Truth, of.Verdict)
		if err := f.AddTrial(trial); err != nil {
			t.Fatal(err)
		}
	}
	table := tableOf(t, f, "reasons")
	out := make([]said, len(reasons))
	for i := range out {
		row := rowOf(t, table, map[string]string{"model": fmt.Sprint("m", i)})
		out[i] = said{"nothing", row["unsure"].Count > 0}
		counted := 0
		for _, key := range []string{"agrees_both", "agrees_memory", "agrees_cell", "agrees_neither", "unclear", "quoted"} {
			if row[key].Count > 0 {
				out[i].agrees = strings.TrimPrefix(key, "agrees_")
				counted++
			}
		}
		if understood := row["understood"].Count > 0; counted > 1 || understood != (row["agrees_both"].Of > 0) {
			t.Errorf("%q is counted %d times, understood: %v", reasons[i], counted, understood)
		}
		if row["against"].Count > 0 {
			out[i].agrees += ", against the verdict"
		}
	}
	return out
}

// The verdicts on an entry, by what it claims and what its cell is.
var (
	safeKept    = record.Judgment{Claim: "SAFE", Verdict: record.Valid}
	safeFlagged = record.Judgment{Claim: "SAFE", Verdict: record.Stale}
	thawFound   = record.Judgment{Claim: "SAFE", Truth: true, Verdict: record.Stale}
	thawMissed  = record.Judgment{Claim: "SAFE", Truth: true, Verdict: record.Valid}
	holeKept    = record.Judgment{Claim: "DANGER", Verdict: record.Valid}
	holeFlagged = record.Judgment{Claim: "DANGER", Verdict: record.Stale}
	iceFound    = record.Judgment{Claim: "DANGER", Truth: true, Verdict: record.Stale}
	iceMissed   = record.Judgment{Claim: "DANGER", Truth: true, Verdict: record.Valid}
)

// Reasons as small and large models give them, with what they say of memory and
// cell. Were one read wrongly, a model would be said to repeat its memory, or to
// contradict itself, that does not.
func TestWhatReasonsAgreeWith(t *testing.T) {
	const against = ", against the verdict"
	for _, tt := range []struct {
		of     record.Judgment
		reason string
		want   string
	}{
		// Small models, of what is as the memory says.
		{safeKept, "agrees with the memory, stating that the start is safe to stand on", "both"},
		{safeKept, "The memory agrees with the observation.", "both"},
		{safeKept, "matches observation", "both"},
		{safeKept, "Matches the grid", "both"},
		{safeKept, "consistent with the memory", "both"},
		{safeKept, "The entry is consistent with the current observation.", "both"},
		{safeKept, "SAFE at (2,5): Frozen ice - safe to walk", "both"},
		{safeKept, "Frozen ice - safe to walk", "both"},
		{safeKept, "The cell is safe to walk on.", "both"},
		{safeKept, "It is the goal position", "both"},
		{safeKept, "start cell, still correct", "both"},
		{safeKept, "The memory is accurate.", "both"},
		{safeKept, "still valid", "both"},
		{safeKept, "No change.", "both"},
		{safeKept, "unchanged", "both"},
		{safeKept, "The observation confirms the memory.", "both"},
		{safeKept, "Not stale", "both"},
		{safeKept, "There is no hole at (2,5).", "both"},
		{safeKept, "as expected", "both"},
		{safeKept, "(2,5)=F", "both"},
		{safeKept, "The memory entry mem_021 correctly states that the cell is SAFE.", "both"},
		{safeKept, "There is no discrepancy between the memory and the grid", "both"},
		{safeKept, "The observation does not contradict the memory", "both"},
		{holeKept, "Hole - dangerous, do not step", "both"},
		{holeKept, "DANGER at (2,5): Hole - dangerous do not step", "both"},
		{holeKept, "is a hole", "both"},
		{holeKept, "The cell is still a hole", "both"},
		{holeKept, "not safe", "both"},
		{holeKept, "The cell is not frozen", "both"},
		{holeKept, "should be avoided", "both"},
		{holeKept, "The memory says DANGER, which matches H at (2,5)", "both"},
		// Qwen2.5-Coder-1.5B-Instruct, with the position of this entry.
		{safeKept, "The observation and the agent's memory both state that (2,5) is frozen ice and is safe to walk.", "both"},
		{thawMissed, "The observation and the agent's memory both state that (2,5) is frozen ice and is safe to walk.", "memory"},
		{safeKept, "The observation shows that the entry states that the position (2,5) is safe to stand on, which matches the current observation.", "both"},
		{safeFlagged, "The observation shows that the entry states that the position (2,5) is frozen ice, which is not in the current observation.", "neither"},
		{thawFound, "The observation shows that the entry states that the position (2,5) is frozen ice, which is not in the current observation.", "cell"},
		{holeFlagged, "The observation shows that there is a hole at (2,5), which means the entry is stale.", "both" + against},
		{safeFlagged, "The current observation shows that the cell at (2,5) is frozen ice, which contradicts the memory statement that it is safe to stand on at (2,5).", "both" + against},
		{thawFound, "The current observation shows that the cell at (2,5) is frozen ice, which contradicts the memory statement that it is safe to stand on at (2,5).", "memory" + against},
		{holeKept, "The memory does not contradict the current observation and agrees with it.", "both"},
		{safeKept, "The observation shows that what mem_021 states (Frozen ice is safe to walk) holds now.", "both"},
		{thawMissed, "The observation shows that what mem_021 states (Frozen ice is safe to walk) holds now.", "memory"},
		{safeFlagged, "The observation shows that what mem_021 states (Frozen ice is safe to walk) does not hold now.", "neither"},
		// The same with a verdict that they contradict.
		{holeFlagged, "is a hole", "both" + against},
		{safeFlagged, "agrees with the memory", "both" + against},
		{safeFlagged, "Frozen ice - safe to walk", "both" + against},
		{safeFlagged, "The entry matches the observation", "both" + against},
		{holeFlagged, "Dangerous, do not enter", "both" + against},
		{safeFlagged, "The cell has not changed", "both" + against},
		// What has changed, and is seen.
		{thawFound, "The memory says SAFE but the observation shows a hole at (2,5).", "cell"},
		{thawFound, "(2,5) is H now", "cell"},
		{thawFound, "no longer safe", "cell"},
		{thawFound, "The memory is outdated", "cell"},
		{thawFound, "contradicts the observation", "cell"},
		{thawFound, "Mismatch between the memory and the observation", "cell"},
		{thawFound, "does not match the current grid", "cell"},
		{thawFound, "The memory claims F, however the grid has H at row 2, column 5.", "cell"},
		{thawFound, "The cell changed from F to H", "cell"},
		{thawFound, "The memory differs from what is observed: a hole", "cell"},
		{thawFound, "inconsistent with the observation", "cell"},
		{thawFound, "The observation shows row 2 col 5 is H; the entry is therefore stale", "cell"},
		{thawFound, "disagrees with the observation, (2,5) is black", "cell"},
		{iceFound, "The memory says there is a hole, but (2,5) is frozen ice", "cell"},
		{iceFound, "Now safe to walk", "cell"},
		{iceFound, "not a hole anymore", "cell"},
		{iceFound, "The claim of danger is no longer true: the cell is F.", "cell"},
		{iceFound, "the entry is wrong", "cell"},
		{iceFound, "It isn’t a hole in the current observation", "cell"},
		// Seen, and yet kept.
		{thawMissed, "(2,5) is a hole", "cell" + against},
		{iceMissed, "The entry does not match the observation", "cell" + against},
		// What has changed, and is not seen.
		{thawMissed, "agrees with the memory", "memory"},
		{thawMissed, "The cell is safe", "memory"},
		{thawMissed, "matches the observation (2,5)=F", "memory"},
		{iceMissed, "Hole - dangerous, do not step", "memory"},
		{iceMissed, "consistent with observation", "memory"},
		{thawFound, "Frozen ice", "memory" + against},
		{iceFound, "is a hole", "memory" + against},
		// What has not changed, and is thought to have.
		{safeFlagged, "The observation shows a hole", "neither"},
		{safeFlagged, "contradicts the memory", "neither"},
		{holeFlagged, "The cell is frozen", "neither"},
		{holeFlagged, "Outdated", "neither"},
		{safeKept, "the cell is a hole", "neither" + against},
		{holeKept, "safe to walk", "neither" + against},
		// One thing and its opposite.
		{safeKept, "matches the memory, the cell is a hole", "neither" + against},
		{safeKept, "It is frozen or a hole", "unclear"},
		{holeKept, "The entry is valid because the cell is safe", "neither" + against},
		{safeKept, "neither safe nor a hole", "unclear"},
		// What the memory says is no word on the cell.
		{safeKept, "The memory says that the cell is SAFE", "quoted"},
		{thawFound, "The entry claims frozen ice", "quoted"},
		{holeKept, "The stored memory states a hole", "quoted"},
		// Nothing on the entry.
		{safeKept, "I looked at the grid", "nothing"},
		{safeKept, "(2,6) is a hole", "nothing"},
		{safeKept, "(2,6) does not match", "nothing"},
		{safeKept, "cannot tell whether it is safe", "nothing"},
		{safeKept, "It is unclear if it does not match", "nothing"},
		{safeKept, "next to a hole", "nothing"},
		{safeKept, "on the way to the goal", "nothing"},
		{safeKept, "because of the rules", "nothing"},
	} {
		if got := read(t, tt.of, tt.reason)[0].agrees; got != tt.want {
			t.Errorf("%q of a %s entry, stale %v, called %s, agrees with %s; want %s", tt.reason, tt.of.Claim, tt.of.Truth, tt.of.Verdict, got, tt.want)
		}
	}
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
		{"the memory says SAFE", "quoted"},
		{"The entry claims frozen ice", "quoted"},
		{"mem_021 SAFE", "quoted"},
		{"Was frozen before", "quoted"},
		{"The memory says safe but the cell is H", "hole"},
		{"The memory says safe; the cell is a hole", "hole"},
		{"Memory says safe, observation shows a hole", "hole"},
		{"Memory says safe, (2,5) is a hole", "hole"},
		{"Memory says it is frozen, safe to walk", "quoted"}, // it may go on about the memory
		{"Memory agrees: frozen", "safe"},
		{"Matches, the cell is frozen", "safe"},
		// What is denied is the opposite,
		{"not a hole", "safe"},
		{"It is no longer safe", "hole"},
		{"isn\u2019t frozen", "hole"},
		{"hole-free", "safe"},
		{"not frozen, a hole", "hole"},
		{"rather than safe, deadly", "hole"},
		{"a hole (not frozen, deadly)", "unclear"}, // brackets are no clause of their own
		// and what is said of another cell is no claim.
		{"(2,6) is a hole", "nothing"},
		{"next to a hole", "nothing"},
		{"(2,6), which is a hole", "nothing"},
		{"(2,6) is a hole and so is (3,5)", "nothing"},
		{"(2,6) is a hole. (2,5) is F", "safe"},
		{"(2,6) is a hole, (2,5) is F", "safe"},
		{"(2,6) is a hole but this one is frozen", "safe"},
		{"F, surrounded by holes", "safe"},
		{"changed from F to H", "hole"},
		{"lies on the safe path", "nothing"},
		// Two types are none.
		{"frozen or a hole", "unclear"},
		{"F; H", "unclear"},
		{"looks different now", "hole"},
	} {
		want := map[string]string{"safe": "both", "hole": "neither, against the verdict"}[tt.want] // of a SAFE entry called valid
		if got := read(t, safeKept, tt.reason)[0].agrees; got != cmp.Or(want, tt.want) {
			t.Errorf("%q agrees with %s, want what claims %s", tt.reason, got, tt.want)
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
		if got := read(t, safeKept, tt.reason)[0].unsure; got != tt.want {
			t.Errorf("%q hedges: %v", tt.reason, got)
		}
	}
}

// A line of a list that never matches, or stands in two classes, is a mistake.
func TestListsHold(t *testing.T) {
	// What each class makes of "X", "not X" and "X, frozen", said of a SAFE entry
	// called valid.
	const both, neither, nothing = "both", "neither, against the verdict", "nothing"
	classes := map[string][3]string{
		"[safe]": {both, neither, both}, "[hole]": {neither, both, "unclear"}, "[agrees]": {both, neither, both}, "[differs]": {neither, both, both},
		"[memory]": {nothing, nothing, nothing}, "[negation]": {nothing, nothing, both}, "[elsewhere]": {nothing, nothing, nothing},
		"[now]": {nothing, nothing, both}, "[break]": {nothing, nothing, both}, "[soft break]": {nothing, nothing, both},
	}
	seen := map[string]bool{}
	for _, line := range linesOf(t, "uncertainty.txt") {
		if !read(t, safeKept, "x "+line+" x")[0].unsure {
			t.Errorf("%q of uncertainty.txt never matches", line)
		}
	}
	class := ""
	for _, line := range linesOf(t, "reasons.txt") {
		if line[0] == '[' {
			class = line
			continue
		}
		if seen[line] {
			t.Errorf("%q is in reasons.txt twice", line)
		}
		seen[line] = true
		want, known := classes[class]
		if !known {
			t.Fatalf("reasons.txt has the heading %q, which is none", class)
		}
		got := read(t, safeKept, line, "it is not so: not "+line, line+", frozen")
		for i := range want {
			if got[i].agrees != want[i] && !(i == 1 && got[i].agrees == "quoted") {
				t.Errorf("%q of %s is read as %v, want %v", line, class, got, want)
				break
			}
		}
	}
}

func linesOf(t testing.TB, name string) (out []string) {
	t.Helper()
	list, err := os.ReadFile("data/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// Words that lie outside a sentence change nothing in it, whatever they are.
func TestReadingSentenceBySentence(t *testing.T) {
	phrases := []string{"F", "a hole", "frozen", "the memory says H", "not safe", "(2,6) is H", "unclear", "next to a hole", "row 2 column 5", "the way"}
	sentence := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(phrases), 1, 3).Draw(t, "phrases"), rapid.SampledFrom([]string{" ", ", ", " and "}).Draw(t, "between"))
	})
	says := func(a said, b string) bool { return strings.HasPrefix(a.agrees, b) }
	rapid.Check(t, func(rt *rapid.T) {
		a, b := sentence.Draw(rt, "a"), sentence.Draw(rt, "b")
		end := rapid.SampledFrom([]string{". ", "; ", "\n", " — ", "! "}).Draw(rt, "end")
		got := read(t, safeKept, a, b, a+end+b)
		one, two, together := got[0], got[1], got[2]
		same := one.agrees == two.agrees || says(two, "nothing") || says(two, "quoted") && !says(one, "nothing")
		if same && together.agrees != one.agrees || together.unsure != (one.unsure || two.unsure) {
			rt.Fatalf("%q and %q are read as %+v and %+v, together as %+v", a, b, one, two, together)
		}
		if says(one, "both") && says(two, "neither") && !says(together, "unclear") {
			rt.Fatalf("%q and %q are opposites, together %+v", a, b, together)
		}
	})
}

func FuzzReadReason(f *testing.F) {
	for _, s := range []string{"(2,5) is F", "I can’t tell", "row 2, column", "\xe2\x80", "9999999999999999999,1", "((((,]", "don'", "’", "a’b’"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reason string) {
		got := read(t, thawFound, reason, reason, reason+". It is unclear.")
		if got[0] != got[1] {
			t.Fatalf("%q is read as %+v, then as %+v", reason, got[0], got[1])
		}
		if utf8.ValidString(reason) && !got[2].unsure {
			t.Fatalf("%q hides a word that follows it", reason)
		}
	})
}
