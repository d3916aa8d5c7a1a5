package observe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
	"pgregory.net/rapid"
)

// A reference agent that reads the prompt must get the lake that was written
// into it, whatever stands around.
func TestParseTextReadsWhatTextWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t, lake.MaxSide)
		want := s.Scene()
		text := s.Text()
		if plain := plainListing(&want); !strings.HasPrefix(text, plain) || s.Listing() != plain || text != plain+s.Where() {
			t.Fatalf("text\n%swant it to begin with\n%s", text, plain)
		}
		prompt := "You see the lake.\nRow numbers count down.\n" + text + "[mem_021] SAFE at (2,5): Frozen ice - safe to walk\nAgent atlas\nRow 7 is last."
		got, err := observe.ParseText(prompt)
		if err != nil {
			t.Fatalf("%v, reading\n%s", err, prompt)
		}
		if got != want {
			t.Fatalf("read back %v at %v, want %v at %v, from\n%s", got.Grid.Rows(), got.Agent, want.Grid.Rows(), want.Agent, text)
		}
	})
}

func TestParseListingWithoutPosition(t *testing.T) {
	s := observe.State{Grid: paperLake(t), Agent: lake.Pos{Row: 3, Col: 4}}
	want := s.Scene()
	want.HasAgent, want.Agent = false, lake.Pos{}
	for name, parse := range map[string]func(string) (observe.Scene, error){"ParseText": observe.ParseText, "ParseListing": observe.ParseListing} {
		got, err := parse(strings.TrimSuffix(s.Listing(), "\n"))
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	agent, goal, err := observe.ParseWhere(s.Where())
	if err != nil || agent != s.Agent || goal != s.Grid.Goal() {
		t.Errorf("ParseWhere: %v, %v, %v", agent, goal, err)
	}
}

func TestParseTextRefuses(t *testing.T) {
	good := "Row 0: (0,0)=S (0,1)=F (0,2)=H (0,3)=F\n" +
		"Row 1: (1,0)=F (1,1)=F (1,2)=F (1,3)=F\n" +
		"Row 2: (2,0)=F (2,1)=F (2,2)=H (2,3)=F\n" +
		"Row 3: (3,0)=F (3,1)=F (3,2)=F (3,3)=G\n" +
		"Agent at (1,2). Goal at (3,3).\n"
	if _, err := observe.ParseText(good); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, old, new, want string }{
		{"row missing", "Row 1: (1,0)=F (1,1)=F (1,2)=F (1,3)=F\n", "", "row 2 stands where row 1 belongs"},
		{"row twice", "Row 2: (2,0)=F (2,1)=F (2,2)=H (2,3)=F\n", "Row 1: (1,0)=F (1,1)=F (1,2)=F (1,3)=F\n", "row 1 stands where row 2 belongs"},
		{"zero before a number", "Row 1:", "Row 01:", "row 01 stands where row 1 belongs"},
		{"short row", " (1,3)=F\n", "\n", "row 1 has 3 cells, row 0 has 4"},
		{"wrong position", "(2,1)=F", "(2,7)=F", `row 2: want " (2,1)=" and a type, found " (2,7)=F (2,2)=H`},
		{"no type", "(1,3)=F\n", "(1,3)=\n", "row 1"},
		{"words behind a row", "(1,3)=F\n", "(1,3)=F that is all\n", "row 1"},
		{"long type", "(1,1)=F", "(1,1)=FF", `"F (1,2)=F (1,3)=F" follows cell (1,1)`},
		{"blank at the end", "(1,3)=F\n", "(1,3)=F \n", "row 1"},
		{"unknown type", "(1,1)=F", "(1,1)=W", "cell (1,1) is 'W'"},
		{"second goal", "(1,1)=F", "(1,1)=G", "cell (1,1) is 'G'"},
		{"start covered", "(0,0)=S", "(0,0)=A", "cell (0,0) is 'A'"},
		{"carriage return", "(1,3)=F\n", "(1,3)=F\r\n", "row 1"},
		{"agent off the grid", "at (1,2)", "at (4,0)", "agent at (4,0) is not on"},
		{"agent beyond any grid", "at (1,2)", "at (1,64)", "position line"},
		{"negative", "at (1,2)", "at (-1,2)", "position line"},
		{"signed", "at (1,2)", "at (+1,2)", "position line"},
		{"goal elsewhere", "Goal at (3,3)", "Goal at (3,2)", "goal is said to be at (3,2)"},
		{"half a position line", ". Goal at (3,3).", "", "position line"},
		{"words behind the position", "(3,3).\n", "(3,3). Go!\n", "position line"},
		{"two position lines", "Agent at", "Agent at (0,0). Goal at (3,3).\nAgent at", "second one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(good, tt.old, tt.new, 1)
			if text == good {
				t.Fatal("the test changes nothing")
			}
			_, err := observe.ParseText(text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestParseSaysWhatIsMissing(t *testing.T) {
	if _, err := observe.ParseText("Agent at (1,2). Goal at (3,3).\n"); !errors.Is(err, observe.ErrNoListing) {
		t.Errorf("no listing: %v", err)
	}
	if _, _, err := observe.ParseWhere("Agent at rest.\nRow 0: (0,0)=S"); !errors.Is(err, observe.ErrNoWhere) {
		t.Errorf("no position line: %v", err)
	}
	wide := "Row 0:"
	for c := range lake.MaxSide + 1 {
		wide += " " + lake.Pos{Col: c}.String() + "=F"
	}
	if _, err := observe.ParseListing(wide); !errors.Is(err, lake.ErrSize) {
		t.Errorf("65 columns: %v", err)
	}
	if _, err := observe.ParseListing("Row 0:\nRow 1:\nRow 2:\nRow 3:\n"); !errors.Is(err, lake.ErrSize) {
		t.Errorf("no columns: %v", err)
	}
}

// What is read must be what stands in the text: its rows, written again, are
// the text's own.
func FuzzParseText(f *testing.F) {
	s := observe.State{Grid: paperLake(f), Agent: lake.Pos{Row: 3, Col: 4}}
	f.Add(s.Text())
	s.Radius = 2
	f.Add("Look:\n" + s.Text() + "\nRow of trees")
	f.Add("Row 0: (0,0)=S (0,1)=?\nAgent at (0,0). Goal at (1,1).")
	f.Fuzz(func(t *testing.T, text string) {
		scene, err := observe.ParseText(text)
		if err != nil {
			if scene != (observe.Scene{}) {
				t.Fatal("an error comes with half a scene")
			}
			return
		}
		for _, line := range strings.Split(strings.TrimSuffix(plainListing(&scene), "\n"), "\n") {
			if !strings.Contains("\n"+text+"\n", "\n"+line+"\n") {
				t.Fatalf("read %q, which is not in\n%s", line, text)
			}
		}
		if where := (&observe.State{Grid: scene.Grid, Agent: scene.Agent}).Where(); scene.HasAgent && !strings.Contains(text+"\n", where) {
			t.Fatalf("read %q, which is not in\n%s", where, text)
		}
	})
}
