package provenance_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/audit/provenance"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// A clock is set by a test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func memories(texts ...string) []audit.Memory {
	var out []audit.Memory
	for i, text := range texts {
		out = append(out, audit.Memory{ID: fmt.Sprint("note-", i), Text: text})
	}
	return out
}

// made is an audit of memories, in batches of two.
func made(t *testing.T, all []audit.Memory, seen audit.Observation, options audit.Options) *provenance.Audit {
	t.Helper()
	options.Batch = 2
	m := &audittest.Model{Rule: audittest.Gone}
	a, err := audit.New(m, options)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Audit(t.Context(), all, seen)
	if err != nil {
		t.Fatal(err)
	}
	return &provenance.Audit{ID: "audit-1", Trigger: "session-start", Model: "openai/gpt-4o", Price: &price.Price{Input: 2, Output: 8}, Prompt: a.PromptVersion(), Memories: all, Observation: seen, Result: r}
}

func open(t *testing.T, dir string, o provenance.Options) *provenance.Log {
	t.Helper()
	l, err := provenance.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func add(t *testing.T, l *provenance.Log, a *provenance.Audit) {
	t.Helper()
	if err := l.Append(a); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string) (all []provenance.Verdict) {
	t.Helper()
	for v, err := range provenance.Read(dir, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// Would fail if a verdict could not be traced to what judged it, or if what the
// verdicts cost were not what the audit cost.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	all := memories("dog is here", "cow is here", "cat is here", "port: 80", "Never push.")
	all[4].Kind = "rule"
	a := made(t, all, audit.Observation{Text: "dog is gone", Facts: map[string]string{"port": "81"}}, audit.Options{Protect: []string{"rule"}})
	c := &clock{noon}
	add(t, open(t, dir, provenance.Options{Now: c.Now}), a)
	got := read(t, dir)
	if len(got) != 5 {
		t.Fatalf("%d verdicts", len(got))
	}
	cost, took := 0.0, time.Duration(0)
	for i, v := range got {
		if v.Audit != "audit-1" || v.Trigger != "session-start" || !v.Time.Equal(noon) || v.Observation != got[0].Observation || v.Reason != "" {
			t.Errorf("%d: %+v", i, v)
		}
		if byModel := i < 3; byModel != (v.Tier == audit.TierModel) || byModel != (v.Model == "openai/gpt-4o") || byModel != (v.Prompt == a.Prompt) || byModel != (v.Calls == 1) || byModel != (v.CostUSD != nil) {
			t.Errorf("%d: %+v", i, v)
		}
		if v.CostUSD != nil {
			cost += *v.CostUSD
		}
		took = max(took, v.Took)
	}
	want := 0.0
	for _, u := range a.Result.Usage {
		want += a.Price.Cost(u).USD.Dollars()
	}
	if math.Abs(cost-want) > 1e-12 || want == 0 || took <= 0 {
		t.Errorf("the verdicts cost %v, the audit %v; took %v", cost, want, took)
	}
	if got[0].Status != audit.Stale || got[0].Action != audit.Removed || got[3].Tier != audit.TierFacts || got[4].Why != audit.Protected {
		t.Errorf("%+v", got)
	}
}

// What an entry, an observation and an id are must not be in the log, nor what
// anybody can make of them without the key; with the key they can be found.
func TestNothingIsTold(t *testing.T) {
	const secret, id, seen = "dog7381 is here", "id-of-dog7381", "dog7381 is gone"
	all := []audit.Memory{{ID: id, Text: secret}}
	bare, talking, other := t.TempDir(), t.TempDir(), t.TempDir()
	a := made(t, all, audit.Observation{Text: seen}, audit.Options{})
	a.Result.Verdicts[0].Reason = "for " + seen
	add(t, open(t, bare, provenance.Options{}), a)
	add(t, open(t, talking, provenance.Options{Reasons: true}), a)
	add(t, open(t, other, provenance.Options{}), a)
	text := files(t, bare)
	for _, s := range []string{secret, id, seen} {
		sum := sha256.Sum256([]byte(s))
		for _, form := range []string{s, hex.EncodeToString(sum[:])[:16], base64.StdEncoding.EncodeToString([]byte(s)), base64.StdEncoding.EncodeToString(sum[:])[:16]} {
			if strings.Contains(text, form) {
				t.Errorf("%q is in %s", form, text)
			}
		}
	}
	if !strings.Contains(files(t, talking), "for "+seen) {
		t.Error("no reason, though it was asked for")
	}
	key, err := provenance.ReadKey(bare)
	if err != nil {
		t.Fatal(err)
	}
	v := read(t, bare)[0]
	if v.Entry != key.Entry(&audit.Memory{Text: secret}) || v.ID != key.ID(id) || v.Observation != key.Observation(&audit.Observation{Text: seen}) {
		t.Errorf("%+v cannot be found with the key", v)
	}
	if o := read(t, other)[0]; o.Entry == v.Entry || o.ID == v.ID {
		t.Error("two logs have the same hashes")
	}
	if same := key.Entry(&audit.Memory{Text: "x"}) == key.ID("x"); same {
		t.Error("the hash of a text is that of an id")
	}
	if a, b := key.Observation(&audit.Observation{Facts: map[string]string{"ab": "c"}}), key.Observation(&audit.Observation{Facts: map[string]string{"a": "bc"}}); a == b {
		t.Error("two observations have the same hash")
	}
	info, err := os.Stat(filepath.Join(bare, "key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
}

// files is all that the log's files hold, without the key.
func files(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%v %v", names, err)
	}
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// Verdicts must stay as long as asked, and no longer than an hour more.
func TestKeep(t *testing.T) {
	dir, c := t.TempDir(), &clock{noon}
	a := made(t, memories("dog is here"), audit.Observation{Text: "dog is gone"}, audit.Options{})
	l := open(t, dir, provenance.Options{Keep: 24 * time.Hour, Now: c.Now})
	for range 49 { // two days
		add(t, l, a)
		c.now = c.now.Add(time.Hour)
	}
	got := read(t, dir)
	oldest := c.now.Add(-time.Hour).Sub(got[0].Time) // as of the last one
	if oldest < 24*time.Hour || oldest > 25*time.Hour {
		t.Errorf("%d verdicts, the oldest of %v ago", len(got), oldest)
	}
	l.Close()
	if err := provenance.Prune(dir, 3*time.Hour, c.now); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); len(got) != 4 {
		t.Errorf("%d verdicts after pruning to three hours", len(got))
	}
	// Opening it lets go of what is old as well.
	c.now = c.now.Add(100 * time.Hour)
	open(t, dir, provenance.Options{Keep: 24 * time.Hour, Now: c.Now})
	if got := read(t, dir); len(got) != 0 {
		t.Errorf("%d verdicts after four days", len(got))
	}
}

// The log must stay within its bytes, and tell when that cost verdicts.
func TestBytes(t *testing.T) {
	dir, c := t.TempDir(), &clock{noon}
	a := made(t, memories("dog is here", "cow is here"), audit.Observation{Text: "dog is gone"}, audit.Options{})
	warned := ""
	l := open(t, dir, provenance.Options{Keep: 1000 * time.Hour, Bytes: 64 << 10, Now: c.Now, Warn: func(text string) { warned = text }})
	for range 500 {
		add(t, l, a)
		c.now = c.now.Add(time.Second)
	}
	if n := len(files(t, dir)); n > 64<<10 || n < 32<<10 {
		t.Errorf("%d bytes", n)
	}
	got := read(t, dir)
	if last := got[len(got)-1]; !last.Time.Equal(c.now.Add(-time.Second)) || !strings.Contains(warned, "went sooner than asked") {
		t.Errorf("the last is of %v; warned %q", last.Time, warned)
	}
}

// Several programs, and several audits of one, must write to a log without harm.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	a := made(t, memories("dog is here", "cow is here"), audit.Observation{Text: "dog is gone"}, audit.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			l, err := provenance.Open(dir, provenance.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			var audits sync.WaitGroup
			for range 25 {
				audits.Go(func() {
					if err := l.Append(a); err != nil {
						t.Error(err)
					}
				})
			}
			audits.Wait()
		})
	}
	wg.Wait()
	got := read(t, dir)
	if len(got) != 200 {
		t.Errorf("%d verdicts", len(got))
	}
	for _, v := range got {
		if v.Observation != got[0].Observation {
			t.Fatal("two programs have two keys")
		}
	}
}

