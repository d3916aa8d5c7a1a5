package export

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func written(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lakes")
	if err := Dataset(newSample().instances, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns the files of a folder and what they hold.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is read back is what was written, and is written again as the same
// bytes.
func TestDatasetRoundTrip(t *testing.T) {
	dir := written(t)
	all, err := ReadDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again")
	if err := Dataset(all, again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tree(t, dir), tree(t, again)); d != "" {
		t.Error(d)
	}
	files := tree(t, dir)
	for _, name := range []string{"README.md", "SHA256SUMS", "instances.jsonl", "instances.parquet", "entries.jsonl", "entries.parquet", "observations.parquet",
		"observations/metadata.jsonl", "observations/seed1734-4x4-L1-window0.png", "observations/seed1734-4x4-L3-window0.png"} {
		if files[name] == "" {
			t.Errorf("%s is missing or empty", name)
		}
		delete(files, name)
	}
	for name := range files {
		t.Errorf("%s does not belong", name)
	}
}

// A changed, missing or foreign file is named, and nothing is read.
func TestDatasetRefusesChanges(t *testing.T) {
	for words, spoil := range map[string]func(dir string) error{
		"instances.jsonl has been changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, InstancesName), []byte("{}\n"), 0o666)
		},
		"window0.png has been changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "observations/seed1734-4x4-L1-window0.png"), nil, 0o666)
		},
		"entries.parquet is missing": func(dir string) error { return os.Remove(filepath.Join(dir, "entries.parquet")) },
		"is no dataset":              func(dir string) error { return os.Remove(filepath.Join(dir, SumsName)) },
		"README.md is no file": func(dir string) error {
			path := filepath.Join(dir, CardName)
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o777))
		},
		"line 1 is no checksum": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, SumsName), []byte(strings.Repeat("0", 64)+"  ../secret\n"), 0o666)
		},
		"does not list instances.jsonl": func(dir string) error {
			list, err := os.ReadFile(filepath.Join(dir, SumsName))
			if err != nil {
				return err
			}
			var kept []string
			for line := range strings.Lines(string(list)) {
				if !strings.Contains(line, InstancesName) {
					kept = append(kept, line)
				}
			}
			return os.WriteFile(filepath.Join(dir, SumsName), []byte(strings.Join(kept, "")), 0o666)
		},
	} {
		dir := written(t)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if all, err := ReadDataset(dir); err == nil || !strings.Contains(err.Error(), words) || all != nil {
			t.Errorf("%v, want %q", err, words)
		}
	}
}

func TestDatasetNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, CardName), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Dataset(newSample().instances, dir); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]string{CardName: "mine"}, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// Hugging Face's library loads the folder, pictures as pictures, and finds in
// Parquet, PNG and JSON lines the same.
func TestDatasetLoads(t *testing.T) {
	exe := python(t)
	dir := written(t)
	cmd := exec.Command(exe, "testdata/load_dataset.py", dir)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
