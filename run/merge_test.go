package run_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// shard runs a part of a study; the whole of it for "".
func shard(t *testing.T, dir, text, part string) {
	t.Helper()
	s, err := study.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if part != "" {
		if err := s.Split(part); err != nil {
			t.Fatal(err)
		}
	}
	session, err := run.Start(t.Context(), s, run.Options{Dir: dir, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
}

// told is all that a run holds, in the order in which exports have it.
func told(t *testing.T, dir string) (all []any) {
	t.Helper()
	r, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for in, err := range r.Instances() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in)
	}
	for trial, err := range r.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *trial)
	}
	for c, err := range r.CallsWithPrompts() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *c)
	}
	m := r.Manifest()
	return append(all, m)
}

const sharded = "{base: quick, seeds: 5, regimes: [L1, L3], models: [ref/reader, \"ref/mixed?slip=0.1\"]}"

// A run that was merged of its shards, given in any order and one of them twice, holds
// what the run holds that was made at once.
func TestMerge(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	shard(t, at("whole"), sharded, "")
	var shards []string
	for _, i := range []int{3, 1, 2} {
		shards = append(shards, at(fmt.Sprint(i)))
		shard(t, at(fmt.Sprint(i)), sharded, fmt.Sprintf("%d/3", i))
	}
	if err := os.MkdirAll(at("merged.merging"), 0o755); err != nil { // of a merge that was killed
		t.Fatal(err)
	}
	m, err := run.Merge(t.Context(), at("merged"), append(shards, shards[0]), false)
	if err != nil || m.Missing != 0 || m.Twice == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	if !reflect.DeepEqual(told(t, at("whole")), told(t, at("merged"))) {
		t.Error("the merged run is another than the whole one")
	}
	if _, err := os.Stat(at("merged.merging")); err == nil {
		t.Error("a folder is left over")
	}
	stored, err := run.Open(at("merged"))
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	if _, err := stored.Check(t.Context(), "", func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
}

// What is missing is named with what makes it, and can be made in the merged run.
func TestMergePartial(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	shard(t, at("whole"), sharded, "")
	shard(t, at("1"), sharded, "1/2")
	if _, err := run.Merge(t.Context(), at("merged"), []string{at("1")}, false); err == nil || !strings.Contains(err.Error(), "shard 2/2 is missing") {
		t.Fatal(err)
	}
	m, err := run.Merge(t.Context(), at("merged"), []string{at("1")}, true)
	if err != nil || m.Missing == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	session, err := run.Resume(t.Context(), at("merged"), run.ResumeOptions{Options: run.Options{Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(told(t, at("whole")), told(t, at("merged"))) {
		t.Error("the merged run, gone on with, is another than the whole one")
	}
}

func TestMergeRefused(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	shard(t, at("1"), sharded, "1/2")
	shard(t, at("other"), strings.Replace(sharded, "slip=0.1", "slip=0.2", 1), "2/2")
	shard(t, at("three"), sharded, "2/3")
	shard(t, at("whole"), sharded, "")
	for want, dirs := range map[string][]string{
		"are not shards of one study:\n  models": {at("1"), at("other")},
		"asked is one of 3":                      {at("1"), at("three")},
		"is no shard":                            {at("1"), at("whole")},
		"no run folder":                          {at("1"), at("nothing")},
	} {
		var usage run.UsageError
		if _, err := run.Merge(t.Context(), at("merged"), dirs, true); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &usage) && want != "no run folder" {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := run.Merge(t.Context(), at("whole"), []string{at("1")}, true); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error(err)
	}
	if _, err := os.Stat(at("merged")); err == nil {
		t.Error("a merge that was refused left a run")
	}
	if _, err := run.Resume(t.Context(), at("1"), run.ResumeOptions{Add: []string{"seeds=9"}}); err == nil || !strings.Contains(err.Error(), "a shard cannot grow by itself") {
		t.Error(err)
	}
}

func TestSplit(t *testing.T) {
	s, err := study.Parse(sharded)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for i := 1; i <= 3; i++ {
		part := s.Clone()
		if err := part.Split(fmt.Sprintf("%d/3", i)); err != nil || part.Check() != nil {
			t.Fatal(err, part.Check())
		}
		all = append(all, part.Seeds...)
		if whole := part.Whole(); !slices.Equal(whole.Seeds, s.Seeds) || whole.Shard != nil || len(s.Differences(whole)) > 0 {
			t.Errorf("the whole of %v: %v", part.Shard, s.Differences(whole))
		}
	}
	slices.Sort(all)
	if want := slices.Sorted(slices.Values(s.Seeds)); !slices.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
	for _, text := range []string{"", "3", "0/3", "4/3", "x/3", "-1/3", "1/0", "1/6", "1/3/5"} {
		if err := s.Clone().Split(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
