package store

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// A shape makes synthetic records with the proportions of the paper's study on
// three controls: 1 trial in 14 is a detection, an episode makes some 25 calls,
// two episodes in five are audited, and texts repeat as prompts do.
type shape struct {
	plan      []record.Spec
	instances []record.Instance
	fixed     []record.Part   // the unchanging parts of a prompt
	listings  [][]record.Part // by instance, then state
	places    []record.Part   // "Agent at …"
	left      []record.Part   // "Steps left: …"
	memory    []record.Part   // whole memories, by seed
}

var (
	shapeModels     = []string{"ref/reader", "ref/believer", "ref/mixed?trust=0.5&tpr=0.8&fpr=0.1"}
	shapeRegimes    = []string{"L1", "L2", "L3"}
	shapeStrategies = []string{"no-memory", "no-filter", "self-verify", "omcd", "oracle"}
)

func newShape(trials int) *shape {
	s := &shape{}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{
		"You walk on a frozen lake, a grid of cells. S is the start, G the goal, F frozen and safe, H a hole.\n" + strings.Repeat("Rules of the lake. ", 20),
		"What you remember of the lake:\n", "\nWhat you see now:\n",
		"\nAnswer with one JSON object: {\"action\": \"UP\" | \"DOWN\" | \"LEFT\" | \"RIGHT\"}.\n",
	} {
		s.fixed = append(s.fixed, textPart(text))
	}
	for seed := range 50 {
		memory := memoryText(rng)
		s.memory = append(s.memory, textPart(strings.Join(memory, "\n")))
		for _, regime := range shapeRegimes {
			in := record.Instance{Seed: seed, Regime: regime, Rows: gridRows(rng), RowsAfter: gridRows(rng)}
			for i, text := range memory {
				in.Memory = append(in.Memory, record.MemoryEntry{ID: fmt.Sprintf("mem_%03d", i), Pos: record.Pos{i / 8, i % 8}, Claim: "SAFE", Text: text})
			}
			s.instances = append(s.instances, in)
			var states []record.Part
			for range 7 {
				states = append(states, textPart(listing(gridRows(rng))))
			}
			s.listings = append(s.listings, states)
		}
	}
	for i := range 64 {
		s.places = append(s.places, textPart(fmt.Sprintf("Agent at (%d,%d). Goal at (7,7).\n", i/8, i%8)))
		s.left = append(s.left, textPart(fmt.Sprintf("Steps left: %d.\n", i)))
	}
	for i := range trials {
		p := record.Spec{
			Key: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i)))[:20], Task: record.Navigate,
			Model: shapeModels[i%3], Modality: record.Text, Seed: i * 50 / trials, Regime: shapeRegimes[i/3%3], Rows: 8, Cols: 8,
			Strategy: shapeStrategies[i/9%5], Framing: "neutral", Episode: 1 + i/45%5,
		}
		if i%14 == 0 {
			p.Task, p.Strategy, p.Episode = record.Detect, "omcd", 0
		}
		if p.Strategy == "omcd" {
			p.Batch = 10
		}
		s.plan = append(s.plan, p)
	}
	return s
}

func textPart(s string) record.Part {
	return record.Part{Sum: sha256.Sum256([]byte(s)), Kind: record.PartText, Data: []byte(s)}
}

func gridRows(rng *rand.Rand) []string {
	rows := make([]string, 8)
	for r := range rows {
		line := []byte("FFFFFFFF")
		for c := range line {
			if rng.IntN(4) == 0 {
				line[c] = 'H'
			}
		}
		rows[r] = string(line)
	}
	return rows
}

