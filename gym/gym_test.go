package gym

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// converse sends lines and returns what came back, hello first.
func converse(t testing.TB, opts Options, lines ...string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Serve(strings.NewReader(strings.Join(lines, "\n")), &out, opts); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func newSession(regime instance.Regime) *session {
	return &session{opts: Options{Regime: regime}, places: map[int]*place{}}
}

func TestHello(t *testing.T) {
	var h hello
	if err := json.Unmarshal([]byte(converse(t, Options{Regime: instance.L2, Config: instance.Config{Rows: 5, Cols: 9}})[0]), &h); err != nil {
		t.Fatal(err)
	}
	want := hello{1, instance.L2, 5, 9, 43, []string{"LEFT", "DOWN", "RIGHT", "UP"}, instance.Seeds(50)}
	if d := cmp.Diff(want, h); d != "" {
		t.Error(d)
	}
}

// What cannot be done is said, and changes nothing.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ line, words string }{
		{`{"step":{"action":1}}`, "step before reset"},
		{`{"render":{"mode":"text"}}`, "render before reset"},
		{`{"step_many":{"actions":""}}`, "step_many before reset_many"},
		{`{"reset":{}}`, "reset wants a seed"},
		{`{"reset":{"seed":-1}}`, "must not be negative"},
		{`{"reset":{"seed":1},"step":{"action":1}}`, "a request is one of"},
		{`{}`, "a request is one of"},
		{`[]`, "cannot be read"},
		{`{"reset":{"seed":1}} {}`, "more than one object"},
		{`{"reset":{"sed":1}}`, "unknown field"},
		{`not JSON`, "cannot be read"},
	} {
		answers := converse(t, Options{Regime: instance.L1}, c.line)
		if len(answers) != 2 || !strings.Contains(answers[1], c.words) || !strings.HasPrefix(answers[1], `{"error":`) {
			t.Errorf("%s: %q, want %q", c.line, answers[1:], c.words)
		}
	}
	answers := converse(t, Options{Regime: instance.L1}, `{"reset":{"seed":1734}}`, `{"step":{"action":4}}`, `{"render":{"mode":"gif"}}`, `{"render":{"mode":"text"}}`,
		`{"reset_many":{"seeds":[1,2]}}`, `{"step_many":{"actions":"AA=="}}`, `{"step_many":{"actions":"AAQ="}}`, `{"step_many":{"actions":"AAA=","reset":"AQAAAAAAAAA=","seeds":"AQAAAAAAAAABAAAAAAAAAA=="}}`, `{"step_many":{"actions":"AAA=","reset":"AAAAAA=="}}`)
	for i, words := range []string{"protocol", "grid", "action 4: there are 0 LEFT", "there are text and rgb", "Agent at (0,0)", "agent", "1 actions for 2", "action 4 of episode 1", "ascending", "4 bytes of episodes to reset and 0 of seeds"} {
		if !strings.Contains(answers[i], words) {
			t.Errorf("answer %d: %s, want %q", i, answers[i], words)
		}
	}
}

// Episodes side by side are the episodes that are played alone: same cells, same
// rewards, same ends, and grids that are what the flips make of them.
func TestManyAgreesWithOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		regime := rapid.SampledFrom(instance.Regimes).Draw(t, "regime")
		seeds := rapid.SliceOfN(rapid.IntRange(0, 9999), 1, 6).Draw(t, "seeds")
		many := newSession(regime)
		alone := make([]*session, len(seeds))
		over := make([]bool, len(seeds))
		if _, err := many.resetMany(&resetManyRequest{seeds}); err != nil {
			t.Fatal(err)
		}
		places, err := many.askPlaces(&placesRequest{seeds})
		if err != nil {
			t.Fatal(err)
		}
		const cells = 64
		grid := slices.Clone(places.Grid)
		for i, seed := range seeds {
			alone[i] = newSession(regime)
			o, err := alone[i].reset(&resetRequest{new(seed)})
			if err != nil {
				t.Fatal(err)
			}
			for k, m := range o.Memory {
				if (m.Claim == "DANGER") != (places.Memory[i*cells+k] == 1) {
					t.Fatalf("seed %d: entry %s is %s", seed, m.ID, m.Claim)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			q := stepManyRequest{Actions: make([]byte, len(seeds))}
			for i := range seeds {
				q.Actions[i] = byte(rapid.IntRange(0, 3).Draw(t, "action"))
				if over[i] {
					seeds[i] = rapid.IntRange(0, 9999).Draw(t, "next")
					q.Reset = binary.LittleEndian.AppendUint32(q.Reset, uint32(i))
					q.Seeds = binary.LittleEndian.AppendUint64(q.Seeds, uint64(seeds[i]))
				}
			}
			a, err := many.stepMany(&q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range seeds {
				var o *observation
				if over[i] {
					o, err = alone[i].reset(&resetRequest{new(seeds[i])})
					begun, err2 := many.askPlaces(&placesRequest{seeds[i : i+1]})
					if err != nil || err2 != nil {
						t.Fatal(err, err2)
					}
					copy(grid[i*cells:], begun.Grid)
				} else if o, err = alone[i].step(&stepRequest{new(int(q.Actions[i]))}); err != nil {
					t.Fatal(err)
				}
				over[i] = o.Terminated || o.Truncated
				ended := map[string]byte{"": goesOn, "success": terminated, "death": terminated, "timeout": truncated}[o.Outcome]
				if at := int(binary.LittleEndian.Uint16(a.Agent[2*i:])); at != 8*o.Agent[0]+o.Agent[1] || int8(a.Reward[i]) != int8(o.Reward) || a.Ended[i] != ended {
					t.Fatalf("episode %d: at %d, reward %d, ended %d; alone %+v", i, at, int8(a.Reward[i]), a.Ended[i], o)
				}
			}
			for f := a.Flips; len(f) > 0; f = f[12:] {
				grid[binary.LittleEndian.Uint32(f)*cells+binary.LittleEndian.Uint32(f[4:])] = byte(binary.LittleEndian.Uint32(f[8:]))
			}
			for i := range seeds {
				g := &alone[i].one.walk.Grid
				for k := range cells {
					if grid[i*cells+k] != code(g.At(lake.Pos{Row: k / 8, Col: k % 8})) {
						t.Fatalf("episode %d: cell %d is %d, alone the lake is\n%v", i, k, grid[i*cells+k], g)
					}
				}
			}
		}
	})
}