// A file that was cut in writing must be read as far as it goes, and a line that
// is broken named.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, provenance.Options{})
	add(t, l, made(t, memories("dog is here", "cow is here"), audit.Observation{Text: "dog is gone"}, audit.Options{}))
	name, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	whole, err := os.ReadFile(name[0])
	if err != nil {
		t.Fatal(err)
	}
	count := func(b []byte) (verdicts int, broken error) {
		if err := os.WriteFile(name[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, err := range provenance.Read(dir, time.Time{}) {
			if err != nil {
				broken = err
			} else {
				verdicts++
			}
		}
		return verdicts, broken
	}
	if n, err := count(whole[:len(whole)-10]); n != 1 || err != nil {
		t.Errorf("a cut file: %d, %v", n, err)
	}
	if n, err := count(append([]byte("{}\nhello\n"), whole...)); n != 2 || err == nil || !strings.Contains(err.Error(), ".jsonl:2: ") {
		t.Errorf("a broken line: %d, %v", n, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := provenance.Open(dir, provenance.Options{}); err == nil {
		t.Error("a broken key was taken")
	}
}

// An entry that was asked about and not judged must name who was asked.
func TestUnanswered(t *testing.T) {
	dir := t.TempDir()
	m := &audittest.Model{Rule: func(entry, observation string) string {
		if entry == "cow is here" {
			return ""
		}
		return audittest.Gone(entry, observation)
	}, Fail: func(_ context.Context, n int64) error {
		if n == 2 {
			return &llm.Error{Kind: llm.KindServer, Model: "m"}
		}
		return nil
	}}
	a, err := audit.New(m, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := memories("dog is here", "cow is here")
	r, err := a.Audit(t.Context(), all, audit.Observation{Text: "dog is gone"})
	if err != nil {
		t.Fatal(err)
	}
	add(t, open(t, dir, provenance.Options{}), &provenance.Audit{Model: "m", Price: &price.Price{Input: 1, Output: 1}, Memories: all, Result: r})
	got := read(t, dir)
	if v := got[1]; v.Model != "m" || v.Calls != 2 || v.CostUSD != nil || v.Status != audit.Unaudited {
		t.Errorf("%+v", v)
	}
	if v := got[0]; v.Calls != 1 || v.CostUSD == nil {
		t.Errorf("%+v", v)
	}
}
