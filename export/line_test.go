package export

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/record"
)

// What follows says the format a second time, in the words of encoding/json.
// The two must agree on any record.

type instanceLine struct {
	Seed      int                  `json:"seed"`
	Regime    string               `json:"regime"`
	Rows      []string             `json:"rows"`
	RowsAfter []string             `json:"rows_after"`
	Events    []record.Event       `json:"events"`
	Memory    []record.MemoryEntry `json:"memory"`
}

type trialLine struct {
	Trial        string              `json:"trial"`
	Task         string              `json:"task"`
	Model        string              `json:"model"`
	Modality     string              `json:"modality"`
	Regime       string              `json:"regime"`
	Seed         int                 `json:"seed"`
	Strategy     string              `json:"strategy"`
	Batch        int                 `json:"batch"`
	Framing      string              `json:"framing"`
	Episode      int                 `json:"episode"`
	Outcome      string              `json:"outcome"`
	Reward       *int                `json:"reward"`
	Steps        *int                `json:"steps"`
	TP           int                 `json:"tp"`
	FP           int                 `json:"fp"`
	FN           int                 `json:"fn"`
	TN           int                 `json:"tn"`
	Unanswered   int                 `json:"unanswered"`
	Precision    *float64            `json:"precision"`
	Recall       *float64            `json:"recall"`
	F1           *float64            `json:"f1"`
	Death        *record.DeathRecord `json:"death"`
	Fallbacks    int                 `json:"fallbacks"`
	DroppedFlips int                 `json:"dropped_flips"`
	Rows         int                 `json:"rows"`
	Cols         int                 `json:"cols"`
	Error        *string             `json:"error"`
}

type judgmentLine struct {
	Trial      string     `json:"trial"`
	Window     int        `json:"window"`
	Step       int        `json:"step"`
	MemoryID   string     `json:"memory_id"`
	Pos        record.Pos `json:"pos"`
	Claim      string     `json:"claim"`
	Truth      bool       `json:"truth"`
	Verdict    string     `json:"verdict"`
	Score      *float64   `json:"score"`
	Confidence *float64   `json:"confidence"`
	Reason     string     `json:"reason"`
	Repaired   bool       `json:"repaired"`
	Repairs    []string   `json:"repairs"`
	Stale      *float64   `json:"stale_logprob"`
	Valid      *float64   `json:"valid_logprob"`
	Auditor    string     `json:"auditor"`
}

type stepLine struct {
	Trial    string        `json:"trial"`
	T        int           `json:"t"`
	Pos      record.Pos    `json:"pos"`
	Action   string        `json:"action"`
	Next     record.Pos    `json:"next"`
	Cell     string        `json:"cell"`
	Fallback bool          `json:"fallback"`
	Event    []record.Flip `json:"event"`
	Dropped  []record.Flip `json:"dropped"`
	Memory   string        `json:"memory"`
	Removed  []string      `json:"removed"`
}

type callLine struct {
	Trial        string      `json:"trial"`
	Slot         string      `json:"slot"`
	Purpose      string      `json:"purpose"`
	Model        string      `json:"model"`
	PromptSHA256 string      `json:"prompt_sha256"`
	Reply        string      `json:"reply"`
	Finish       string      `json:"finish"`
	InputTokens  *int        `json:"input_tokens"`
	OutputTokens *int        `json:"output_tokens"`
	LatencyMS    json.Number `json:"latency_ms"`
	Cached       *int        `json:"cached_tokens"`
	CacheWrite   *int        `json:"cache_write_tokens"`
	Reasoning    *int        `json:"reasoning_tokens"`

	ServerPromptMS *json.Number `json:"server_prompt_ms"`
	ServerOutputMS *json.Number `json:"server_output_ms"`
	ServerLoadMS   *json.Number `json:"server_load_ms"`
}

func encoded(t interface{ Fatal(...any) }, v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// full returns a list that is not nil.
func full[T any](list []T) []T { return append([]T{}, list...) }

// A Flip marshals itself and knows no escapes; only its two types are drawn.
func flips() *rapid.Generator[[]record.Flip] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record.Flip {
		return record.Flip{Pos: rapid.Make[record.Pos]().Draw(t, "pos"), To: rapid.SampledFrom([]string{"F", "H"}).Draw(t, "to")}
	}), 0, 3)
}

func number() *rapid.Generator[*float64] { return rapid.Ptr(rapid.Float64(), true) }