// Would fail if the answer depended on how many processors share the episodes.
func TestManyOnAnyNumberOfProcessors(t *testing.T) {
	const n = 1500
	play := func(processors int) []*manyAnswer {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		s := newSession(instance.L3)
		seeds := make([]int, n)
		for i := range seeds {
			seeds[i] = i
		}
		last, err := s.resetMany(&resetManyRequest{seeds})
		if err != nil {
			t.Fatal(err)
		}
		var all []*manyAnswer
		for step := range 12 {
			q := &stepManyRequest{Actions: make([]byte, n)}
			for i := range n {
				q.Actions[i] = byte((i*7 + step*3) % 4)
				if last.Ended[i] != goesOn {
					q.Reset = binary.LittleEndian.AppendUint32(q.Reset, uint32(i))
					q.Seeds = binary.LittleEndian.AppendUint64(q.Seeds, uint64(i+step))
				}
			}
			if last, err = s.stepMany(q); err != nil {
				t.Fatal(err)
			}
			all = append(all, last)
		}
		return all
	}
	one := play(1)
	for _, processors := range []int{2, 3, 8} {
		if d := cmp.Diff(one, play(processors)); d != "" {
			t.Errorf("%d processors:\n%s", processors, d)
		}
	}
	if flips := one[4].Flips; len(flips) == 0 { // after the fifth move
		t.Error("no lake changed: the test does not see the order of flips")
	}
}

// Would fail if an episode did not end after the step budget, or went on after
// its end.
func TestEnds(t *testing.T) {
	s := newSession(instance.L1)
	if _, err := s.reset(&resetRequest{new(1734)}); err != nil {
		t.Fatal(err)
	}
	var last *observation
	for i := range 50 { // LEFT stays at the start
		o, err := s.step(&stepRequest{new(0)})
		if err != nil || o.Agent != (record.Pos{}) || (o.Truncated != (i == 49)) || o.Terminated {
			t.Fatalf("step %d: %+v, %v", i+1, o, err)
		}
		last = o
	}
	if last.Outcome != "timeout" || last.Reward != 0 || last.Moves != 50 {
		t.Errorf("%+v", last)
	}
	if _, err := s.step(&stepRequest{new(0)}); err == nil {
		t.Error("a step after the end")
	}
}

func FuzzServe(f *testing.F) {
	f.Add(`{"reset":{"seed":1734}}` + "\n" + `{"step":{"action":1}}`)
	f.Add(`{"reset_many":{"seeds":[1,2]}}` + "\n\n" + `{"step_many":{"actions":"AAA=","reset":"AQAAAA==","seeds":"AwAAAAAAAAA="}}`)
	f.Add(`{"places":{"seeds":[]}}`)
	f.Add(`{"render":{"mode":"rgb"}}`)
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		if err := Serve(strings.NewReader(text), &out, Options{Regime: instance.L3}); err != nil {
			t.Fatal(err)
		}
		requests := 0
		for line := range strings.SplitSeq(text, "\n") {
			if strings.TrimSpace(line) != "" {
				requests++
			}
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				t.Fatalf("answer %q", line)
			}
		}
		if len(lines) != requests+1 {
			t.Fatalf("%d answers to %d requests", len(lines)-1, requests)
		}
	})
}

// An answer in which nothing changed says so as every other: with an empty text,
// which readers decode, and no null.
func TestManyAnswersAreTexts(t *testing.T) {
	lines := converse(t, Options{Regime: instance.L1, Config: instance.Config{Rows: 8, Cols: 8}},
		`{"reset_many":{"seeds":[1,2]}}`, `{"step_many":{"actions":"AAA=","reset":"","seeds":""}}`)
	for _, line := range lines[1:] {
		if strings.Contains(line, "null") || !strings.Contains(line, `"flips":""`) {
			t.Error(line)
		}
	}
}
