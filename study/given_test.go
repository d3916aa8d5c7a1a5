package study_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

func instancesOf(t testing.TB, s *study.Study) []record.Instance {
	t.Helper()
	all, err := s.Instances()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// copied returns a deep copy.
func copied(t testing.TB, all []record.Instance) (out []record.Instance) {
	t.Helper()
	b, err := json.Marshal(all)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A study that is handed what its seeds give is the same study, with the same
// keys.
func TestTakeWhatTheSeedsGive(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds = instance.Seeds(2)
	handed := preset(t, "quick")
	if err := handed.Take(copied(t, instancesOf(t, s))); err != nil {
		t.Fatal(err)
	}
	if handed.Dataset {
		t.Error("the instances are taken for others than those of the seeds")
	}
	if !slices.Equal(slices.Collect(s.Specs()), slices.Collect(handed.Specs())) {
		t.Error("the plans differ")
	}
}

// Any instance that Take accepts is run on as it is: what comes out of
// Instances is what went in, and keys tell it from the seed's own.
func TestTakeOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &study.Study{}
		*s = *quick(t)
		s.Seeds, s.Regimes = []int{rapid.IntRange(0, 9999).Draw(t, "seed")}, []instance.Regime{instance.L1}
		size := study.Size{Rows: rapid.IntRange(4, 9).Draw(t, "rows"), Cols: rapid.IntRange(4, 9).Draw(t, "cols")}
		s.Sizes = []study.Size{size}
		all, err := s.Instances()
		if err != nil {
			t.Fatal(err)
		}
		in := all[0]
		in.Memory = slices.Clone(in.Memory)
		i := rapid.IntRange(0, len(in.Memory)-1).Draw(t, "entry")
		in.Memory[i].Text += " " + rapid.StringMatching(`[a-z]+`).Draw(t, "words")
		given := *s
		if err := given.Take([]record.Instance{in}); err != nil {
			t.Fatal(err)
		}
		back, err := given.Instances()
		if err != nil {
			t.Fatal(err)
		}
		want, err1 := json.Marshal([]record.Instance{in})
		got, err2 := json.Marshal(back)
		if err1 != nil || err2 != nil || string(want) != string(got) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if !given.Dataset {
			t.Fatal("another memory is taken for the seed's own")
		}
		own := slices.Collect(s.Specs())
		for k, spec := range slices.Collect(given.Specs()) {
			if spec.Key == own[k].Key {
				t.Fatal("a trial on another instance has the key of the seed's own")
			}
		}
	})
}

