package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/serve"
)

// headerOnly is a PNG that says it has so many pixels, and holds none.
func headerOnly(width, height uint32) []byte {
	chunk := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)...)
	chunk = append(chunk, 8, 6, 0, 0, 0)
	file := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	file = append(file, chunk...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(chunk))
}

func small(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// images is a request whose observation has images.
func images(files ...[]byte) string {
	var list []string
	for _, file := range files {
		list = append(list, `"`+base64.StdEncoding.EncodeToString(file)+`"`)
	}
	return `{"memories": [{"text": "dog is here"}], "observation": {"text": "dog is gone", "images": [` + strings.Join(list, ",") + `]}}`
}

// Whatever is sent, the answer must say what is wrong with it, and the next
// audit must be answered.
func TestHostileBodies(t *testing.T) {
	s := start(t, serve.Options{Limits: serve.Limits{Memories: 50, Observation: 1000, Images: 2, ImageBytes: 1000, ImagePixels: 10_000}})
	ok := small(t)
	entry := func(member string) string {
		return `{"memories": [{"text": "x", ` + member + `}], "observation": {"text": "x"}}`
	}
	for _, c := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"nothing", "", 400, "not JSON"},
		{"no JSON", "hello", 400, "not JSON: invalid character 'h'"},
		{"cut JSON", farm[:60], 400, "not JSON: unexpected end"},
		{"more behind it", farm + "{}", 400, "not JSON"},
		{"a nesting of 10,000", strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), 400, "nested deeper than 32 levels"},
		{"a nesting of 10,000 in an entry", entry(`"id": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)), 400, "nested deeper than 32 levels"},
		{"invalid UTF-8", entry("\"id\": \"\xff\""), 400, "not valid UTF-8"},
		{"an overlong NUL", entry("\"id\": \"\xc0\x80\""), 400, "not valid UTF-8"},
		{"a control character", entry("\"id\": \"\x07\""), 400, "not JSON: invalid character"},
		{"an escaped control character", entry(`"id": "a\u0007b"`), 422, "memory 1: its id has the control character U+0007"},
		{"one of C1", entry(`"kind": "a\u0085b"`), 422, "memory 1: its kind has the control character U+0085"},
		{"a claimed one", entry(`"claims": {"replaced_by": "\u0000"}`), 422, "memory 1: its replaced_by has the control character U+0000"},
		{"a long id", entry(`"id": "` + strings.Repeat("x", 600) + `"`), 422, "validation failed"},
		{"too many entries", `{"memories": [` + strings.Repeat(`{},`, 50) + `{}], "observation": {"text": "x"}}`, 422, "51 memories; at most 50"},
		{"a long observation", `{"memories": [], "observation": {"text": "` + strings.Repeat("x", 990) + `", "facts": {"key": "a long value"}}}`, 422, "the observation has 1005 bytes; at most 1000"},
		{"no observation", `{"memories": []}`, 422, "validation failed"},
		{"an empty observation", `{"memories": [], "observation": {}}`, 422, "the observation is empty"},
		{"no list", `{"memories": {}, "observation": {"text": "x"}}`, 422, "validation failed"},
		{"null", "null", 400, "one JSON object"},
		{"a list", "[" + farm + "]", 400, "one JSON object"},
		{"a number too large", `{"memories": [], "observation": {"text": "x"}, "max_removed": 1e400}`, 400, ""},
		{"a date that is none", entry(`"claims": {"expires": "tomorrow"}`), 422, "validation failed"},
		{"images that are fine", images(ok, ok), 200, ""},
		{"too many images", images(ok, ok, ok), 422, "at most 2 images"},
		{"images of entries as well", strings.Replace(images(ok, ok), `"dog is here"`, `"dog is here", "images": ["`+base64.StdEncoding.EncodeToString(ok)+`"]`, 1), 422, "at most 2 images"},
		{"an image of many pixels", images(headerOnly(60_000, 60_000)), 422, "an image of 60000×60000 pixels; at most 10000 are taken, all images together"},
		{"an image of as many as can be said", images(headerOnly(1<<31-1, 1<<31-1)), 422, "an image "},
		{"a long image", images(headerOnly(1<<31-1, 1)), 422, "an image of 2147483647×1 pixels"},
		{"images of many pixels together", images(headerOnly(100, 60), headerOnly(100, 60)), 422, "an image of 100×60 pixels"},
		{"many values", `{"memories": [` + strings.Repeat("1,", 1<<20) + `1], "observation": {"text": "x"}}`, 400, "has more than 1000 values in one list or object"},
		{"many lists", `{"memories": [` + strings.Repeat("[1,1],", 900) + `1], "observation": {"text": "x"}}`, 400, "has more than 1662 values"},
		{"many that are wrong", `{"memories": [` + strings.Repeat("1,", 200) + `1], "observation": {"text": "x"}}`, 422, "201 memories; at most 50"},
		{"some that are wrong", `{"memories": [` + strings.Repeat("1,", 40) + `1], "observation": {"text": "x"}}`, 422, "validation failed"},
		{"many members", entry(strings.Repeat(`"x": 1, `, 1) + `"images": [` + strings.Repeat("1,", 300) + `1]`), 422, "validation failed"},
		{"a fact that is a number", `{"memories": [], "observation": {"facts": {"port": 80}}}`, 422, "validation failed"},
		{"an image without pixels", images(headerOnly(0, 7)), 422, "not a readable PNG"},
		{"an image that is cut", images(ok[:40]), 422, "not a readable PNG"},
		{"an image of many bytes", images(append(ok, make([]byte, 1000)...)), 422, "bytes; at most 1000"},
		{"an image that is a text", images([]byte("hello")), 422, "not a readable PNG, JPEG or GIF file"},
		{"an image that is no base64", `{"memories": [], "observation": {"images": ["%%%"]}}`, 422, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.audit(t, alice, c.body)
			if r.status != c.status || c.status != 200 && !strings.Contains(r.detail(), c.says) || r.status != 200 && strings.HasPrefix(r.detail(), "no problem") {
				t.Errorf("%d %s; want %d and %q", r.status, r.body, c.status, c.says)
			}
			if len(r.body) > 2000 {
				t.Errorf("an answer of %d bytes", len(r.body))
			}
			if r := s.audit(t, alice, farm); r.status != 200 {
				t.Errorf("afterwards: %d %s", r.status, r.body)
			}
		})
	}
}

// Bodies that are too large, too slow, cut off or of another kind must be
// refused, however they come.
func TestHostileClients(t *testing.T) {
	s := start(t, serve.Options{Limits: serve.Limits{BodyTime: 300 * time.Millisecond}})
	megabytes := 100
	if testing.Short() {
		megabytes = 10
	}
	large := `{"memories": [{"text": "` + strings.Repeat("x", megabytes<<20) + `"}], "observation": {"text": "x"}}`
	never, end := io.Pipe()
	defer end.Close()
	whole := func(r *http.Request) {}
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		status int
	}{
		"a hundred megabytes":             {large, whole, 413},
		"a hundred megabytes, in chunks":  {large, func(r *http.Request) { r.ContentLength = -1; r.Body = io.NopCloser(r.Body) }, 413},
		"a hundred megabytes, announced":  {large, func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, 413},
		"a form":                          {farm, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415},
		"no kind":                         {farm, func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		"compressed":                      {farm, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, 415},
		"a hundred megabytes to MCP":      {large, func(r *http.Request) { r.URL.Path = "/mcp" }, 413},
		"a body on its way":               {"", func(r *http.Request) { r.Body = never; r.ContentLength = 100 }, 408},
		"a method that there is not":      {"", func(r *http.Request) { r.Method = http.MethodDelete }, 404},
		"a request's id that is a script": {farm, func(r *http.Request) { r.Header.Set("X-Request-Id", "<script>") }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/audit", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+alice)
			req.Header.Set("Content-Type", "application/json")
			c.change(req)
			resp, err := http.DefaultClient.Do(req)
			switch {
			case err != nil && c.status == 413: // refused before all was sent; that the client saw the words is not sure then
			case err != nil:
				t.Fatal(err)
			default:
				resp.Body.Close()
				if resp.StatusCode != c.status || resp.Header.Get("X-Request-Id") == "<script>" {
					t.Errorf("%d %v", resp.StatusCode, resp.Header)
				}
			}
			if r := s.audit(t, alice, farm); r.status != 200 {
				t.Errorf("afterwards: %d %s", r.status, r.body)
			}
		})
	}
	// Clients that say no more, and such as vanish.
	var conns []net.Conn
	for i := range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 99\r\n", alice)
		if i%2 == 0 {
			fmt.Fprint(conn, "\r\n{")
		}
	}
	if r := s.do(t, bob, http.MethodPost, "/v1/audit", farm, nil); r.status != 200 {
		t.Errorf("meanwhile: %d %s", r.status, r.body)
	}
	for _, conn := range conns {
		conn.Close()
	}
	if r := s.audit(t, alice, farm); r.status != 200 {
		t.Errorf("afterwards: %d %s", r.status, r.body)
	}
}

// A client that does not take its answer must not keep others from theirs.
func TestAnswerNotTaken(t *testing.T) {
	s := start(t, serve.Options{Limits: serve.Limits{Audits: 1, BodyTime: 500 * time.Millisecond}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	body := `{"model": "none", "memories": [{"text": "` + strings.Repeat("x", 7<<20) + `"}], "observation": {"text": "x"}}`
	go fmt.Fprintf(conn, "POST /v1/audit HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", alice, len(body), body)
	for !strings.Contains(s.do(t, alice, http.MethodGet, "/metrics", "", nil).body, `spatialstale_audits_total{token="alice",model="none",outcome="audited"} 1`) {
		time.Sleep(time.Millisecond)
	}
	if r := s.audit(t, bob, farm); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if log := s.log.String(); strings.Contains(log, "a fault of the program") || strings.Count(log, "status=499") != 1 {
		t.Error(log)
	}
}

// A service that is full must say so at once, and when to come again.
func TestBusy(t *testing.T) {
	for name, c := range map[string]struct {
		limits serve.Limits
		status int
	}{
		"a token that asks for too much": {serve.Limits{Audits: 5, AuditsEach: 1, WaitingEach: 1}, 429},
		"all together":                   {serve.Limits{Audits: 1, Waiting: 1}, 503},
		"no turn in time":                {serve.Limits{Audits: 1, Time: 300 * time.Millisecond}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			m := newHanging()
			c.limits.Time = max(c.limits.Time, 2*time.Second)
			if name == "no turn in time" {
				c.limits.Time = 300 * time.Millisecond
			}
			s := start(t, serve.Options{Limits: c.limits, Models: []serve.Model{listed("hanging", m)}})
			var wg sync.WaitGroup
			statuses := make(chan *reply, 5)
			for range 5 {
				wg.Go(func() { statuses <- s.audit(t, alice, farm) })
			}
			wg.Wait()
			refused := 0
			for range 5 {
				switch r := <-statuses; {
				case r.status == c.status && r.header.Get("Retry-After") != "":
					refused++
				case r.status != 504 && r.status != 503 || r.header.Get("Retry-After") == "":
					t.Errorf("%d %s", r.status, r.body)
				}
			}
			if refused == 0 {
				t.Error("nobody was refused")
			}
		})
	}
}

// priced is a model whose calls count against a budget.
func priced(m audit.Model) serve.Model {
	p := &price.Price{Input: 1, Output: 1}
	return serve.Model{Name: "priced", Price: p, Open: func(b *price.Budget) (audit.Model, error) {
		return llm.Capped(llm.Budgeted(m, b.For("priced", p, price.Terms{})), llm.CapOptions{}), nil
	}}
}

// What one token has spent must be known to it, end its own audits only, and not
// those that cost nothing.
func TestBudget(t *testing.T) {
	cent, _ := price.FromDollars(0.01)
	poor := account(t, "poor", alice)
	poor.Budget = &cent
	s := start(t, serve.Options{Models: []serve.Model{priced(&audittest.Model{Rule: audittest.Gone})}, Accounts: []serve.Account{poor, account(t, "rich", bob)}})
	ask := func(i int) string { return strings.ReplaceAll(farm, "here", fmt.Sprint("here", i)) }
	last := 0
	for i := 1; ; i++ {
		r := s.audit(t, alice, ask(i))
		if r.status == 402 {
			if !strings.Contains(r.detail(), "what this token may spend") {
				t.Errorf("%s", r.body)
			}
			break
		}
		if r.status != 200 || i > 100 {
			t.Fatalf("%d: %d %s", i, r.status, r.body)
		}
		var got serve.AuditAnswer
		r.into(t, &got)
		if got.Usage.CostUSD == nil || *got.Usage.CostUSD <= 0 {
			t.Fatalf("%+v", got.Usage)
		}
		last = i
	}
	var info serve.AccountAnswer
	s.do(t, alice, http.MethodGet, "/v1/account", "", nil).into(t, &info)
	if info.SpentUSD <= 0 || info.SpentUSD > 0.01 || *info.BudgetUSD != 0.01 || last == 0 {
		t.Errorf("after %d audits: %+v", last, info)
	}
	for name, body := range map[string]string{"remembered": ask(1), "by facts": `{"memories": [{"text": "port: 80"}], "observation": {"facts": {"port": "81"}}}`} {
		if r := s.audit(t, alice, body); r.status != 200 || !strings.Contains(r.body, `"stale":1`) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if r := s.audit(t, bob, ask(1000)); r.status != 200 {
		t.Errorf("another token: %d %s", r.status, r.body)
	}
}

// One token must learn nothing of what another has asked: neither from the cache,
// nor with a request's id that is the other's.
func TestApart(t *testing.T) {
	m := &audittest.Model{Rule: audittest.Gone}
	only := account(t, "only", alice+"2")
	only.Models = []string{"gone"}
	s := start(t, serve.Options{Models: []serve.Model{listed("gone", m), listed("other", m)}, Accounts: []serve.Account{account(t, "alice", alice), account(t, "bob", bob), only}})
	named := func(r *http.Request) { r.Header.Set("X-Request-Id", "shared") }
	var first, second serve.AuditAnswer
	s.do(t, alice, http.MethodPost, "/v1/audit", farm, named).into(t, &first)
	s.do(t, bob, http.MethodPost, "/v1/audit", farm, named).into(t, &second)
	if first.Usage.Calls != 1 || second.Usage.Calls != 1 || second.Verdicts[0].Cached || first.RequestID != "shared" {
		t.Errorf("%+v\n%+v", first, second)
	}
	// Nor one model what another has said.
	s.audit(t, alice, strings.Replace(farm, `{"memories"`, `{"model": "other", "memories"`, 1)).into(t, &second)
	if second.Usage.Calls != 1 {
		t.Errorf("another model: %+v", second)
	}
	if r := s.audit(t, alice+"2", strings.Replace(farm, `{"memories"`, `{"model": "other", "memories"`, 1)); r.status != 422 {
		t.Errorf("a model that is not for it: %d %s", r.status, r.body)
	}
	if r := s.do(t, alice+"2", http.MethodGet, "/v1/models", "", nil); strings.Contains(r.body, "other") {
		t.Errorf("%s", r.body)
	}
}

// A failing model must be told of in a word; a provider's own words are for the
// operator.
func TestModelFails(t *testing.T) {
	for kind, want := range map[llm.Kind]int{llm.KindAuth: 502, llm.KindRateLimit: 503, llm.KindServer: 503, llm.KindNoServer: 502} {
		m := &audittest.Model{Rule: audittest.Gone, Fail: func(_ context.Context, _ int64) error {
			return &llm.Error{Kind: kind, Model: "m", Message: "from 10.0.0.7", RetryAfter: time.Minute, Err: context.DeadlineExceeded}
		}}
		s := start(t, serve.Options{Models: []serve.Model{listed("failing", m)}})
		r := s.audit(t, alice, farm)
		if r.status != want || strings.Contains(r.body, "10.0.0.7") || !strings.Contains(r.detail(), string(kind)) || want == 503 && r.header.Get("Retry-After") != "60" {
			t.Errorf("%s: %d %v %s", kind, r.status, r.header, r.body)
		}
		if kind == llm.KindServer && strings.Contains(r.detail(), "took longer") {
			t.Errorf("a call that was too slow is taken for the audit: %s", r.body)
		}
		if !strings.Contains(s.log.String(), "10.0.0.7") {
			t.Errorf("the operator is not told: %s", s.log)
		}
	}
}

// A forgetful model does not keep what it was asked.
type forgetful struct{}

func (forgetful) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	return (&audittest.Model{Rule: audittest.Gone, Delay: 20 * time.Millisecond}).Generate(ctx, req)
}

// 500 audits at once must all be answered, and leave nothing behind.
func TestManyAtOnce(t *testing.T) {
	s := start(t, serve.Options{Models: []serve.Model{listed("slow", forgetful{})}, Limits: serve.Limits{Cache: 100}})
	var entries []string
	for i := range 30 {
		entries = append(entries, fmt.Sprintf(`{"text": "dog%d is here and %s"}`, i, strings.Repeat("there ", 50)))
	}
	body := `{"memories": [` + strings.Join(entries, ",") + `], "observation": {"text": "dog7 is gone", "facts": {"n": "%d"}}}`
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 500}}
	defer client.CloseIdleConnections()
	runtime.GC() // what other tests left
	audits := 500
	if testing.Short() { // under the race detector, ten times as slow
		audits = 50
	}
	var peak uint64
	round := func(n int) (left uint64) {
		var wg sync.WaitGroup
		for i := range audits {
			wg.Go(func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/audit", strings.NewReader(fmt.Sprintf(body, 1000*n+i)))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+[]string{alice, bob}[i%2])
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || !bytes.Contains(b, []byte(`"stale":1`)) {
					t.Errorf("%d %s %v", resp.StatusCode, b, err)
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
			select {
			case <-done:
				client.CloseIdleConnections()
				runtime.GC()
				runtime.ReadMemStats(&now)
				return now.HeapAlloc
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	first := round(0)
	var last uint64
	for n := range 2 {
		last = round(n + 1)
	}
	t.Logf("left after the first round %d kB, after the last %d kB; at most %d kB", first>>10, last>>10, peak>>10)
	if last > first+8<<20 {
		t.Errorf("memory grows: %d kB, then %d kB", first>>10, last>>10)
	}
	if peak > 256<<20 {
		t.Errorf("%d MB at most", peak>>20)
	}
}

// A file of tokens must be read as it is meant, and what is wrong with one said
// without showing it.
func TestReadAccounts(t *testing.T) {
	read := func(text string) ([]serve.Account, error) {
		path := filepath.Join(t.TempDir(), "tokens.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return serve.ReadAccounts(path)
	}
	a, b := account(t, "alice", alice), account(t, "bob", bob)
	got, err := read("tokens:\n  - {name: alice, token: " + alice + ", budget: 2.5, models: [fast]}\n  - {name: bob, sha256: " + hex.EncodeToString(b.Token[:]) + ", operator: true}\n")
	if err != nil || len(got) != 2 || got[0].Token != a.Token || *got[0].Budget != 2500*price.Dollar/1000 || got[0].Models[0] != "fast" || got[1].Token != b.Token || !got[1].Operator || got[1].Budget != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                           "no token",
		"tokens: []":                 "no token",
		"tokens:\n  - {name: alice}": "either token or sha256",
		"tokens:\n  - {name: alice, token: secret}":                    "at least 16",
		"tokens:\n  - {name: alice, sha256: abc}":                      "64 hexadecimal digits",
		"tokens:\n  - {name: alice, token: " + alice + ", budget: -1}": "from 0 to a million",
		"tokens:\n  - {name: alice, tokn: " + alice + "}":              "tokn",
		"tokens: " + alice: "",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), alice) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	models := []serve.Model{listed("gone", &audittest.Model{Rule: audittest.Gone})}
	for name, list := range map[string][]serve.Account{
		"a name twice":  {a, {Name: "alice", Token: b.Token}},
		"a token twice": {a, {Name: "bob", Token: a.Token}},
		"a path":        {{Name: "../alice", Token: a.Token}},
		"another model": {{Name: "alice", Token: a.Token, Models: []string{"x"}}},
	} {
		if _, err := serve.New(serve.Options{Models: models, Accounts: list}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
