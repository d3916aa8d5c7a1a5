package provider_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

func TestMain(m *testing.M) {
	if os.Getenv(proxyChild) != "" {
		askThroughProxy()
		return
	}
	goleak.VerifyTestMain(m)
}

// A memoryNet is a network without sockets, so that its time can be a test's.
type memoryNet struct {
	conns chan net.Conn
	done  chan struct{}
}

func (n *memoryNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}
func (n *memoryNet) Close() error   { close(n.done); return nil }
func (n *memoryNet) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (n *memoryNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, errors.Join(ours.Close(), theirs.Close(), ctx.Err())
	}
}

// Every wait ends, at its own deadline, to the second.
func TestDeadlines(t *testing.T) {
	deadlines := provider.Deadlines{Connect: 7 * time.Second, Idle: 20 * time.Second, Attempt: 2 * time.Minute}
	drip := func(every time.Duration, n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for range n {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(every):
				case <-r.Context().Done():
					return
				}
			}
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name    string
		scheme  string
		handler http.HandlerFunc // nil for a server that accepts nobody
		took    time.Duration
		words   string // "" for an answer
	}{
		{"no connection", "http", nil, 7 * time.Second, "no connection to http://server/v1 within 7s"},
		{"no handshake", "https", hang, 7 * time.Second, "no connection to https://server/v1 within 7s"},
		{"no answer", "http", hang, 2 * time.Minute, "no whole answer within 2m0s"},
		{"silence", "http", drip(time.Hour, 1), 20 * time.Second, "silence for 20s in the middle of an answer, after 1 bytes"},
		{"trickle", "http", drip(19*time.Second, 100), 2 * time.Minute, "no whole answer within 2m0s"},
		{"slow but alive", "http", drip(19*time.Second, 6), 6 * 19 * time.Second, ""},
		{"late but whole", "http", func(http.ResponseWriter, *http.Request) { time.Sleep(119 * time.Second) }, 119 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &memoryNet{make(chan net.Conn), make(chan struct{})}
				var server http.Server
				if c.handler != nil {
					handler := c.handler
					server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.ReadAll(r.Body)
						handler(w, r)
					})
					if c.scheme == "https" {
						go func() { // takes connections and says nothing
							for {
								conn, err := network.Accept()
								if err != nil {
									return
								}
								go func() { _, _ = io.Copy(io.Discard, conn) }()
							}
						}()
					} else {
						go func() { _ = server.Serve(network) }()
					}
				}
				client, err := provider.NewClient(provider.Options{
					Name: "m", URL: c.scheme + "://server/v1",
					Settings: provider.Settings{Deadlines: deadlines, Dial: network.dial},
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = client.Post(t.Context(), &llm.Request{Slot: "step1"}, []byte("{}"), nil)
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				switch {
				case c.words == "" && err != nil:
					t.Error(err)
				case c.words != "" && (llm.KindOf(err) != llm.KindTimeout || !strings.Contains(err.Error(), c.words)):
					t.Errorf("%v, want %q", err, c.words)
				}
				client.CloseIdleConnections()
				_ = server.Close()
				if c.handler == nil || c.scheme == "https" {
					_ = network.Close()
				}
			})
		})
	}
}

// Would fail if an endless answer filled the memory.
func TestAnswerIsBounded(t *testing.T) {
	client, stop := serve(t, func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}, provider.Settings{})
	defer stop()
	_, err := client.Post(t.Context(), &llm.Request{}, nil, nil)
	if llm.KindOf(err) != llm.KindMalformed || !strings.Contains(err.Error(), "more than 32 MiB") {
		t.Error(err)
	}
}

// What a server sends that is no HTTP, or no gzip, is malformed, not a broken
// network.
func TestUnreadableAnswers(t *testing.T) {
	for name, raw := range map[string]string{
		"no http": "SSH-2.0-OpenSSH_9.6\r\n\r\n",
		"no gzip": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n{\"choices\":[{}]}    ",
	} {
		client, stop := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, raw)
			_ = conn.Close()
		}, provider.Settings{})
		_, err := client.Post(t.Context(), &llm.Request{}, nil, nil)
		if llm.KindOf(err) != llm.KindMalformed {
			t.Errorf("%s: %v", name, err)
		}
		stop()
	}
}

func serve(t *testing.T, handler http.HandlerFunc, settings provider.Settings) (*provider.Client, func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(l) }()
	client, err := provider.NewClient(provider.Options{Name: "m", URL: "http://" + l.Addr().String() + "/v1", Settings: settings}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client, func() {
		client.CloseIdleConnections()
		_ = server.Close()
	}
}

// proxyChild names the variable that makes this test binary ask once, because a
// process reads the environment's proxy only once.
const proxyChild = "SPATIALSTALE_TEST_PROXY_CHILD"

func askThroughProxy() {
	client, err := provider.NewClient(provider.Options{Name: "m", URL: "http://provider.test/v1/chat"}, nil)
	if err == nil {
		_, err = client.Post(context.Background(), &llm.Request{}, []byte("{}"), nil)
	}
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		return
	}
	_, _ = os.Stdout.WriteString("answered")
}

// Would fail if the proxy of the environment were not used, or its password
// shown.
func TestProxyOfTheEnvironment(t *testing.T) {
	var asked, auth string
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked, auth = r.URL.String(), r.Header.Get("Proxy-Authorization")
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(proxy string) string {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), proxyChild+"=1", "HTTP_PROXY="+proxy, "http_proxy="+proxy, "NO_PROXY=", "no_proxy=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := run("http://me:hidden-word@" + l.Addr().String()); out != "answered" || asked != "http://provider.test/v1/chat" || !strings.HasPrefix(auth, "Basic ") {
		t.Errorf("%s; the proxy was asked for %q with %q", out, asked, auth)
	}
	for _, proxy := range []string{"http://me:hidden-word@127.0.0.1:1", "http://me:hidden-word@127.0.0.1:notaport"} {
		if out := run(proxy); strings.Contains(out, "hidden-word") || !strings.Contains(out, "prox") && !strings.Contains(out, "no connection") {
			t.Errorf("%s: %s", proxy, out)
		}
	}
}
