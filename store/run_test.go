package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// check compares a run with the sample that was written to it.
func (s *sample) check(t *testing.T, r *Run) {
	t.Helper()
	diff := func(what string, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	diff("manifest", s.manifest, r.Manifest())
	diff("plan", s.plan, collect(t, r.Plan()))
	diff("instances", s.instances, collect(t, r.Instances()))
	diff("trials", s.trials, collect(t, r.Trials()))
	diff("calls", s.calls, collect(t, r.CallsWithPrompts()))
	bare := collect(t, r.Calls())
	for i := range bare {
		bare[i].Prompt = s.calls[min(i, len(s.calls)-1)].Prompt
	}
	diff("calls without prompts", s.calls, bare)
}

// If this fails, something that was paid for is lost or altered.
func TestWhatIsWrittenComesBack(t *testing.T) {
	s := newSample()
	dir := s.written(t)
	want := []string{ManifestName, DatabaseName, lockName}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("a closed run holds %v, want %v", got, want)
	}
	r := open(t, dir)
	s.check(t, r)
	if n, err := r.Missing(); n != 1 || err != nil {
		t.Errorf("Missing() = %d, %v; want 1: one trial never ended", n, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("after reading it holds %v, want %v", got, want)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestTrialAndItsCalls(t *testing.T) {
	s := newSample()
	r := open(t, s.written(t))
	got, err := r.Trial("aa")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.trials[1], got); d != "" {
		t.Error(d)
	}
	calls, err := r.TrialCalls("aa")
	if err != nil || len(calls) != 5 {
		t.Errorf("TrialCalls: %d calls, %v; want 5", len(calls), err)
	}
	if calls, err := r.TrialCalls("mm"); len(calls) != 0 || err != nil {
		t.Errorf("a trial without calls: %d calls, %v", len(calls), err)
	}
	if _, err := r.Trial("bb"); !errors.Is(err, ErrUnfinished) {
		t.Errorf("an unfinished trial: %v, want ErrUnfinished", err)
	}
	_, err = r.Trial("nope")
	_, err2 := r.TrialCalls("nope")
	_, err3 := r.Prompt("nope", "step1")
	for _, err := range []error{err, err2, err3} {
		if !errors.Is(err, ErrNotPlanned) {
			t.Errorf("an unknown trial: %v, want ErrNotPlanned", err)
		}
	}
	if _, err := r.Prompt("aa", "step3"); err == nil || !strings.Contains(err.Error(), `no call "step3"`) {
		t.Errorf("an unknown slot: %v", err)
	}
}

// The order of what is read must not tell how many workers there were.
func TestOrderDoesNotDependOnConcurrency(t *testing.T) {
	s := newShape(60)
	var want []string
	for _, workers := range []int{1, 8} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, record.Manifest{}, slices.Values(s.plan), s.instances, Options{Queue: 3, CommitCount: 7})
		if err != nil {
			t.Fatal(err)
		}
		next := make(chan int)
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for i := range next {
					trial, calls := s.records(i)
					if workers > 1 {
						shuffleStages(rand.New(rand.NewPCG(7, uint64(i))), calls)
					}
					for _, c := range calls {
						if err := w.Call(context.Background(), c); err != nil {
							t.Error(err)
						}
					}
					if err := w.Trial(context.Background(), trial); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range s.plan {
			next <- (i * 7) % len(s.plan) // finishing in another order than the plan's
		}
		close(next)
		group.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := open(t, dir)
		var got []string
		for _, trial := range collect(t, r.Trials()) {
			got = append(got, trial.Key)
		}
		for _, c := range collect(t, r.Calls()) {
			got = append(got, fmt.Sprint(c.Trial, c.Slot, c.Reply, c.PromptSHA256))
		}
		if workers == 1 {
			want = got
			for i, p := range s.plan {
				if got[i] != p.Key {
					t.Fatalf("trial %d is %s, want %s of the plan", i, got[i], p.Key)
				}
			}
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d workers give another order than one:\n%s", workers, d)
		}
	}
}

// shuffleStages reorders the calls of each window, which may be made together.
func shuffleStages(rng *rand.Rand, calls []*record.Call) {
	for i := 0; i < len(calls); {
		j := i
		for j < len(calls) && stageOf(calls[j].Slot) == stageOf(calls[i].Slot) {
			j++
		}
		stage := calls[i:j]
		rng.Shuffle(len(stage), func(a, b int) { stage[a], stage[b] = stage[b], stage[a] })
		i = j
	}
}

func TestIteratorsMayBeNestedAndLeft(t *testing.T) {
	s := newSample()
	r := open(t, s.written(t))
	pairs := 0
	for trial, err := range r.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		for call, err := range r.Calls() {
			if err != nil {
				t.Fatal(err)
			}
			if call.Trial == trial.Key {
				pairs++
			}
			if call.Slot == "step2" {
				break
			}
		}
		for range r.Instances() {
			break
		}
	}
	if pairs != 5+3 {
		t.Errorf("%d calls met their trials, want 8", pairs)
	}
}

