package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// However little the writer remembers, a content is stored once.
func TestEachContentIsStoredOnce(t *testing.T) {
	for _, remembered := range []int{1, 3, rememberedSums} {
		t.Run(fmt.Sprint(remembered), func(t *testing.T) {
			s := newSample()
			w, dir := s.create(t)
			s.write(t, w) // so that the next writer finds blobs that it never saw
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			c, err := newCommitter(filepath.Join(dir, DatabaseName), make([]bool, len(s.plan)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			c.inserter.blobs = newRecent[[32]byte, int64](remembered, nil)
			c.inserter.prompts = newRecent[promptKey, int64](remembered, nil)
			w = startWriter(c, &outline{ordinals: map[string]int32{"mm": 2}}, Options{Queue: 1, CommitCount: 10, CommitAfter: 1 << 40})
			var again []*record.Call
			for round := range 3 {
				for _, c := range s.calls {
					c := *c
					c.Trial, c.Slot = "mm", fmt.Sprint("round", round, "/", c.Trial, c.Slot)
					again = append(again, &c)
					if err := w.Call(context.Background(), &c); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			distinct := map[string]bool{}
			for _, c := range s.calls {
				distinct["text"+c.Reply] = true
				for _, p := range c.Prompt {
					distinct[p.Kind+string(p.Data)] = true
				}
				if c.Reasoning != "" {
					distinct["text"+c.Reasoning] = true
				}
			}
			r := open(t, dir)
			var stored int
			if err := r.db.queryRow("SELECT count(*) FROM blobs").Scan(&stored); err != nil {
				t.Fatal(err)
			}
			if stored != len(distinct) {
				t.Errorf("%d blobs for %d contents", stored, len(distinct))
			}
			s.calls = append(s.calls[:len(s.calls)-1], append(again, s.calls[len(s.calls)-1])...)
			prompts := map[string][32]byte{}
			for _, c := range collect(t, r.CallsWithPrompts()) {
				prompts[c.Trial+c.Slot] = promptSum(c.Prompt)
			}
			for _, c := range s.calls {
				if prompts[c.Trial+c.Slot] != promptSum(c.Prompt) {
					t.Errorf("%s %s: another prompt came back", c.Trial, c.Slot)
				}
			}
		})
	}
}

// Contents of any length and number come back.
func TestManyAndLargeBlobs(t *testing.T) {
	s := newSample()
	s.calls = nil
	for i := range 700 {
		s.call("mm", fmt.Sprint("step", i), "step", fmt.Sprint("reply ", i), textPart("walk"))
	}
	for i := range 5 {
		s.call("mm", fmt.Sprint("step", 10000+i), "step", strings.Repeat(fmt.Sprint(i), 32<<10+i), picture(strings.Repeat("x", i*64<<10)))
	}
	s.check(t, open(t, s.written(t)))
}

func TestRecent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		r := newRecent[int](limit, func(v int) int { return v % 5 })
		for _, k := range rapid.SliceOf(rapid.IntRange(0, 30)).Draw(t, "keys") {
			v, ok := r.get(k)
			if ok && v != k*3 {
				t.Fatalf("%d has the value %d", k, v)
			}
			if !ok {
				r.put(k, k*3)
			}
			if _, ok := r.get(k); !ok {
				t.Fatalf("%d was forgotten at once", k)
			}
			weight, young := 0, 0
			for _, v := range r.young {
				young += v % 5
			}
			for _, v := range r.old {
				weight += v % 5
			}
			if young != r.weight || weight+young > 2*(limit+4) {
				t.Fatalf("it holds %d and %d, limit %d a generation", young, weight, limit)
			}
		}
	})
}