func quick(t *rapid.T) *study.Study {
	s, err := study.Preset("quick")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What no task could be run on is refused, with words that say where.
func TestTakeRefuses(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds = []int{1734, 4810}
	good := instancesOf(t, s) // seed by seed, L1, L2, L3
	for words, spoil := range map[string]func(all []record.Instance) []record.Instance{
		"no instances": func([]record.Instance) []record.Instance { return nil },
		"has no instance of 8x8 cells under L2": func(all []record.Instance) []record.Instance {
			return slices.Delete(all, 1, 2)
		},
		"two instances of 8x8 cells under L1": func(all []record.Instance) []record.Instance { return append(all, all[0]) },
		"unknown regime":                      func(all []record.Instance) []record.Instance { all[0].Regime = "L4"; return all },
		"rows: row 1 has 7 cells":             func(all []record.Instance) []record.Instance { all[0].Rows[1] = "FFFFFFF"; return all },
		"rows_after has another size": func(all []record.Instance) []record.Instance {
			all[0].RowsAfter = []string{"SFFF", "FFFF", "FFFF", "FFFG"}
			return all
		},
		"the goal cannot be reached": func(all []record.Instance) []record.Instance {
			all[0].RowsAfter[6], all[0].RowsAfter[7] = "FFFFFFFH", "FFFFFFHG"
			return all
		},
		"claims \"SAFE\" of a cell that was H": func(all []record.Instance) []record.Instance {
			m := all[0].Memory
			i := slices.IndexFunc(m, func(e record.MemoryEntry) bool { return e.Claim == "DANGER" })
			m[i].Claim = "SAFE"
			return all
		},
		"entries for a lake of 64 cells":        func(all []record.Instance) []record.Instance { all[0].Memory = all[0].Memory[1:]; return all },
		"is at [0 1]; entries stand row by":     func(all []record.Instance) []record.Instance { all[0].Memory[0].Pos = record.Pos{0, 1}; return all },
		"ids are there, differ, can be printed": func(all []record.Instance) []record.Instance { all[0].Memory[3].ID = "mem_002"; return all },
		"one of several lines":                  func(all []record.Instance) []record.Instance { all[0].Memory[3].Text = "a\nb"; return all },
		"the memory differs between regimes":    func(all []record.Instance) []record.Instance { all[1].Memory[3].Text = "other"; return all },
		"it has events; only L3 has":            func(all []record.Instance) []record.Instance { all[0].Events = all[2].Events; return all },
		"it has no event":                       func(all []record.Instance) []record.Instance { all[2].Events = nil; return all },
		"ascending order": func(all []record.Instance) []record.Instance {
			all[2].Events[1].Step = all[2].Events[0].Step
			return all
		},
		"which it is already": func(all []record.Instance) []record.Instance {
			f := all[2].Events[0].Flips
			all[2].Events[0].Flips = append(f, f[0])
			return all
		},
		"start, goal or off the lake": func(all []record.Instance) []record.Instance {
			all[2].Events[0].Flips[0].Pos = record.Pos{8, 0}
			return all
		},
		"there are F and H":         func(all []record.Instance) []record.Instance { all[2].Events[0].Flips[0].To = "S"; return all },
		"changes nothing":           func(all []record.Instance) []record.Instance { all[2].Events[0].Flips = nil; return all },
		"not what its events make":  func(all []record.Instance) []record.Instance { all[2].RowsAfter = all[2].Rows; return all },
		"a seed is not negative":    func(all []record.Instance) []record.Instance { all[0].Seed = -1; return all },
		"seed 4810 has no instance": func(all []record.Instance) []record.Instance { return all[:4] },
		"rows: the goal cannot be r": func(all []record.Instance) []record.Instance {
			all[0].Rows[7] = "FFFFFFHG"
			all[0].Rows[6] = "FFFFFFFH"
			return all
		},
	} {
		err := preset(t, "quick").Take(spoil(copied(t, good)))
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}

// A study whose instances are not at hand cannot be run.
func TestDatasetNotAtHand(t *testing.T) {
	s := preset(t, "quick")
	s.Dataset = true
	if _, err := s.Instances(); err == nil || !strings.Contains(err.Error(), "instances of its own") {
		t.Error(err)
	}
}

// What a study asks for restricts the instances that it is given, and must be
// among them; what it only stands at does not.
func TestTakeAsked(t *testing.T) {
	drawn := preset(t, "quick") // five seeds, three regimes, one size
	drawn.Seeds = instance.Seeds(5)
	all := instancesOf(t, drawn)
	file := func(text string) func() (*study.Study, error) {
		return func() (*study.Study, error) { return study.ParseFile("mine.yaml", []byte(text)) }
	}
	for name, c := range map[string]struct {
		study   func() (*study.Study, error)
		seeds   int
		regimes string
		refused string
	}{
		"a preset":               {study: func() (*study.Study, error) { return study.Preset("paper") }, seeds: 5, regimes: "[L1 L2 L3]"},
		"a preset's regimes":     {study: func() (*study.Study, error) { return study.Preset("batch") }, seeds: 5, regimes: "[L1]"},
		"a base's regimes":       {study: file("base: score\nname: x"), seeds: 5, regimes: "[L1]"},
		"other regimes":          {study: file("base: score\nregimes: [L3, L1]"), seeds: 5, regimes: "[L1 L3]"},
		"a number of seeds":      {study: file("seeds: 2"), seeds: 2, regimes: "[L1 L2 L3]"},
		"seeds by name":          {study: file(fmt.Sprintf("seeds: [%d]\nregimes: L2", drawn.Seeds[3])), seeds: 1, regimes: "[L2]"},
		"sizes":                  {study: file("sizes: 8"), seeds: 5, regimes: "[L1 L2 L3]"},
		"a seed that is missing": {study: file(fmt.Sprintf("seeds: [%d, 99]", drawn.Seeds[0])), refused: "no instance of seed 99"},
		"too many seeds":         {study: file("seeds: 6"), refused: "6 seeds were asked for, and it has instances of 5"},
		"a size that is missing": {study: func() (*study.Study, error) { return study.Preset("sizes") }, refused: "no instance of size 16x16"},
		"none":                   {study: file("sizes: 16"), refused: "no instance of the seeds, regimes and sizes"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := c.study()
			if err != nil {
				t.Fatal(err)
			}
			err = s.TakeAsked(copied(t, all))
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v, want %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(s.Regimes); len(s.Seeds) != c.seeds || got != c.regimes {
				t.Errorf("it runs on seeds %v under %s", s.Seeds, got)
			}
		})
	}
	onlyL1 := instancesOf(t, func() *study.Study { s := preset(t, "batch"); s.Seeds = drawn.Seeds; return s }())
	s, err := study.ParseFile("mine.yaml", []byte("regimes: [L1, L2]"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.TakeAsked(onlyL1); err == nil || !strings.Contains(err.Error(), "no instance under L2") {
		t.Errorf("a regime that is missing: %v", err)
	}
}