func TestLinesAgreeWithEncodingJSON(t *testing.T) {
	l := &line{first: true} // one for all, as in an export; record.Flip marshals as version 0.1 wrote flips
	check := func(t *rapid.T, got []byte, want any) {
		t.Helper()
		if want := encoded(t, want); string(got) != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
	specs, counts, deaths := rapid.Make[record.Spec](), rapid.Make[record.Counts](), rapid.Make[*record.DeathRecord]()
	entries, calls := rapid.Make[[]record.MemoryEntry](), rapid.Make[record.Call]()
	texts := rapid.SliceOfN(rapid.String(), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		in := record.Instance{Seed: rapid.Int().Draw(t, "seed"), Regime: "L3", Rows: texts.Draw(t, "rows"), RowsAfter: texts.Draw(t, "after"), Memory: entries.Draw(t, "memory")}
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			in.Events = append(in.Events, record.Event{Step: rapid.Int().Draw(t, "step"), Flips: full(flips().Draw(t, "flips"))})
		}
		check(t, l.instance(&in), instanceLine{in.Seed, in.Regime, full(in.Rows), full(in.RowsAfter), full(in.Events), full(in.Memory)})

		c := counts.Draw(t, "counts")
		trial := record.Trial{Spec: specs.Draw(t, "spec"), Outcome: rapid.SampledFrom([]string{record.Done, record.Success, record.Death, record.Timeout, record.Failed}).Draw(t, "outcome"), Error: rapid.String().Draw(t, "error"), Counts: c, Death: deaths.Draw(t, "death")}
		trial.Task = rapid.SampledFrom([]string{record.Detect, record.Navigate}).Draw(t, "task")
		s := record.Step{T: rapid.Int().Draw(t, "t"), Action: "UP", Cell: "F", Fallback: rapid.Bool().Draw(t, "fallback"), Event: flips().Draw(t, "event"), Dropped: flips().Draw(t, "dropped"), Memory: "all", Removed: texts.Draw(t, "removed")}
		trial.Steps = []record.Step{s, {Fallback: true}}
		want := trialLine{
			trial.Key, trial.Task, trial.Model, trial.Modality, trial.Regime, trial.Seed, trial.Strategy, trial.Batch, trial.Framing, trial.Episode, trial.Outcome, trial.Reward(), nil,
			c.TP, c.FP, c.FN, c.TN, c.Unanswered, c.Precision(), c.Recall(), c.F1(), trial.Death, trial.Fallbacks(), trial.DroppedFlips(), trial.Rows, trial.Cols, nil,
		}
		if trial.Task == record.Navigate {
			want.Steps = ptr(2)
		}
		if trial.Error != "" {
			want.Error = &trial.Error
		}
		check(t, l.trial(&trial), want)
		check(t, l.step(trial.Key, &s), stepLine{trial.Key, s.T, s.Pos, s.Action, s.Next, s.Cell, s.Fallback, full(s.Event), full(s.Dropped), s.Memory, full(s.Removed)})

		j := record.Judgment{MemoryID: "mem_001", Claim: "SAFE", Truth: rapid.Bool().Draw(t, "truth"), Verdict: record.Stale, Score: number().Draw(t, "score"), Confidence: number().Draw(t, "confidence"), Reason: rapid.String().Draw(t, "reason"), Repairs: texts.Draw(t, "repairs"), StaleLogprob: number().Draw(t, "stale"), ValidLogprob: number().Draw(t, "valid")}
		w := record.Window{Index: 3, Step: 5, Replies: rapid.SampledFrom([][]record.Parsed{nil, {}, {{Slot: "window3/store"}}}).Draw(t, "replies")}
		auditor := "oracle" // nobody was asked
		if len(w.Replies) > 0 {
			auditor = "model"
		}
		check(t, l.judgment("k", &w, &j), judgmentLine{"k", 3, 5, j.MemoryID, j.Pos, j.Claim, j.Truth, j.Verdict, j.Score, j.Confidence, j.Reason, len(j.Repairs) > 0, full(j.Repairs), j.StaleLogprob, j.ValidLogprob, auditor})

		k := calls.Draw(t, "call")
		k.Latency = time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "latency"))
		ms := func(d time.Duration) json.Number {
			us := d.Round(time.Microsecond).Microseconds()
			return json.Number(fmt.Sprintf("%d.%03d", us/1000, us%1000))
		}
		var prompt, output, load *json.Number
		if k.Timings = rapid.SampledFrom([]*record.Timings{nil, {Prompt: k.Latency / 3, Output: k.Latency / 2}}).Draw(t, "timings"); k.Timings != nil {
			prompt, output, load = new(ms(k.Timings.Prompt)), new(ms(k.Timings.Output)), new(ms(k.Timings.Load))
		}
		check(t, (&line{}).call(&k), callLine{k.Trial, k.Slot, k.Purpose, k.Model, hex.EncodeToString(k.PromptSHA256[:]), k.Reply, k.Finish, k.InputTokens, k.OutputTokens, ms(k.Latency), k.CachedTokens, k.CacheWriteTokens, k.ReasoningTokens, prompt, output, load})
	})
}

func TestNumbersThatAreNone(t *testing.T) {
	l := &line{}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		l.begin()
		l.number("score", &v)
		if got := strings.TrimSpace(string(l.end())); got != `{"score":null}` {
			t.Errorf("%v is written as %s", v, got)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\b\f\n\r\t\x00\x1f\x7f", "<&>", "ä€😀", "\xff\xc3\x28\xed\xa0\x80", "\u2028\u2029\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(appendText(nil, s))+"\n", encoded(t, s); got != want {
			t.Errorf("%q: got %s want %s", s, got, want)
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 0.1, 1e-6, 9.99e-7, 1e-10, 1e20, 1e21, -1e300, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		if got, want := string(appendNumber(nil, v))+"\n", encoded(t, v); got != want {
			t.Errorf("got %s want %s", got, want)
		}
	})
}
