package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/audit/audittest"
)

// A process is the command, started by a test.
type process struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr said
}

// said is what a process has written so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// startProcess starts the command with a model named fake that answers by a rule.
func startProcess(t *testing.T, m *audittest.Model, env []string, args ...string) *process {
	t.Helper()
	s := m.Serve()
	t.Cleanup(s.Close)
	p := &process{Cmd: command(t, append(args, "--model", "fake=openai-api/fake/m")...)}
	p.Env = append(append(p.Env, "FAKE_BASE_URL="+s.URL, "FAKE_API_KEY=sk-fake"), env...)
	p.Stderr = &p.stderr
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// line reads a line of the standard output.
func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		_ = p.Wait()
		t.Fatalf("%v: %s", err, &p.stderr)
	}
	return strings.TrimSpace(line)
}

// askAudit asks a service for an audit.
func askAudit(t *testing.T, url, token, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/audit", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(b)
}

const dogRequest = `{"memories": [{"id": "a", "text": "dog is here"}, {"id": "b", "text": "cow is here"}], "observation": {"text": "dog is gone"}, "trigger": "session-start"}`

// A service as it is started must show its token once, keep a log that tells what
// judged an entry and not what it says, and finish what it has begun when it is
// told to stop.
func TestServe(t *testing.T) {
	m := &audittest.Model{Rule: audittest.Gone, Delay: 500 * time.Millisecond}
	logs := t.TempDir()
	p := startProcess(t, m, []string{tokenVar + "="}, "serve", "--listen", "127.0.0.1:0", "--log", logs, "--keep", "7d")
	url := p.line(t)
	var token string
	for shown := regexp.MustCompile(`not shown again: (\S+)\n`); token == ""; time.Sleep(5 * time.Millisecond) {
		if found := shown.FindStringSubmatch(p.stderr.String()); found != nil {
			token = found[1]
		}
	}
	if status, _ := askAudit(t, url, "no-token-at-all-0000", dogRequest); status != 401 {
		t.Errorf("without the token: %d", status)
	}
	type reply struct {
		status int
		answer string
	}
	answered := make(chan reply)
	go func() {
		status, answer := askAudit(t, url, token, dogRequest)
		answered <- reply{status, answer}
	}()
	for m.Calls() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := <-answered; r.status != 200 || !strings.Contains(r.answer, `"stale":1`) {
		t.Errorf("%d %s", r.status, r.answer)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, p.stderr.String())
	}
	if said := p.stderr.String(); strings.Count(said, token) != 1 || strings.Contains(said, "dog") {
		t.Errorf("it said\n%s", said)
	}
	log := filepath.Join(logs, "token")
	for dir, want := range map[string]string{logs: "name one: " + log, t.TempDir(): "holds no log of verdicts", filepath.Join(logs, "nobody"): "no such file"} {
		var stderr bytes.Buffer
		code := execute([]string{"audit", "log", dir}, env{ctx: t.Context(), stdout: io.Discard, stderr: &stderr, now: time.Now})
		if code != exitFailed || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit %d: %s; want %q", dir, code, &stderr, want)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `stale +removed +fake \(prompt [0-9a-f]{12}\) +session-start +unknown +\d+ms`},
		{nil, `1 stale, 0 valid, 1 not covered, 0 unaudited; \$0, and what the 2 verdicts cost whose price is not known`},
		{[]string{"--text", "dog is here"}, `\n1 stale, 0 valid, 0 not covered`},
		{[]string{"--id", "b"}, `\n0 stale, 0 valid, 1 not covered`},
		{[]string{"--status", "stale", "--since", "1d"}, `\n1 stale, 0 valid, 0 not covered`},
		{[]string{"--json"}, `"trigger":"session-start"`},
		{[]string{"--prune", "1h"}, `\n1 stale, 0 valid, 1 not covered`},
	} {
		out := inProcess(t, append([]string{"audit", "log", log}, c.args...)...)
		if !regexp.MustCompile(c.want).MatchString(out) || strings.Contains(out, "dog") {
			t.Errorf("%v: no %s in\n%s", c.args, c.want, out)
		}
	}
}

// Over standard output there must be nothing but the protocol, whatever happens.
func TestMCPProcess(t *testing.T) {
	m := &audittest.Model{Rule: audittest.Gone, Delay: 100 * time.Millisecond}
	for name, end := range map[string]func(p *process){
		"the client leaves": func(p *process) { p.in.Close() },
		"told to stop":      func(p *process) { _ = p.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, m, nil, "mcp")
			say := func(line string) {
				if _, err := io.WriteString(p.in, line+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`)
			p.line(t)
			say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			say(`no JSON at all`)
			calls := m.Calls()
			say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"audit_memory","arguments":` + dogRequest + `}}`)
			for m.Calls() == calls {
				time.Sleep(time.Millisecond)
			}
			end(p)
			rest, err := io.ReadAll(p.out)
			if err != nil {
				t.Fatal(err)
			}
			stale := false
			for line := range bytes.Lines(rest) {
				var message struct {
					JSONRPC string
					Result  struct {
						StructuredContent struct{ Counts struct{ Stale int } }
					}
				}
				if err := json.Unmarshal(line, &message); err != nil || message.JSONRPC != "2.0" {
					t.Errorf("%s: %v", line, err)
				}
				stale = stale || message.Result.StructuredContent.Counts.Stale == 1
			}
			if err := p.Wait(); err != nil || !stale {
				t.Errorf("it ended with %v: %s%s", err, rest, &p.stderr)
			}
		})
	}
}

// What is wrong with a command line must be said before anything is served.
func TestServeUsage(t *testing.T) {
	t.Setenv("FAKE_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("FAKE_API_KEY", "none")
	for want, args := range map[string][]string{
		"gpt-4o":                   {"--model", "gpt-4o"},
		"are called":               {"--model", "x=openai-api/fake/m", "--model", "x=openai-api/fake/n"},
		"can be called":            {"--model", "none=openai-api/fake/m"},
		"no such file":             {"--model", "openai-api/fake/m", "--tokens", "/nowhere"},
		"needs the price":          {"--model", "openai-api/fake/m", "--budget", "1"},
		"Batch is -1":              {"--model", "openai-api/fake/m", "--batch=-1"},
		"--rpm must not":           {"--model", "openai-api/fake/m", "--rpm=-1"},
		"no length of time":        {"--model", "openai-api/fake/m", "--keep", "soon"},
		"--honour":                 {"--model", "openai-api/fake/m", "--honour", "all"},
		"must not be negative":     {"--model", "openai-api/fake/m", "--max-body=-1"},
		"NOWHERE_BASE_URL":         {"--model", "openai-api/nowhere/m"},
		"at least 16 characters":   {"--model", "openai-api/fake/m"},
		"listen tcp: address fake": {"--model", "openai-api/fake/m", "--listen", "fake"},
	} {
		t.Setenv(tokenVar, map[bool]string{true: "short", false: ""}[want == "at least 16 characters"])
		var stdout, stderr bytes.Buffer
		code := execute(append([]string{"serve"}, args...), env{ctx: t.Context(), stdout: &stdout, stderr: &stderr, now: time.Now})
		if code == exitDone || stdout.Len() > 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: exit %d: %s%s; want %q", args, code, &stdout, &stderr, want)
		}
	}
}
