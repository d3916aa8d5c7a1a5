package ollama_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/ollama"
)

// A fake is a server with a tokenizer of its own: a token for each word, digit
// and other sign.
type fake struct {
	context int  // tokens that it really keeps, whatever is asked; 0 for what is asked
	refuses bool // it knows "truncate"
	partial bool // its counts leave out what it has cached
	silent  bool // it leaves the count out where all was cached
	told    bool // it says how much was cached

	mu      sync.Mutex
	seen    []string // prompts
	windows []int    // asked for
	probes  int
}

func count(text string) int {
	n := 0
	word := false
	for _, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if r > ' ' && !(letter && word) {
			n++
		}
		word = letter
	}
	return n
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Content string }
		Truncate *bool
		Options  struct {
			Ctx     int `json:"num_ctx"`
			Predict int `json:"num_predict"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.windows = append(f.windows, q.Options.Ctx)
	prompt := q.Messages[0].Content
	if q.Options.Predict == 1 {
		f.probes++
	}
	size := f.context
	if size == 0 {
		size = q.Options.Ctx
	}
	n := count(prompt)
	if n > size {
		if f.refuses && q.Truncate != nil && !*q.Truncate {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"the input length exceeds the context length"}`)
			return
		}
		n = size
	}
	cached := 0
	for _, s := range f.seen {
		i := 0
		for i < len(s) && i < len(prompt) && s[i] == prompt[i] {
			i++
		}
		cached = max(cached, min(n, count(prompt[:i])))
	}
	f.seen = append(f.seen, prompt)
	a := map[string]any{
		"model": "m", "message": map[string]any{"role": "assistant", "content": "UP"}, "done": true, "done_reason": "stop",
		"prompt_eval_count": n, "eval_count": 2,
	}
	switch {
	case f.partial:
		a["prompt_eval_count"] = max(1, n-cached)
		if f.silent && cached == n {
			delete(a, "prompt_eval_count")
		}
	case f.told:
		a["prompt_eval_cached_count"] = cached
	}
	_ = json.NewEncoder(w).Encode(a)
}

// audit is a prompt with so many entries behind a beginning that all share.
func audit(entries, batch int) *llm.Request {
	var b strings.Builder
	b.WriteString(strings.Repeat("Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F (0,4)=H (0,5)=F (0,6)=F (0,7)=F\n", 8))
	for i := range entries {
		fmt.Fprintf(&b, "[mem_%03d] SAFE at (%d,%d): Frozen ice - safe to walk\n", batch*entries+i, i/8, i%8)
	}
	return &llm.Request{Slot: "window0/batch0", Parts: []llm.Part{llm.Text(b.String())}, Params: llm.Params{MaxTokens: new(1000)}}
}

// Would fail if a prompt that was cut became a result, or if one that was only
// cached were refused.
func TestCutPrompt(t *testing.T) {
	for _, c := range []struct {
		name   string
		server *fake
		cut    string // words of the error; "" for a reply
		tokens bool   // the last reply's input tokens are known
		probes int
	}{
		{"whole", &fake{}, "", true, 0},
		{"whole, cached", &fake{told: true}, "", true, 0},
		{"cut", &fake{context: 256}, "the server cut the prompt: it read 256 tokens of at least", false, 3},
		{"cut, and the cache is told", &fake{context: 256, told: true}, "the server cut the prompt: it read 256 tokens of at least", false, 0},
		{"refused", &fake{context: 256, refuses: true}, "HTTP 400: the input length exceeds the context length", false, 0},
		{"counts without the cache", &fake{partial: true}, "", false, 1},
		{"counts without the cache, or nothing", &fake{partial: true, silent: true}, "", false, 1},
		{"cut, counts without the cache", &fake{partial: true, context: 256}, "the server cut the prompt: it read", false, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := client(t, ollama.Options{}, c.server.ServeHTTP)
			var last *llm.Reply
			for _, batch := range []int{0, 1, 1} {
				reply, err := m.Generate(t.Context(), audit(20, batch))
				if (err != nil) != (c.cut != "") || err != nil && (llm.KindOf(err) != llm.KindBadRequest || !strings.Contains(err.Error(), c.cut)) {
					t.Fatalf("batch %d: %v, %v", batch, reply, err)
				}
				last = reply
			}
			if c.server.probes != c.probes {
				t.Errorf("%d probes, want %d", c.server.probes, c.probes)
			}
			if last != nil && (last.Usage.InputTokens != nil) != c.tokens {
				t.Errorf("input tokens %v", last.Usage.InputTokens)
			}
		})
	}
}

