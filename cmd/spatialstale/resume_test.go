package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// command is the program in a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "NO_COLOR=1")
	return cmd
}

// finish runs a command to its end and returns its exit code and what it said.
func finish(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// exported returns the files of a run's export that do not hold times.
func exported(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "export")
	if code, _, stderr := finish(t, command(t, "export", dir, "--out", out)); code != exitDone {
		t.Fatalf("export: exit %d: %s", code, stderr)
	}
	files := map[string]string{}
	for _, name := range []string{"instances", "trials", "judgments", "steps"} {
		b, err := os.ReadFile(filepath.Join(out, name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	return files
}

func sameFiles(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s.jsonl differs from an undisturbed run's", what, name)
		}
	}
}

// disturb starts a study, waits until its database is there and a while
// longer, and sends it signals.
func disturb(t *testing.T, dir string, after time.Duration, signals ...os.Signal) (code int, stderr string) {
	t.Helper()
	cmd := command(t, "run", "paper", "--seeds", "5", "--model", "ref/believer", "--out", dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 30_000 {
		if _, err := os.Stat(filepath.Join(dir, "run.db")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(after)
	for _, s := range signals {
		if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), errs.String()
}

// TestFullDisk runs out of room for its files, says so, and goes on when there
// is room again. The limit is the shell's, so that no disk need be filled.
func TestFullDisk(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to set a limit with")
	}
	root := t.TempDir()
	whole, dir := filepath.Join(root, "whole"), filepath.Join(root, "full")
	study := []string{"run", "quick", "--seeds", "4", "--out"}
	if code, _, stderr := finish(t, command(t, append(study, whole)...)); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	limited := command(t, append(study, dir)...)
	limited.Args = append([]string{"sh", "-c", `ulimit -f 1500; exec "$0" "$@"`, limited.Path}, limited.Args[1:]...)
	limited.Path, _ = exec.LookPath("sh")
	code, _, stderr := finish(t, limited)
	if code != exitStopped || !strings.Contains(stderr, "spatialstale resume "+dir) || strings.Contains(stderr, "goroutine ") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := finish(t, command(t, "resume", dir)); code != exitDone {
		t.Fatalf("resume: exit %d: %s", code, stderr)
	}
	sameFiles(t, "full disk", exported(t, dir), exported(t, whole))
}

// TestDisturbed kills, interrupts and terminates a run at random moments, goes
// on, and compares with an undisturbed run. It would fail if anything finished
// were lost, made twice or made otherwise.
func TestDisturbed(t *testing.T) {
	notShort(t)
	root := t.TempDir()
	whole := filepath.Join(root, "whole")
	if code, _, stderr := finish(t, command(t, "run", "paper", "--seeds", "5", "--model", "ref/believer", "--out", whole)); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	want := exported(t, whole)
	rng := rand.New(rand.NewPCG(1, 2)) // the moments; what happens at them must not matter
	for name, signals := range map[string][]os.Signal{
		"kill": {syscall.SIGKILL}, "interrupt": {os.Interrupt}, "terminate": {syscall.SIGTERM}, "interrupt twice": {os.Interrupt, os.Interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, strings.ReplaceAll(name, " ", "-"))
			after := time.Duration(rng.IntN(400)) * time.Millisecond
			code, stderr := disturb(t, dir, after, signals...)
			switch {
			case code == exitDone:
				t.Logf("it had finished before the signal, %v after its beginning", after)
			case name != "kill" && (code != exitStopped || !strings.Contains(stderr, "spatialstale resume "+dir)):
				t.Errorf("exit %d: %s", code, stderr)
			}
			code, stdout, stderr := finish(t, command(t, "resume", dir))
			if code != exitDone || !strings.Contains(stdout, "ref/believer") {
				t.Fatalf("resume: exit %d: %s", code, stderr)
			}
			sameFiles(t, name, exported(t, dir), want)
			if code, _, stderr := finish(t, command(t, "resume", dir)); code != exitDone || !strings.Contains(stderr, "nothing to do") {
				t.Errorf("resume of a finished run: exit %d: %s", code, stderr)
			}
		})
	}
}
