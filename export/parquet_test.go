package export

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// pythonVar names the Python to use in tests: one with the packages of
// python/requirements-test.txt.
const pythonVar = "SPATIALSTALE_TEST_PYTHON"

// python returns that Python, or skips the test.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv(pythonVar)
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not set", pythonVar)
		}
		t.Skipf("set %s to a Python that has the packages of python/requirements-test.txt", pythonVar)
	}
	return path
}

func parquetNames() (names []string) {
	for _, name := range allNames {
		names = append(names, ParquetName(name))
	}
	return names
}

// The columns are the fields of the JSON lines, in their order.
func TestParquetColumns(t *testing.T) {
	dir := t.TempDir()
	if err := Parquet(newSample(), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range allNames {
		f, err := os.Open(filepath.Join(dir, ParquetName(name)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		p, err := parquet.OpenFile(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		var columns []string
		for _, field := range p.Schema().Fields() {
			columns = append(columns, field.Name())
		}
		if d := cmp.Diff(fields[name], columns); d != "" {
			t.Errorf("%s (-JSON +Parquet):\n%s", name, d)
		}
	}
}

// Other people's readers find in the Parquet files what the JSON lines say.
func TestParquetReaders(t *testing.T) {
	exe := python(t)
	lines, tables := filepath.Join(t.TempDir(), "jsonl"), filepath.Join(t.TempDir(), "parquet")
	run := newSample()
	run.trials[0].Windows[0].Judgments[0].Reason = "not UTF-8: \xc3\x28 \xff\xfe and a NUL \x00"
	run.trials[0].Windows[0].Judgments[1].StaleLogprob = ptr(-0.125)
	run.calls[0].CachedTokens, run.calls[0].InputTokens = ptr(0), ptr(1<<40)
	if err := errors.Join(JSONL(run, lines), Parquet(run, tables)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, "testdata/compare_parquet.py", lines, tables).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// More rows than a group holds, so that there are several groups; and the same
// bytes each time.
func TestParquetIsDeterministic(t *testing.T) {
	run := newSample()
	for len(run.trials[0].Windows) < 2*rowsPerGroup/16 {
		run.trials[0].Windows = append(run.trials[0].Windows, run.trials[0].Windows[0])
	}
	var want [][]byte
	for range 2 {
		dir := t.TempDir()
		if err := Parquet(run, dir); err != nil {
			t.Fatal(err)
		}
		var got [][]byte
		for _, name := range parquetNames() {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b)
		}
		for i := range want {
			if !bytes.Equal(want[i], got[i]) {
				t.Errorf("%s: other bytes the second time", parquetNames()[i])
			}
		}
		want = got
		rows, err := parquet.ReadFile[judgmentRow](filepath.Join(dir, ParquetName(JudgmentsName)))
		n := 0
		for _, trial := range run.trials {
			for i := range trial.Windows {
				n += len(trial.Windows[i].Judgments)
			}
		}
		if err != nil || len(rows) != n || n < 2*rowsPerGroup {
			t.Errorf("%d rows of %d, %v", len(rows), n, err)
		}
	}
}

func TestParquetNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ParquetName(StepsName))
	if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Parquet(newSample(), dir); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]string{filepath.Base(path): "mine"}, files(t, dir)); d != "" {
		t.Error(d)
	}
}

// A run that cannot be read to its end leaves nothing.
func TestParquetAllOrNothing(t *testing.T) {
	run := newSample()
	run.err = errors.New("the calls end here")
	dir := filepath.Join(t.TempDir(), "out")
	if err := Parquet(run, dir); !errors.Is(err, run.err) {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
