package method_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/method"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"
)

// TestMain is also the methods of the tests: the program starts itself again.
func TestMain(m *testing.M) {
	if behave := os.Getenv("METHOD_BEHAVES"); behave != "" {
		behaves[behave](bufio.NewScanner(os.Stdin))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// answer gives the verdict stale on every entry of a request.
func answer(line string) string {
	var q struct {
		ID      string
		Entries []struct {
			ID string `json:"memory_id"`
		}
	}
	if err := json.Unmarshal([]byte(line), &q); err != nil {
		return `{"error":"no request: ` + strings.ReplaceAll(err.Error(), `"`, `'`) + `"}`
	}
	out := map[string]any{"id": q.ID, "method": "mine 1.2"}
	var list []any
	for _, e := range q.Entries {
		list = append(list, map[string]any{"memory_id": e.ID, "verdict": "stale"})
	}
	out["judgments"] = list
	b, _ := json.Marshal(out)
	return string(b)
}

// behaves are ways in which a method can answer, by name.
var behaves = map[string]func(*bufio.Scanner){
	"well": func(in *bufio.Scanner) {
		for in.Scan() {
			fmt.Println(answer(in.Text()))
		}
	},
	"once": func(in *bufio.Scanner) { // then it ends
		in.Scan()
		fmt.Println(answer(in.Text()))
	},
	"dies": func(in *bufio.Scanner) {
		in.Scan()
		fmt.Fprintln(os.Stderr, "Traceback:\nValueError: no grid")
		os.Exit(3)
	},
	"late":        func(in *bufio.Scanner) { in.Scan(); time.Sleep(time.Minute) },
	"nonsense":    func(in *bufio.Scanner) { in.Scan(); fmt.Println("I think that mem_0 is stale") },
	"list":        func(in *bufio.Scanner) { in.Scan(); fmt.Println("[]") },
	"other, ends": func(in *bufio.Scanner) { in.Scan(); fmt.Println(`{"id":"another","judgments":[]}`) },
	"other": func(in *bufio.Scanner) { // and goes on
		for in.Scan() {
			fmt.Println(`{"id":"another","judgments":[]}`)
		}
	},
	"complains": func(in *bufio.Scanner) {
		in.Scan()
		fmt.Println(`{"error":"the model file is missing"}`)
	},
	"endless": func(in *bufio.Scanner) {
		in.Scan()
		fmt.Print(`{"judgments":"` + strings.Repeat("x", 5<<20))
		time.Sleep(time.Minute)
	},
	"twice": func(in *bufio.Scanner) {
		for in.Scan() {
			fmt.Println(answer(in.Text()))
			fmt.Println(answer(in.Text()))
		}
	},
	"deaf": func(*bufio.Scanner) { // it ends without reading
	},
}

func open(t *testing.T, behave string) *method.Model {
	t.Helper()
	t.Setenv("METHOD_BEHAVES", behave)
	patience := 30 * time.Second
	switch behave {
	case "late":
		patience = 200 * time.Millisecond
	case "other": // its answers must have come
		patience = 3 * time.Second
	}
	m, err := method.Open("auditor/mine", method.Config{Exec: []string{os.Args[0]}, Timeout: patience, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func audit(t *testing.T, m llm.Model) (*judge.Result, error) {
	a := &method.Auditor{Model: m, Grid: func() []string { return []string{"SF", "?G"} }}
	entries := []judge.Entry{{ID: "mem_0", Parts: []llm.Part{llm.Text("SAFE at (0,0)")}}, {ID: "mem_1", Parts: []llm.Part{llm.Text("DANGER at (0,1)")}}}
	return a.Audit(t.Context(), judge.Where{Trial: "t"}, entries, []llm.Part{llm.Text("Row 0: S F\n")})
}

// TestPrograms holds what becomes of every way to answer: a good one has its
// verdicts, and each bad one an error that says what it did.
func TestPrograms(t *testing.T) {
	for behave, want := range map[string]struct {
		kind  llm.Kind
		words string
	}{
		"well":        {},
		"once":        {},
		"twice":       {},
		"dies":        {llm.KindServer, "it ended (exit status 3): ValueError: no grid"},
		"late":        {llm.KindTimeout, "no answer in 200ms"},
		"nonsense":    {llm.KindMalformed, "not one JSON object"},
		"list":        {llm.KindMalformed, "not one JSON object"},
		"other":       {llm.KindTimeout, "no answer in 3s; timeout allows longer; its answer is to another request"},
		"other, ends": {llm.KindServer, "it ended (exit status 0); its answer is to another request"},
		"complains":   {llm.KindServer, "it says: the model file is missing"},
		"endless":     {llm.KindMalformed, "longer than 4 MB"},
		"deaf":        {llm.KindServer, "it ended"},
	} {
		t.Run(behave, func(t *testing.T) {
			m := open(t, behave)
			for range 2 { // whatever it did, it can be asked again
				res, err := audit(t, m)
				if want.kind != "" {
					if llm.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.words) || !strings.Contains(err.Error(), "auditor/mine at window0/method") {
						t.Fatalf("error %v, want %s with %q", err, want.kind, want.words)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range res.Verdicts {
					if v.Status != record.Stale || len(v.Repairs) > 0 {
						t.Errorf("%+v", v)
					}
				}
				if got := res.Replies[0].Outcome; got != judge.Answered {
					t.Errorf("outcome %s", got)
				}
			}
		})
	}
}

// TestRequest holds the protocol: what a method is sent, to the byte.
func TestRequest(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		io.WriteString(w, answer(got))
	}))
	defer server.Close()
	m, err := method.Open("auditor/mine", method.Config{HTTP: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := audit(t, m); err != nil {
		t.Fatal(err)
	}
	const want = `{"protocol":1,"id":"t/window0/method","type":"audit","entries":[{"memory_id":"mem_0","text":"SAFE at (0,0)"},{"memory_id":"mem_1","text":"DANGER at (0,1)"}],"observation":{"modality":"text","text":"Row 0: S F\n","grid":["SF","?G"]}}`
	if got != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
}

func TestService(t *testing.T) {
	var status atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := int(status.Load()); code != 0 {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			http.Error(w, "out of order", code)
			return
		}
		time.Sleep(time.Second)
	}))
	defer server.Close()
	m, err := method.Open("auditor/mine", method.Config{HTTP: server.URL, Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for code, want := range map[int32]llm.Kind{0: llm.KindTimeout, 500: llm.KindServer, 429: llm.KindServer, 404: llm.KindBadRequest, 302: llm.KindBadRequest} {
		status.Store(code)
		if _, err := audit(t, m); llm.KindOf(err) != want {
			t.Errorf("status %d: %v, want %s", code, err, want)
		}
	}
	server.Close()
	if _, err := audit(t, m); llm.KindOf(err) != llm.KindNetwork {
		t.Errorf("no server: %v", err)
	}
}

func TestNoProgram(t *testing.T) {
	if _, err := method.Open("auditor/mine", method.Config{Exec: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), `auditor/mine: the program "no-such-program" cannot be started`) {
		t.Errorf("error %v", err)
	}
}

// TestMemory: a memory is told what it is and what the method said of its state,
// is as an answer says from then on, and stays where an answer gives none. One
// that cannot be read fails its call, so that it is never kept.
func TestMemory(t *testing.T) {
	var got, reply string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		io.WriteString(w, reply)
	}))
	defer server.Close()
	model, err := method.Open("memory/mine", method.Config{HTTP: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	g, err := lake.Parse([]string{"SFFF", "FHFF", "FFFF", "FFFG"})
	if err != nil {
		t.Fatal(err)
	}
	m := &method.Memory{Model: model, Trial: "t", Observer: listing{}, Entries: []navigate.Entry{{ID: "mem_0", Text: "SAFE at (0,0)"}}}
	for i, c := range []struct{ reply, entries, words string }{
		{`{"entries":[{"memory_id":"a","text":"DANGER at (1,1)"}],"state":{"n":1}}`, `[{"memory_id":"a","text":"DANGER at (1,1)"}]`, ""},
		{`{}`, `[{"memory_id":"a","text":"DANGER at (1,1)"}]`, ""},
		{`{"entries":null}`, `[{"memory_id":"a","text":"DANGER at (1,1)"}]`, ""},
		{`{"entries":[{"memory_id":"","text":"x"}]}`, "", "entry 1 of its memory has no memory_id"},
		{`{"entries":[{"memory_id":"a","text":"x"},{"memory_id":"a","text":"y"}]}`, "", "entry 2 of its memory has the memory_id of another"},
		{`{"entries":[{"memory_id":"a","text":"x\n[mem_1] SAFE at (0,1)"}]}`, "", "one of several lines"},
		{`{"entries":"none"}`, "", "want a list"},
		{`{"entries":[]}`, `[]`, ""},
	} {
		reply = c.reply
		_, err := m.Remember(t.Context(), navigate.Moment{State: observe.State{Grid: g}, Step: i})
		if c.words != "" {
			if llm.KindOf(err) != llm.KindMalformed || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: error %v, want %q", c.reply, err, c.words)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := json.Marshal(m.Entries); string(b) != c.entries {
			t.Errorf("%s: the memory is %s, want %s", c.reply, b, c.entries)
		}
		if i == 1 {
			const want = `{"protocol":1,"id":"t/step2/memory","type":"remember","entries":[{"memory_id":"a","text":"DANGER at (1,1)"}],"observation":{"modality":"text","text":"the lake"},"cols":4,"goal":[3,3],"position":[0,0],"rows":4,"state":{"n":1},"step":2,"steps_left":21}`
			if got != want {
				t.Errorf("sent\n%s\nwant\n%s", got, want)
			}
		}
	}
}

// listing is an observer of no interest.
type listing struct{}

func (listing) Observe(*observe.State) ([]llm.Part, error) {
	return []llm.Part{llm.Text("the lake")}, nil
}
