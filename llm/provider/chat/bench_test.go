package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

// The server takes 200 ms an answer, as a quick provider does; 500 calls are
// made with 50 in flight. ms/round is to be compared between the two: what ours
// adds to a bare loop of net/http is our cost.
const (
	benchDelay    = 200 * time.Millisecond
	benchCalls    = 500
	benchInFlight = 50
)

func benchServer(b *testing.B) *httptest.Server {
	b.Helper()
	answer := []byte(`{"model":"m","choices":[{"message":{"content":"` + strings.Repeat("word ", 200) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":250}}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(benchDelay)
		_, _ = w.Write(answer)
	}))
	b.Cleanup(server.Close)
	return server
}

// benchPrompt is about as long as an audit's.
func benchPrompt() string {
	return strings.Repeat("[mem_021] SAFE at (2,5): Frozen ice - safe to walk\n", 64)
}

func benchRounds(b *testing.B, call func() error) {
	b.ReportAllocs()
	for b.Loop() {
		var wg sync.WaitGroup
		slots := make(chan struct{}, benchInFlight)
		for range benchCalls {
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
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/round")
}

func BenchmarkCalls(b *testing.B) {
	server := benchServer(b)
	client, err := chat.New(chat.Options{Name: "m", Model: "m", URL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer client.CloseIdleConnections()
	m := llm.Retry(llm.Limit(client, llm.LimitOptions{}), llm.RetryOptions{})
	prompt := []llm.Part{llm.Text(benchPrompt())}
	benchRounds(b, func() error {
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
	benchRounds(b, func() error {
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
