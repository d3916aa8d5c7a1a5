package conformance

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// batched are the protocols that have batches.
func batched(t *testing.T, test func(t *testing.T, p *protocol)) {
	each(t, func(t *testing.T, p *protocol) {
		if p.name == "chat" || p.name == "anthropic" {
			test(t, p)
		}
	})
}

// numbered is a request whose prompt has a length of its own, so that its answer
// says how many tokens it had.
func numbered(i int) *llm.Request {
	req := step()
	req.Trial, req.Slot, req.Batch = fmt.Sprint("trial", i), "window0/batch0", true
	req.Parts = append(req.Parts, llm.Text(strings.Repeat("   .", i+1)))
	return req
}

// session asks what the journal does not have, until all is answered or the time
// is up, as a run does that is then killed.
func (p *protocol) session(t *testing.T, base, notes string, journal []*llm.Reply, o provider.BatchOptions, life time.Duration) {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	if life > 0 {
		time.AfterFunc(life, kill)
	}
	o.Linger, o.Poll, o.Settle = 3*time.Millisecond, 3*time.Millisecond, 100*time.Millisecond
	all := provider.NewBatching(o)
	client := p.client(t, base, "", provider.Settings{Batching: all})
	defer client.CloseIdleConnections()
	if err := all.Open(ctx, notes); err != nil {
		t.Error(err)
		return
	}
	m := llm.Retry(client, llm.RetryOptions{Attempts: 50, Base: time.Microsecond, Cap: time.Microsecond})
	var wg sync.WaitGroup
	for i := range journal {
		if journal[i] == nil {
			wg.Go(func() {
				reply, err := m.Generate(ctx, numbered(i))
				if err != nil && ctx.Err() == nil {
					t.Errorf("call %d: %v", i, err)
				}
				journal[i] = reply
			})
		}
	}
	wg.Wait()
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// Whatever a provider does to batches (disorder, errors, calls that expire or
// that it forgets, answers to a submission that are lost), and whenever the
// program is killed, each call gets its own answer in the end, and none that the
// provider answered is asked again.
func TestBatches(t *testing.T) {
	batched(t, func(t *testing.T, p *protocol) {
		rapid.Check(t, func(rt *rapid.T) {
			draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
			faults, err := llmtest.Script(fmt.Sprintf("expire=0.%d,missing=0.%d,500=0.%d,first=2,seed=%d", draw("expired", 0, 3), draw("missing", 0, 3), draw("failed", 0, 3), draw("seed", 0, 1000)))
			if err != nil {
				rt.Fatal(err)
			}
			most := 0
			if p.name == "chat" {
				most = draw("account", 0, 1) * 8
			}
			s, err := llmtest.New(llmtest.Options{Faults: faults, BatchTime: time.Duration(draw("time", 0, 15)) * time.Millisecond, BatchMost: most})
			if err != nil {
				rt.Fatal(err)
			}
			var lose atomic.Int32
			lose.Store(int32(draw("lost", 0, 2)))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/batches") && lose.Add(-1) >= 0 {
					s.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				s.ServeHTTP(w, r)
			}))
			defer s.Close()
			defer server.Close()
			notes := filepath.Join(t.TempDir(), "batches.jsonl")
			journal := make([]*llm.Reply, draw("calls", 1, 12))
			o := provider.BatchOptions{Most: draw("file", 1, 12)}
			for range draw("kills", 0, 3) {
				p.session(t, server.URL, notes, journal, o, time.Duration(draw("life", 1, 25))*time.Millisecond)
				if draw("forgets", 0, 1) == 1 { // it was killed before it could note the last id
					text, err := os.ReadFile(notes)
					lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
					if last := lines[len(lines)-1]; err == nil && bytes.Contains(last, []byte(`"id"`)) {
						err = os.WriteFile(notes, append(bytes.Join(lines[:len(lines)-1], nil), last[:len(last)/2]...), 0o644)
					}
					if err != nil {
						rt.Fatal(err)
					}
				}
			}
			p.session(t, server.URL, notes, journal, o, 0)
			for i, reply := range journal {
				if reply == nil || reply.Text != `{"action": "RIGHT"}` || *reply.Usage.InputTokens-*journal[0].Usage.InputTokens != i || reply.Batch == "" {
					rt.Fatalf("call %d: %+v", i, reply)
				}
			}
			if n := llmtest.Count(s.Entries()); n.Distinct != len(journal) || n.Repeated != 0 {
				rt.Errorf("%d calls, and the server answered %+v", len(journal), n)
			}
		})
	})
}

// Would fail if a server without batches, or one that refuses the key, were asked
// for ever, or not named for what it is.
func TestBatchesRefused(t *testing.T) {
	for status, want := range map[int]llm.Kind{404: llm.KindUnknownModel, 405: llm.KindUnknownModel, 501: llm.KindUnknownModel, 401: llm.KindAuth, 429: llm.KindRateLimit} {
		batched(t, func(t *testing.T, p *protocol) {
			all := provider.NewBatching(provider.BatchOptions{Linger: time.Millisecond, Poll: time.Millisecond})
			m := p.serve(t, "", provider.Settings{Batching: all}, func(w http.ResponseWriter, _ *http.Request) { p.refuse(w, status, "no") })
			if err := all.Open(t.Context(), filepath.Join(t.TempDir(), "notes")); err != nil {
				t.Fatal(err)
			}
			_, err := m.Generate(t.Context(), numbered(0))
			if llm.KindOf(err) != want || !llm.Unbilled(err) {
				t.Errorf("status %d: %v", status, err)
			}
			if err := all.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Would fail if a file of notes that is not whole lost a batch silently.
func TestNotesOfBatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	for text, ok := range map[string]bool{
		"": true,
		`{"batch":1,"model":"m","calls":["a-b"]}` + "\n" + `{"batch":1,"id":"x"}` + "\n" + `{"batch":2,"mo`: true,
		`{"batch":2,"model":"m"}` + "\n": false,
		"not JSON\n":                     false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		all := provider.NewBatching(provider.BatchOptions{})
		err := all.Open(t.Context(), path)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "notes:1: ") {
			t.Errorf("%q: %v", text, err)
		}
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Would fail if calls that wait in a batch of one account were asked again, and
// paid for twice, in another, or never again when the batch is long gone.
func TestBatchesElsewhere(t *testing.T) {
	batched(t, func(t *testing.T, p *protocol) {
		listen := func() (*llmtest.Server, string) {
			s, _ := p.listen(t, llmtest.Options{BatchTime: time.Hour}, provider.Settings{})
			return s, strings.TrimSuffix(s.URL, "/v1")
		}
		_, here := listen()
		notes := filepath.Join(t.TempDir(), "notes")
		p.session(t, here, notes, make([]*llm.Reply, 1), provider.BatchOptions{}, 300*time.Millisecond)
		if text, err := os.ReadFile(notes); err != nil || !bytes.Contains(text, []byte(`"id"`)) {
			t.Fatalf("%s %v", text, err)
		}
		for _, c := range []struct {
			later time.Duration
			want  string
		}{{0, "knows no batch batch_1"}, {30 * 24 * time.Hour, "its batch goes on"}} {
			_, there := listen()
			all := provider.NewBatching(provider.BatchOptions{Linger: time.Millisecond, Poll: time.Millisecond, Now: func() time.Time { return time.Now().Add(c.later) }})
			m := p.client(t, there, "", provider.Settings{Batching: all})
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if err := all.Open(ctx, notes); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Generate(ctx, numbered(0)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("after %v: %v, want %q", c.later, err, c.want)
			}
			cancel()
			if err := all.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
