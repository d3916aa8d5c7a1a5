package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/serve"
)

// audited audits a memory with a served model and returns the exit code and both
// outputs.
func audited(t *testing.T, m *audittest.Model, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	s := m.Serve()
	defer s.Close()
	t.Setenv("FAKE_BASE_URL", s.URL)
	t.Setenv("FAKE_API_KEY", "sk-audit-Q7w8E9r0T1")
	var out, errs bytes.Buffer
	code = execute(append([]string{"audit", "--model", "openai-api/fake/m"}, args...), env{ctx: context.Background(), stdout: &out, stderr: &errs, now: time.Now})
	if strings.Contains(out.String()+errs.String(), "Q7w8E9r0T1") {
		t.Error("it shows the key")
	}
	return code, out.String(), errs.String()
}

// write writes a file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAuditWithModel(t *testing.T) {
	memory := write(t, "memory.md", "# Notes\n\n- Makefile builds it\n- README says how\n- Somebody likes tea\n")
	m := &audittest.Model{Rule: audittest.Gone}
	code, stdout, stderr := audited(t, m, "--memories", memory, "--observe", "echo Makefile is gone; echo README says how")
	if code != exitStale || stdout != "# Notes\n\n- README says how\n- Somebody likes tea\n" || !strings.Contains(stderr, "1 stale, 1 not covered, 1 valid. 1 left out.") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	if p := m.Prompts()[0]; !strings.Contains(p, "| $ echo Makefile is gone") || !strings.Contains(p, "| Makefile is gone") {
		t.Error(p)
	}
	code, stdout, _ = audited(t, m, "--memories", memory, "--observe", "echo all is well", "--json")
	var answer serve.AuditAnswer
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || code != exitDone || len(answer.Kept) != 3 || answer.Usage.Calls != 1 {
		t.Errorf("exit %d: %v: %s", code, err, stdout)
	}
}

// gonePipe is an output whose reader has left.
type gonePipe struct{}

func (gonePipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

// A reader that leaves early, such as head, must not make of something stale a
// success.
func TestAuditReaderLeaves(t *testing.T) {
	memory, seen := write(t, "memory.txt", "port: 8080\n"), write(t, "seen.txt", "port: 9090\n")
	for _, form := range []string{"--quiet", "--json", "--markdown", "--plan"} {
		code := execute([]string{"audit", "--model", "none", "--memories", memory, "--observation", seen, form},
			env{ctx: context.Background(), stdout: gonePipe{}, stderr: gonePipe{}, now: time.Now})
		if code != exitStale {
			t.Errorf("%s: exit %d, want %d", form, code, exitStale)
		}
	}
}

// What cannot be written is said before a model is paid.
func TestAuditOutIsFree(t *testing.T) {
	m := &audittest.Model{Rule: audittest.Gone}
	memory := write(t, "memory.txt", "Makefile builds it\n")
	for out, want := range map[string]int{memory: exitUsage, t.TempDir(): exitUsage, filepath.Join(t.TempDir(), "none", "out"): exitFailed} {
		if code, _, stderr := audited(t, m, "--memories", memory, "--observe", "echo Makefile is gone", "--out", out); code != want || m.Calls() > 0 {
			t.Errorf("%s: exit %d after %d calls: %s", out, code, m.Calls(), stderr)
		}
	}
}

// A model that cannot be asked leaves the memory as it was, says so, and is no
// success.
func TestAuditWithoutAnswer(t *testing.T) {
	memory := write(t, "memory.txt", "Makefile builds it\nREADME says how\n")
	down := &audittest.Model{Rule: audittest.Gone, Fail: func(context.Context, int64) error { return errors.New("down") }}
	args := []string{"--memories", memory, "--observe", "echo Makefile is gone", "--max-retries", "0"}
	code, stdout, stderr := audited(t, down, args...)
	if code != exitFailed || stdout != "Makefile builds it\nREADME says how\n" || !strings.Contains(stderr, "the model could not be asked") || !strings.Contains(stderr, "2 unaudited") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, _ = audited(t, down, append(args, "--closed")...)
	if code != exitFailed || stdout != "" {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	silent := &audittest.Model{Rule: func(entry, _ string) string {
		return map[bool]string{true: "valid"}[strings.HasPrefix(entry, "README")]
	}}
	code, stdout, stderr = audited(t, silent, args...)
	if code != exitStopped || !strings.Contains(stdout, "Makefile") || !strings.Contains(stderr, "1 unaudited") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestAuditWithPicture(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	memory, picture := write(t, "m.txt", "The door is shut"), write(t, "door.png", file.String())
	m := &audittest.Model{Rule: func(string, string) string { return "stale" }}
	if code, stdout, stderr := audited(t, m, "--memories", memory, "--image", picture); code != exitStale || stdout != "" {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	if code, _, stderr := audited(t, m, "--memories", memory, "--image", memory); code != exitFailed || !strings.Contains(stderr, "not a readable PNG") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// What is seen goes into every call, so that too much of it is refused, not cut.
func TestAuditOfTooMuch(t *testing.T) {
	memory := write(t, "m.txt", "The door is shut")
	m := &audittest.Model{Rule: audittest.Gone}
	code, _, stderr := audited(t, m, "--memories", memory, "--observe", "yes door | head -c 400000")
	if code != exitFailed || !strings.Contains(stderr, "look at less") || m.Calls() != 0 {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// What judged an entry on the command line must be kept as a service keeps it.
func TestAuditKeepsALog(t *testing.T) {
	memory := write(t, "memory.md", "- Makefile builds it\n- Somebody likes tea\n")
	log := filepath.Join(t.TempDir(), "verdicts")
	for range 2 {
		if code, _, stderr := audited(t, &audittest.Model{Rule: audittest.Gone}, "--memories", memory, "--observe", "echo Makefile is gone", "--log", log); code != exitStale {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	shown := inProcess(t, "audit", "log", log, "--text", "Makefile builds it")
	if strings.Count(shown, " stale  ") != 2 || !strings.Contains(shown, "command") || strings.Contains(shown, "Makefile") {
		t.Error(shown)
	}
	code, stdout, stderr := audited(t, &audittest.Model{Rule: audittest.Gone}, "--memories", memory, "--observe", "echo Makefile is gone", "--log", memory)
	if code != exitFailed || !strings.Contains(stdout, "tea") || !strings.Contains(stderr, "log of verdicts") {
		t.Errorf("a log that cannot be: exit %d: %s%s", code, stdout, stderr)
	}
}