// A server that leaves the cache out and cuts only what is longer: the shorter
// prompts were seen to fit, the longer one was not.
func TestCutLater(t *testing.T) {
	server := &fake{partial: true, context: 1500}
	m := client(t, ollama.Options{}, server.ServeHTTP)
	for range 3 {
		if _, err := m.Generate(t.Context(), audit(10, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if server.probes != 1 {
		t.Errorf("%d probes", server.probes)
	}
	if _, err := m.Generate(t.Context(), audit(200, 0)); err == nil || !strings.Contains(err.Error(), "cut the prompt") {
		t.Error(err)
	}
}

// A prompt that fills the context is cut, though the count alone could be that
// of a whole one.
func TestFilledContext(t *testing.T) {
	req := audit(20, 0)
	whole := count(req.Parts[0].Text())
	server := &fake{}
	m := client(t, ollama.Options{Settings: provider.Settings{ExtraBody: json.RawMessage(fmt.Sprintf(`{"options":{"num_ctx":%d}}`, whole-20))}}, server.ServeHTTP)
	_, err := m.Generate(t.Context(), req)
	if llm.KindOf(err) != llm.KindBadRequest || !strings.Contains(err.Error(), "cut the prompt") {
		t.Error(err)
	}
}

// Would fail if many calls that suspect the same each asked once more.
func TestProbedOnce(t *testing.T) {
	server := &fake{partial: true}
	m := client(t, ollama.Options{}, server.ServeHTTP)
	if _, err := m.Generate(t.Context(), audit(20, 0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := m.Generate(t.Context(), audit(20, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if server.probes != 1 {
		t.Errorf("%d probes", server.probes)
	}
}

// Would fail if the context did not hold a prompt and its reply, changed from
// call to call, or shrank.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		server := &fake{}
		m := client(t, ollama.Options{Settings: provider.Settings{Now: func() time.Time { return time.Unix(1, 0) }}}, server.ServeHTTP)
		largest := 0
		for i := range rapid.IntRange(1, 6).Draw(rt, "calls") {
			req := audit(rapid.IntRange(0, 300).Draw(rt, "entries"), 0)
			req.Params.MaxTokens = new(rapid.IntRange(1, 9000).Draw(rt, "cap"))
			need := count(req.Parts[0].Text()) + *req.Params.MaxTokens
			if rapid.Bool().Draw(rt, "thinks") {
				req.Params.MaxTokens, req.Params.Thinking = nil, new(3000)
				need = count(req.Parts[0].Text()) + 8192 + 3000
			}
			if _, err := m.Generate(t.Context(), req); err != nil {
				rt.Fatal(err)
			}
			size := server.windows[i]
			if size < need || size&(size-1) != 0 || size < largest {
				rt.Fatalf("window %d for %d tokens after one of %d", size, need, largest)
			}
			largest = size
		}
	})
	var file bytes.Buffer
	img := image.NewGray(image.Rect(0, 0, 2, 2))
	if err := png.Encode(&file, img); err != nil {
		t.Fatal(err)
	}
	small := llm.Image(img, file.Bytes())
	server := &fake{}
	m := client(t, ollama.Options{}, server.ServeHTTP)
	for _, c := range []struct {
		req  *llm.Request
		want int
	}{
		{&llm.Request{Parts: []llm.Part{llm.Text("Which way?")}, Params: llm.Params{MaxTokens: new(10)}}, 4096},
		{audit(64, 0), 4096}, // a whole store and its reply of at most 1,000 tokens
		{&llm.Request{Parts: []llm.Part{llm.Text("Which way?")}}, 16384}, // a reply without a cap may be long
		{&llm.Request{Parts: []llm.Part{small, small, small, small}}, 32768},
		{&llm.Request{Parts: []llm.Part{llm.Text("Which way?")}, Params: llm.Params{MaxTokens: new(10)}}, 32768},
	} {
		if _, err := m.Generate(t.Context(), c.req); err != nil {
			t.Fatal(err)
		}
		if got := server.windows[len(server.windows)-1]; got != c.want {
			t.Errorf("window %d, want %d", got, c.want)
		}
	}
}
