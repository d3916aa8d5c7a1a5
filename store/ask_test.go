package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

// asked returns the queries of docs/runs.md; the first is that of the one line.
func asked(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/runs.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^    sqlite3 .*run\.db "(SELECT .*)"$`).FindSubmatch(text)
	block := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(text)
	if line == nil || block == nil {
		t.Fatal("the documentation no longer shows how a run is asked")
	}
	return append([]string{string(line[1])}, strings.Split(strings.TrimSpace(string(block[1])), "\n")...)
}

// askable is a run of two models and all outcomes, and what the first question
// must be answered: success by model and strategy over the trials that did not
// fail, counted here from the records.
func askable(t *testing.T) (dir string, want []string) {
	t.Helper()
	s := newShape(400)
	dir = filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, record.Manifest{Program: "v9"}, slices.Values(s.plan), s.instances, Options{})
	if err != nil {
		t.Fatal(err)
	}
	type cell struct{ ended, known, success int }
	cells := map[string]*cell{}
	for i := range s.plan {
		trial, calls := s.records(i)
		for _, c := range calls {
			if err := w.Call(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case trial.Task == record.Detect:
		case i%11 == 0:
			trial.Outcome, trial.Error = record.Failed, "no answer"
		case i%5 == 0:
			trial.Outcome, trial.Death = record.Death, &record.DeathRecord{Cause: record.CauseStaleShown}
		case i%7 == 0:
			trial.Outcome = record.Timeout
		}
		if trial.Task == record.Navigate {
			key := trial.Model + "|" + trial.Strategy
			c := cells[key]
			if c == nil {
				c = &cell{}
				cells[key] = c
			}
			c.ended++
			if trial.Outcome != record.Failed {
				c.known++
			}
			if trial.Outcome == record.Success {
				c.success++
			}
		}
		if err := w.Trial(t.Context(), trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for key, c := range cells {
		want = append(want, fmt.Sprintf("%s|%d|%.6f", key, c.ended, float64(c.success)/float64(c.known)))
	}
	slices.Sort(want)
	return dir, want
}

// rounded writes lines of model|strategy|episodes|success alike, whoever printed
// the success.
func rounded(t *testing.T, lines []string) []string {
	t.Helper()
	var out []string
	for _, l := range lines {
		cut := strings.LastIndexByte(l, '|')
		var v float64
		if _, err := fmt.Sscan(l[cut+1:], &v); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		out = append(out, fmt.Sprintf("%s|%.6f", l[:cut], v))
	}
	slices.Sort(out)
	return out
}

// TestAskedWithSQL asks a run what the documentation asks, by this program's
// SQLite and by the sqlite3 program. It would fail if the answer were not that of
// the records, or a query had no answer.
func TestAskedWithSQL(t *testing.T) {
	dir, want := askable(t)
	path := filepath.Join(dir, DatabaseName)
	queries := asked(t)
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(queries[0])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var model, strategy, episodes, success string
		if err := rows.Scan(&model, &strategy, &episodes, &success); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{model, strategy, episodes, success}, "|"))
	}
	if d := cmp.Diff(want, rounded(t, got)); d != "" {
		t.Errorf("%s (-from the records +from the database):\n%s", queries[0], d)
	}
	for _, q := range queries[1:] {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM (" + strings.TrimSuffix(q, ";") + ")").Scan(&n); err != nil {
			t.Errorf("%s: %v", q, err)
		} else if n == 0 && !strings.Contains(q, "'length'") {
			t.Errorf("%s: no row", q)
		}
	}

	t.Run("sqlite3", func(t *testing.T) {
		program, err := exec.LookPath("sqlite3")
		if err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip("there is no sqlite3 program here")
		}
		for i, q := range queries {
			out, err := exec.Command(program, path, q).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", q, err, out)
			} else if i == 0 {
				if d := cmp.Diff(want, rounded(t, strings.Split(strings.TrimSpace(string(out)), "\n"))); d != "" {
					t.Errorf("%s:\n%s", q, d)
				}
			}
		}
	})
	t.Run("Python", func(t *testing.T) {
		python := os.Getenv("SPATIALSTALE_TEST_PYTHON")
		if python == "" {
			if os.Getenv("CI") != "" {
				t.Fatal("SPATIALSTALE_TEST_PYTHON is not set")
			}
			t.Skip("set SPATIALSTALE_TEST_PYTHON to a Python that has the packages of python/requirements-test.txt")
		}
		script, err := json.Marshal(queries)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "testdata/ask.py", path, string(script)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for section := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n\n") {
			reader, answer, _ := strings.Cut(section, "\n")
			if strings.HasPrefix(reader, "not by ") {
				t.Log(reader) // DuckDB fetches its reader of SQLite when it is first used
				continue
			}
			if d := cmp.Diff(want, rounded(t, strings.Split(answer, "\n"))); d != "" {
				t.Errorf("by %s:\n%s", reader, d)
			}
		}
	})
}
