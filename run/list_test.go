package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// Runs are listed newest first, one that is at work as running, one that cannot be
// read with its reason.
func TestList(t *testing.T) {
	folder := t.TempDir()
	start := func(name string, at int, settings string) *run.Session {
		t.Helper()
		s, err := study.Parse("{base: quick, seeds: 1, tasks: detect, models: ref/reader" + settings + "}")
		if err != nil {
			t.Fatal(err)
		}
		session, err := run.Start(t.Context(), s, run.Options{Dir: filepath.Join(folder, name), Now: func() time.Time { return time.Unix(int64(at), 0) }})
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	for i, name := range []string{"old", "deep/er/new"} {
		if _, err := start(name, 1000*(i+1), "").Wait(); err != nil {
			t.Fatal(err)
		}
	}
	broken := filepath.Join(folder, "broken")
	if err := os.MkdirAll(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "run.db"), []byte("no database"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, err := run.List(folder)
	if err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if r := runs[0]; r.Name != "broken" || r.Err == nil || r.Status() != "unreadable" {
		t.Errorf("%+v", r)
	}
	if r := runs[1]; r.Name != "deep/er/new" || r.Status() != "finished" || r.Done != 6 || r.Planned != 6 || !r.Controls || r.Calls == 0 || r.Spent == nil || *r.Spent != 0 {
		t.Errorf("%+v", r)
	}
	if latest, err := run.Latest(folder); err != nil || !strings.HasSuffix(latest, "new") {
		t.Errorf("%s, %v", latest, err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "deep")); err != nil {
		t.Fatal(err)
	}
	if _, there := run.Look(folder, filepath.Join(folder, "deep/er/new")); there {
		t.Error("a run that vanished is there")
	}
	if _, err := run.Latest(filepath.Join(folder, "nowhere")); err == nil {
		t.Error("a folder that is not there has a latest run")
	}
}
