package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The Python package passes its tests on this very program.
func TestPythonPackage(t *testing.T) {
	python := os.Getenv("SPATIALSTALE_TEST_PYTHON")
	if python == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("SPATIALSTALE_TEST_PYTHON is not set")
		}
		t.Skip("set SPATIALSTALE_TEST_PYTHON to a Python that has the packages of python/requirements-test.txt")
	}
	binary := filepath.Join(t.TempDir(), "spatialstale")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
	cmd.Dir = filepath.Join("..", "..", "python")
	cmd.Env = append(os.Environ(), "SPATIALSTALE_BIN="+binary, "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
