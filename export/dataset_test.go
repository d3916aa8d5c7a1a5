package export

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
)

func written(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lakes")
	if err := Dataset(sequence(newSample().instances, nil), 0, dir); err != nil {
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
	if err := Dataset(sequence(all, nil), 0, again); err != nil {
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

func added(name string) func(dir string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666) }
}

// relist rewrites the list of checksums line by line.
func relist(dir string, change func(line string) string) error {
	path := filepath.Join(dir, SumsName)
	list, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(string(list)) {
		b.WriteString(change(line))
	}
	return os.WriteFile(path, []byte(b.String()), 0o666)
}

// What other programs leave in a folder, and other ways to write the same list,
// make no other dataset.
func TestDatasetTakesTheHarmless(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"hidden files": func(dir string) error {
			return errors.Join(added(".DS_Store")(dir), added(".gitattributes")(dir), added("observations/.DS_Store")(dir),
				os.Mkdir(filepath.Join(dir, ".git"), 0o777), added(".git/HEAD")(dir))
		},
		"names from find": func(dir string) error {
			return relist(dir, func(line string) string { return strings.Replace(line, "  ", "  ./", 1) })
		},
		"blank lines": func(dir string) error {
			return relist(dir, func(line string) string { return "\n" + line + " \r\n" })
		},
		"CRLF": func(dir string) error {
			return relist(dir, func(line string) string { return strings.TrimSuffix(line, "\n") + "\r\n" })
		},
	} {
		dir := written(t)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if all, err := ReadDataset(dir); err != nil || len(all) != 2 {
			t.Errorf("%s: %d instances, %v", name, len(all), err)
		}
	}
}

// An agent that does not see all of the lake is shown what it sees, in words and
// in the picture; the truth stands beside it.
func TestDatasetOfNearViews(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lakes")
	if err := Dataset(sequence(newSample().instances, nil), 2, dir); err != nil {
		t.Fatal(err)
	}
	grid, err := lake.Parse(afterL1)
	if err != nil {
		t.Fatal(err)
	}
	state := observe.State{Grid: grid, Radius: 2}
	files := tree(t, dir)
	first, _, _ := strings.Cut(files["observations/metadata.jsonl"], "\n")
	var o observationLine
	if err := json.Unmarshal([]byte(first), &o); err != nil {
		t.Fatal(err)
	}
	if want := state.Listing() + state.Where(); o.Text != want || !strings.Contains(want, "?") {
		t.Errorf("the text is %s, want %s", o.Text, want)
	}
	if d := cmp.Diff(afterL1, o.Rows); d != "" {
		t.Error(d)
	}
	picture, err := observe.EncodePNG(observe.Render(&state, nil))
	if err != nil {
		t.Fatal(err)
	}
	if files["observations/"+o.FileName] != string(picture) {
		t.Error("the picture is another one")
	}
	if !strings.Contains(files[CardName], "within 2 moves") {
		t.Error("the card says nothing of the view")
	}
}

// An error on the way, such as an interrupt, leaves nothing behind.
func TestDatasetLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	stop := errors.New("interrupted")
	if err := Dataset(sequence(newSample().instances, stop), 0, filepath.Join(dir, "lakes")); !errors.Is(err, stop) {
		t.Error(err)
	}
	if left := tree(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v are left, %v", entries, err)
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
		"extra.txt does not belong":             added("extra.txt"),
		"observations/evil.png does not belong": added("observations/evil.png"),
		"more does not belong":                  func(dir string) error { return os.Mkdir(filepath.Join(dir, "more"), 0o777) },
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
	if err := Dataset(sequence(newSample().instances, nil), 0, dir); !errors.Is(err, fs.ErrExist) {
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
