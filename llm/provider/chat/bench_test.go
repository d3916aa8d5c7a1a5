package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

// The server takes 200 ms an answer, as a quick provider does; 500 calls are
// made with 50 in flight. ms/round is to be compared between BenchmarkCalls and
// BenchmarkBareCalls: what ours adds to a bare loop of net/http is our cost.
// conns is how many connections were opened, peak-MiB the most that the heap
// held, server and all.
const (
	benchDelay    = 200 * time.Millisecond
	benchCalls    = 500
	benchInFlight = 50
)

func benchServer(b *testing.B) *httptest.Server {
	b.Helper()
	var opened atomic.Int64
	answer := []byte(`{"model":"m","choices":[{"message":{"content":"` + strings.Repeat("word ", 200) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":250}}`)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(benchDelay)
		_, _ = w.Write(answer)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	b.Cleanup(func() {
		b.ReportMetric(float64(opened.Load()), "conns")
		server.Close()
	})
	return server
}

// benchPrompt is about as long as an audit's.
func benchPrompt() string {
	return strings.Repeat("[mem_021] SAFE at (2,5): Frozen ice - safe to walk\n", 64)
}

func benchRounds(b *testing.B, calls int, call func() error) {
	b.ReportAllocs()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() { peak <- peakHeap(done) }()
	for b.Loop() {
		var wg sync.WaitGroup
		slots := make(chan struct{}, benchInFlight)
		for range calls {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := call(); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	close(done)
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/round")
	b.ReportMetric(float64(<-peak)/(1<<20), "peak-MiB")
}

// peakHeap returns the most bytes that objects took on the heap until done.
func peakHeap(done <-chan struct{}) uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var most uint64
	for {
		metrics.Read(sample)
		most = max(most, sample[0].Value.Uint64())
		select {
		case <-done:
			return most
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func BenchmarkCalls(b *testing.B) { benchOurs(b, benchCalls) }

// BenchmarkManyCalls makes ten times as many: its peak should be that of
// BenchmarkCalls, and its connections as few.
func BenchmarkManyCalls(b *testing.B) { benchOurs(b, 10*benchCalls) }

func benchOurs(b *testing.B, calls int) {
	server := benchServer(b)
	client, err := chat.New(chat.Options{Name: "m", Model: "m", URL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer client.CloseIdleConnections()
	m := llm.Retry(llm.Limit(client, llm.LimitOptions{}), llm.RetryOptions{})
	prompt := []llm.Part{llm.Text(benchPrompt())}
	benchRounds(b, calls, func() error {
		_, err := m.Generate(b.Context(), &llm.Request{Parts: prompt, Schema: actionSchema})
		return err
	})
}

func BenchmarkBareCalls(b *testing.B) {
	server := benchServer(b)
	transport := &http.Transport{MaxIdleConnsPerHost: benchInFlight}
	defer transport.CloseIdleConnections()
	web := &http.Client{Transport: transport}
	prompt := benchPrompt()
	benchRounds(b, benchCalls, func() error {
		body, err := json.Marshal(map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": prompt}}})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL, bytes.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := web.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer struct{ Choices []any }
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return err
		}
		if len(answer.Choices) != 1 {
			return fmt.Errorf("%d choices", len(answer.Choices))
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	})
}