func TestLiveRunIsASnapshot(t *testing.T) {
	s := newSample()
	w, dir := s.create(t)
	ctx := context.Background()
	if err := w.Trial(ctx, s.trials[2]); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	first := open(t, dir)
	if n := len(collect(t, first.Trials())); n != 1 {
		t.Fatalf("a reader sees %d trials after a flush, want 1", n)
	}
	s.write(t, w, 0, 1)
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if n, m := len(collect(t, first.Trials())), len(collect(t, first.Calls())); n != 1 || m != 0 {
		t.Errorf("the run changed under its reader: %d trials, %d calls", n, m)
	}
	s.check(t, open(t, dir))
	if err := w.Close(); err != nil {
		t.Errorf("Close while readers are there: %v", err)
	}
	s.check(t, open(t, dir))
}

// A killed process leaves its log behind; what it had committed must be read.
func TestKilledRunIsReadable(t *testing.T) {
	s := newSample()
	w, dir := s.create(t)
	s.write(t, w, 2, 1, 0)
	if err := w.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{DatabaseName, DatabaseName + "-wal"}, {DatabaseName, DatabaseName + "-wal", DatabaseName + "-shm"}} {
		killed := t.TempDir()
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(killed, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		s.check(t, open(t, killed))
	}
}

func TestOpenErrors(t *testing.T) {
	s := newSample()
	altered := func(t *testing.T, statements string) string {
		dir := s.written(t)
		alter(t, dir, statements)
		return dir
	}
	file := func(t *testing.T, name, content string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	tests := []struct {
		name  string
		dir   func(t *testing.T) string
		want  error
		words string
	}{
		{"no folder", func(t *testing.T) string { return filepath.Join(t.TempDir(), "no") }, fs.ErrNotExist, "check the path"},
		{"a file", func(t *testing.T) string { return filepath.Join(file(t, "x", ""), "x") }, ErrNoRun, "it is a file"},
		{"below a file", func(t *testing.T) string { return filepath.Join(file(t, "x", ""), "x", "y") }, nil, "is a file"},
		{"empty folder", func(t *testing.T) string { return t.TempDir() }, ErrNoRun, "there is no run.db in it"},
		{"manifest only", func(t *testing.T) string { return file(t, ManifestName, "{}") }, ErrNoRun, "has manifest.json but no run.db"},
		{"empty database", func(t *testing.T) string { return file(t, DatabaseName, "") }, ErrNoRun, "another program"},
		{"not a database", func(t *testing.T) string { return file(t, DatabaseName, strings.Repeat("hello ", 1000)) }, ErrNoRun, "no SQLite database"},
		{"foreign", func(t *testing.T) string { return altered(t, "PRAGMA application_id = 7") }, ErrNoRun, "another program"},
		{"newer", func(t *testing.T) string { return altered(t, "PRAGMA user_version = 99") }, ErrNewer, "its format is 99"},
		{"version 0", func(t *testing.T) string { return altered(t, "PRAGMA user_version = 0") }, ErrDamaged, "restore"},
		{"no manifest", func(t *testing.T) string { return altered(t, "DELETE FROM meta") }, ErrDamaged, "it holds no manifest"},
		{"bad manifest", func(t *testing.T) string { return altered(t, "UPDATE meta SET value = '{'") }, ErrDamaged, "manifest"},
		{"a large manifest", func(t *testing.T) string {
			return altered(t, fmt.Sprintf("UPDATE meta SET value = printf('%%.*c', %d, ' ') || value WHERE name = 'manifest'", mostManifest))
		}, ErrDamaged, "bytes; at most"},
		{"endless resamples", func(t *testing.T) string {
			return altered(t, `UPDATE meta SET value = json_set(value, '$.study.bootstrap', json('{"resamples":1000000000000}')) WHERE name = 'manifest'`)
		}, ErrDamaged, "declares 1000000000000 resamples"},
		{"no table", func(t *testing.T) string { return altered(t, "DROP TABLE blobs") }, nil, "no such table"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := Open(test.dir(t))
			if err == nil {
				r.Close()
				t.Fatal("it opened")
			}
			if test.want != nil && !errors.Is(err, test.want) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(test.words)) {
				t.Errorf("got %v; want %v and the words %q", err, test.want, test.words)
			}
		})
	}
}