func listing(rows []string) string {
	var b strings.Builder
	for r, line := range rows {
		fmt.Fprintf(&b, "Row %d:", r)
		for c := range line {
			fmt.Fprintf(&b, " (%d,%d)=%c", r, c, line[c])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func memoryText(rng *rand.Rand) []string {
	lines := make([]string, 64)
	for i := range lines {
		if rng.IntN(4) == 0 {
			lines[i] = fmt.Sprintf("[mem_%03d] DANGER at (%d,%d): Hole - dangerous, do not step", i, i/8, i%8)
		} else {
			lines[i] = fmt.Sprintf("[mem_%03d] SAFE at (%d,%d): Frozen ice - safe to walk", i, i/8, i%8)
		}
	}
	return lines
}

// records returns what happens in trial i, the same on every call.
func (s *shape) records(i int) (*record.Trial, []*record.Call) {
	rng := rand.New(rand.NewPCG(3, uint64(i)))
	spec := s.plan[i]
	t := &record.Trial{Version: record.Version, Spec: spec, Outcome: record.Success}
	listings := s.listings[spec.Seed*3+i/3%3]
	var calls []*record.Call
	call := func(slot, purpose, reply string, parts ...record.Part) {
		calls = append(calls, &record.Call{
			Trial: spec.Key, Slot: slot, Purpose: purpose, Model: spec.Model, Prompt: parts, PromptSHA256: promptSum(parts),
			Reply: reply, Finish: "stop", Latency: time.Duration(5000 + rng.IntN(100000)),
		})
	}
	windows := 0
	if spec.Strategy == "omcd" || spec.Strategy == "self-verify" || spec.Task == record.Detect {
		windows = 1
		if spec.Regime == "L3" && spec.Strategy != "self-verify" {
			windows = 6
		}
	}
	view := s.memory[spec.Seed]
	for w := range windows {
		window, replies := s.audit(rng, spec, w)
		for b, reply := range replies {
			entries := textPart(string(s.memory[spec.Seed].Data[b*100 : b*100+600]))
			call(fmt.Sprintf("window%d/batch%d", w, b), "audit", reply, s.fixed[0], listings[w], s.fixed[2], entries, s.fixed[3])
		}
		t.Windows = append(t.Windows, window)
		view = textPart(strings.Join(strings.Split(string(s.memory[spec.Seed].Data), "\n")[rng.IntN(5):60+rng.IntN(4)], "\n"))
	}
	for _, w := range t.Windows {
		for _, j := range w.Judgments {
			t.Counts.Add(j.Truth, j.Verdict)
		}
	}
	if spec.Task == record.Detect {
		t.Outcome = record.Done
		return t, calls
	}
	for n := range 14 + rng.IntN(15) {
		action := [...]string{"DOWN", "RIGHT", "UP", "LEFT"}[rng.IntN(4)]
		call(fmt.Sprintf("step%d", n+1), "step", `{"action": "`+action+`"}`,
			s.fixed[0], s.fixed[1], view, s.fixed[2], listings[n/5], s.places[rng.IntN(64)], s.left[50-n], s.fixed[3])
		t.Steps = append(t.Steps, record.Step{
			T: n + 1, Pos: record.Pos{n / 4, n % 8}, Action: action, Next: record.Pos{n / 4, n % 7}, Cell: "F",
			Event: []record.Flip{}, Dropped: []record.Flip{}, Memory: record.MemoryFiltered, Removed: []string{"mem_003", "mem_017", "mem_041"},
		})
	}
	return t, calls
}

// audit makes a window's judgments and the replies that they came from.
func (s *shape) audit(rng *rand.Rand, spec record.Spec, index int) (record.Window, []string) {
	w := record.Window{Index: index, Step: 5 * index}
	batch := 10
	if spec.Strategy == "self-verify" {
		batch = 64
	}
	var replies []string
	var reply strings.Builder
	for i := range 64 {
		verdict, reason := record.Valid, "The cell is frozen now, as the memory says."
		confidence := 0.95
		if spec.Model == shapeModels[2] {
			confidence = float64(rng.IntN(50)+50) / 100
		}
		if rng.IntN(10) == 0 {
			verdict, reason = record.Stale, fmt.Sprintf("The memory says safe, but (%d,%d) is a hole now.", i/8, i%8)
		}
		if i%batch == 0 {
			reply.WriteString(`{"judgments": [`)
		} else {
			reply.WriteString(", ")
		}
		fmt.Fprintf(&reply, `{"memory_id": "mem_%03d", "is_stale": %v, "confidence": %v, "reasoning": %q}`, i, verdict == record.Stale, confidence, reason)
		if i%batch == batch-1 || i == 63 {
			reply.WriteString("]}")
			replies = append(replies, reply.String())
			w.Replies = append(w.Replies, record.Parsed{Slot: fmt.Sprintf("window%d/batch%d", index, len(replies)-1), Outcome: "answered"})
			reply.Reset()
		}
		w.Judgments = append(w.Judgments, record.Judgment{
			MemoryID: fmt.Sprintf("mem_%03d", i), Pos: record.Pos{i / 8, i % 8}, Claim: "SAFE", Truth: i%9 == 0,
			Verdict: verdict, Confidence: &confidence, Reason: reason,
		})
	}
	return w, replies
}
