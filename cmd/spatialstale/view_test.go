package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
)

// viewed starts the viewer of a folder as a process; client has brought its token,
// stop ends it as a person does.
func viewed(t *testing.T, folder string, args ...string) (client *http.Client, address, token string, stop func() error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"view", folder, "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, token, _ = strings.Cut(strings.TrimSpace(line), "/?")
	for _, request := range []string{"", "?token=wrong"} {
		if r, err := http.Get(address + "/" + request); err != nil || r.StatusCode != http.StatusForbidden {
			t.Errorf("%q without its token: %v, %v", request, r, err)
		} else {
			r.Body.Close()
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client = &http.Client{Jar: jar}
	if r, err := client.Get(address + "/?" + token); err != nil || r.StatusCode != http.StatusOK || r.Request.URL.RawQuery != "" {
		t.Errorf("with its token: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
	return client, address, token, func() error {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			return err
		}
		return cmd.Wait()
	}
}

func TestView(t *testing.T) {
	folder := t.TempDir()
	if code := execute([]string{"run", "quick", "--seeds", "1", "--out", filepath.Join(folder, "a")}, env{ctx: t.Context(), stdout: io.Discard, stderr: io.Discard, now: time.Now}); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	client, address, token, stop := viewed(t, folder)
	watching, err := client.Get(address + "/events?name=a") // somebody who watches keeps it from nothing
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Body.Close()
	if r, err := client.Get(address + "/run?name=a"); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", r, err)
	} else {
		r.Body.Close()
	}
	python := os.Getenv("SPATIALSTALE_TEST_PYTHON")
	if _, err := exec.LookPath("chromium"); python != "" && err == nil {
		if out, err := exec.Command(python, filepath.Join("testdata", "browser", "view.py"), address, token, os.Getenv("SPATIALSTALE_TEST_AXE")).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	} else if os.Getenv("CI") != "" {
		t.Errorf("SPATIALSTALE_TEST_PYTHON is %q; chromium: %v", python, err)
	}
	if os.Getenv("CI") != "" && os.Getenv("SPATIALSTALE_TEST_AXE") == "" {
		t.Error("SPATIALSTALE_TEST_AXE names no axe.min.js")
	}
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if code := execute([]string{"view", folder, "--listen", "0.0.0.0:0"}, env{ctx: t.Context(), stdout: io.Discard, stderr: io.Discard, now: time.Now}); code != exitUsage {
		t.Errorf("exit %d", code)
	}
}

// A run that is made with --view can be watched from its beginning, with what only
// its own process knows.
func TestRunView(t *testing.T) {
	s, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Delay: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(exe, "run", "quick", "--seeds", "1", "--task", "detect", "--modality", "text", "--regime", "L1", "--model", "openai-api/v/ref/reader", "--view", "--concurrency", "1", "--out", "a run")
	cmd.Env, cmd.Dir = append(os.Environ(), asCommand+"=1", "V_BASE_URL="+s.URL, "V_API_KEY=none"), dir
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	address := ""
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "View:        ")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client, seen := &http.Client{Jar: jar}, false
	for !seen {
		r, err := client.Get(address)
		if err != nil {
			break
		}
		page, _ := io.ReadAll(r.Body)
		r.Body.Close()
		seen = strings.Contains(string(page), "running") && strings.Contains(string(page), "1 in flight")
		time.Sleep(20 * time.Millisecond)
	}
	if !seen {
		t.Errorf("at %q no call in flight was seen", address)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