// Whatever is broken inside, reading says so and never returns half a record as
// if it were whole.
func TestDamageIsReported(t *testing.T) {
	for _, statement := range []string{
		"UPDATE plan SET strategy = 'oracle' WHERE ordinal = 0",
		"UPDATE plan SET seed = 77 WHERE ordinal = 1",
		"UPDATE results SET outcome = 'success' WHERE trial = 0",
		"UPDATE results SET tp = tp + 1 WHERE trial = 0",
		"UPDATE results SET windows = substr(windows, 1, length(windows) - 1) WHERE trial = 0",
		"UPDATE results SET windows = x'28b52ffd' WHERE trial = 0",
		"UPDATE results SET steps = x'5b' WHERE trial = 1",
		"UPDATE instances SET record = '{' WHERE ordinal = 0",
		"UPDATE calls SET booleans = '{' WHERE trial = 0",
		"UPDATE calls SET reply = 999",
		"UPDATE prompts SET sha256 = x'00' WHERE id = 1",
		"UPDATE blobs SET text = 'another reply' WHERE kind = 'text'",
		"UPDATE blobs SET sum = randomblob(31) WHERE kind = 'text'",
		"DELETE FROM blobs",
		"DELETE FROM prompts",
	} {
		t.Run(statement, func(t *testing.T) {
			s := newSample()
			dir := s.written(t)
			alter(t, dir, statement)
			r := open(t, dir)
			var errs []error
			for _, err := range r.Instances() {
				errs = append(errs, err)
			}
			for trial, err := range r.Trials() {
				if (trial == nil) != (err != nil) {
					t.Errorf("trial %v with error %v", trial, err)
				}
				errs = append(errs, err)
			}
			for call, err := range r.Calls() {
				if (call == nil) != (err != nil) {
					t.Errorf("call %v with error %v", call, err)
				}
				errs = append(errs, err)
			}
			if err := errors.Join(errs...); !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v, want ErrDamaged", err)
			}
		})
	}
	t.Run("cut off", func(t *testing.T) {
		s := newSample()
		path := filepath.Join(s.written(t), DatabaseName)
		if err := os.Truncate(path, 3*8192); err != nil {
			t.Fatal(err)
		}
		r, err := Open(filepath.Dir(path))
		if err == nil {
			defer r.Close()
			for _, e := range r.Calls() {
				err = errors.Join(err, e)
			}
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v, want ErrDamaged", err)
		}
	})
}

// TestChangedInstance would fail if an instance that is not the manifest's were
// handed on: tables would tell of another lake.
func TestChangedInstance(t *testing.T) {
	s := newSample()
	s.manifest.Instances = map[string]string{}
	for _, in := range s.instances {
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		s.manifest.Instances[fmt.Sprintf("%d/%dx%d/%s", in.Seed, len(in.Rows), len(in.Rows[0]), in.Regime)] = hex.EncodeToString(sum[:])
	}
	dir := s.written(t)
	r := open(t, dir)
	s.check(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, dir, "UPDATE instances SET record = replace(record, 'DANGER', 'SAFE') WHERE ordinal = 0")
	for _, err := range open(t, dir).Instances() {
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "2/4x5/L3") {
			t.Errorf("got %v, want ErrDamaged and which instance it is", err)
		}
	}
}

// alter changes a run's database as nobody should.
func alter(t *testing.T, dir, statements string) {
	t.Helper()
	db, err := connect(filepath.Join(dir, DatabaseName), writing)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.exec(statements), db.close()); err != nil {
		t.Fatal(err)
	}
}

// TestIntegrity would fail if check passed over what no Writer leaves behind.
func TestIntegrity(t *testing.T) {
	sound := func(s *sample) { s.manifest.Models = []record.ModelInfo{{Name: s.plan[0].Model}} }
	for _, test := range []struct{ statement, words string }{
		{"", ""},
		{"CREATE TRIGGER t AFTER INSERT ON results BEGIN UPDATE results SET tp = 0; END", "trigger t"},
		{"CREATE TABLE notes(x)", "table notes"},
		{"DROP VIEW episodes; CREATE VIEW episodes AS SELECT 1", "view episodes"},
		{"UPDATE results SET version = 7 WHERE trial = 0", "1 trials that ended have a record of no known version"},
		{"UPDATE meta SET value = replace(value, '\"version\": 1', '\"version\": 0')", "the manifest has version 0"},
		{"UPDATE meta SET value = replace(value, 'ref/mixed', 'ref/reader')", "the manifest lists ref/reader"},
		{"UPDATE meta SET value = replace(value, '\"go1.26\"', '\"go2\"')", "says otherwise than the database's copy"},
		{"DELETE FROM blobs WHERE kind = 'png'", "prompts have a part that is not there"},
		{"UPDATE calls SET trial = 99 WHERE id = 1", "1 rows of calls refer to no row of plan"},
		{"UPDATE calls SET latency_ns = -1 WHERE id = 1", "1 calls say"},
	} {
		s := newSample()
		sound(s)
		dir := s.written(t)
		if test.statement != "" {
			alter(t, dir, test.statement)
		}
		problems, err := open(t, dir).Integrity()
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(problems, "\n"); test.words == "" && found != "" || !strings.Contains(found, test.words) {
			t.Errorf("%s:\n%s\nwant the words %q", test.statement, found, test.words)
		}
	}
	// And a trigger keeps a run from going on, because it would change what is
	// written.
	dir := newSample().written(t)
	alter(t, dir, "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM calls; END")
	if _, err := Resume(dir, Resumption{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "trigger t") {
		t.Errorf("a run with a trigger was resumed: %v", err)
	}
}
