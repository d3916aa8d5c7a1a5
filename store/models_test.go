package store

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/record"
)

// TestModels would fail if what shows of a model while a run goes on did not
// reach its manifest, or only one copy of it, or changed anything else there.
func TestModels(t *testing.T) {
	s := newSample()
	dir := s.interrupted(t, 0)
	path := filepath.Join(dir, ManifestName)
	read := func() (inDatabase, inFile record.Manifest) {
		t.Helper()
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if inFile, err = parseManifest(text); err != nil {
			t.Fatal(err)
		}
		return r.Manifest(), inFile
	}
	before, _ := read()
	w := resume(t, dir, Resumption{})
	learned := []record.ModelInfo{{
		Name: "m", Endpoints: []string{"https://a/<v1>"}, ServerModels: []string{"m-1", "m-2"},
		Changes:  []record.ParamChange{{Param: "temperature", Words: "no"}},
		Settings: &record.ModelSettings{ExtraBody: json.RawMessage(`{"a":1}`), Headers: []string{"X-Org"}},
	}}
	for i := range 2 {
		if err := w.Models(context.Background(), learned[:i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Models(context.Background(), learned); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := before
	want.Models = learned
	db, file := read()
	if diff := cmp.Diff(want, db); diff != "" {
		t.Errorf("in the database: %s", diff)
	}
	if diff := cmp.Diff(want, file); diff != "" {
		t.Errorf("in %s: %s", ManifestName, diff)
	}

	// A kill between the two leaves the file behind; the next resumption mends it.
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := resume(t, dir, Resumption{}).Close(); err != nil {
		t.Fatal(err)
	}
	if _, file := read(); !cmp.Equal(want, file) {
		t.Error("the file was not mended")
	}
}
