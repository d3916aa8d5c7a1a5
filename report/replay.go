package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// replayedTrials bounds the trials of a page, because a browser holds them all.
// Trials come seed by seed, so those that are left out are of the last seeds.
const replayedTrials = 100_000

// Trials are what a page replays. A trial is its instance and its steps, a
// thousand bytes, so a page has all of a run, and the models' own words for some.
// Its zero value is empty and ready for use.
//
// The page's script takes what the types here marshal to.
type Trials struct {
	packed   bytes.Buffer // a line of JSON a trial, and then a replayDocument
	zip      *gzip.Writer // into packed
	encoded  string       // empty until no more are added
	doc      replayDocument
	settings map[replaySetting]int // their places in doc
	lakes    map[lakeKey]int
	kinds    map[[3]string]bool // of trials whose words the page has

	added, embedded, failed int
}

// A replayDocument is what a page's script knows besides the trials.
type replayDocument struct {
	Settings []replaySetting              `json:"settings"`
	Lakes    []record.Instance            `json:"lakes"`
	Labels   map[string]map[string]string `json:"labels"`
	Words    map[int]*replayWords         `json:"words"` // by the trial's place
}

// A replaySetting is what many trials have in common: a specification without
// key, seed and episode.
type replaySetting struct {
	Run string `json:"run"`
	record.Spec
}

// A lakeKey names an instance.
type lakeKey struct {
	seed       int
	regime     string
	rows, cols int
}

// A replayTrial is what happened on a lake, from its start. Entries are told by
// their places in the lake's list.
type replayTrial struct {
	Key     string        `json:"key"`
	Setting int           `json:"setting"`
	Lake    int           `json:"lake"`
	Episode int           `json:"episode,omitempty"`
	Outcome string        `json:"outcome"`
	Cause   string        `json:"cause,omitempty"`
	Error   string        `json:"error,omitempty"`
	Memory  bool          `json:"memory,omitempty"` // the agent has one
	Steps   []replayStep  `json:"steps,omitempty"`
	Audits  []replayAudit `json:"audits,omitempty"`
	Words   *replayWords  `json:"words,omitempty"` // of a Replay; the page has them in its document
}

type replayStep struct {
	Action   string        `json:"action"`
	Next     record.Pos    `json:"next"`
	Event    []record.Flip `json:"event,omitempty"`
	Dropped  []record.Flip `json:"dropped,omitempty"`
	Removed  []int         `json:"removed,omitempty"` // entries kept out of the view
	Visible  []string      `json:"visible,omitempty"`
	Fallback bool          `json:"fallback,omitempty"` // the reply gave no action
	Reply    string        `json:"reply,omitempty"`    // how it was read then
}

// A replayAudit is what an audit says of each entry: valid, unless told.
type replayAudit struct {
	Moves      int      `json:"moves"` // made before it
	Stale      []int    `json:"stale,omitempty"`
	Unanswered []int    `json:"unanswered,omitempty"`
	Skipped    []int    `json:"skipped,omitempty"` // not asked about
	Visible    []string `json:"visible,omitempty"`
}

// replayWords are a model's own.
type replayWords struct {
	Replies map[string][2]string   `json:"replies,omitempty"` // by slot: reply, reasoning
	Reasons map[int]map[int]string `json:"reasons,omitempty"` // by audit and entry: of those flagged or missed
}

// A reply longer than this many characters is cut, and says by how much.
const replyRunes = 2_000

// AddInstance adds an instance before the trials on it. The same one may come
// again: runs that are taken together agree about it.
func (ts *Trials) AddInstance(in record.Instance) {
	placeIn(&ts.lakes, lakeKey{in.Seed, in.Regime, len(in.Rows), len(in.Rows[0])}, &ts.doc.Lakes, in)
}

// Add adds a finished or failed trial of a run, whose name is what commands take.
// It asks for the trial's calls when the page shows what the model said.
func (ts *Trials) Add(run string, t *record.Trial, calls func() ([]*record.Call, error)) error {
	ts.added++
	if t.Outcome == record.Failed {
		ts.failed++
	}
	if ts.embedded == replayedTrials {
		return nil
	}
	if ts.zip == nil {
		ts.zip, _ = gzip.NewWriterLevel(&ts.packed, gzip.BestCompression) // the level is valid
		ts.kinds, ts.doc.Words = map[[3]string]bool{}, map[int]*replayWords{}
	}
	lake, ok := ts.lakes[lakeKey{t.Seed, t.Regime, t.Rows, t.Cols}]
	if !ok {
		return fmt.Errorf("trial %s: its run has no instance for it; the folder is damaged", t.Key)
	}
	in := &ts.doc.Lakes[lake]
	r := replayOf(t, in)
	setting := replaySetting{clean(run), t.Spec}
	setting.Key, setting.Seed, setting.Episode, setting.Model = "", 0, 0, clean(t.Model)
	r.Lake, r.Setting = lake, placeIn(&ts.settings, setting, &ts.doc.Settings, setting)
	if kind := kindOf(r, t); !ts.kinds[kind] && t.Outcome != record.Failed {
		said, err := calls()
		if err != nil {
			return fmt.Errorf("trial %s: its calls: %w", t.Key, err)
		}
		ts.kinds[kind] = true
		ts.doc.Words[ts.embedded] = wordsOf(t, in, said)
	}
	ts.embedded++
	return json.NewEncoder(ts.zip).Encode(r)
}

// kindOf is what makes a trial the first of its kind, whose words a page has; the
// page says it in words.
func kindOf(r *replayTrial, t *record.Trial) [3]string {
	kind := [3]string{strconv.Itoa(r.Setting), t.Outcome, r.Cause}
	if c := t.Counts; t.Task == record.Detect && c.FP+c.FN+c.Unanswered > 0 {
		kind[2] = "faulty"
	}
	return kind
}

// placeIn returns the place in a list of what a key stands for, and adds it where
// it is new.
func placeIn[K comparable, V any](places *map[K]int, key K, list *[]V, value V) int {
	if at, known := (*places)[key]; known {
		return at
	}
	if *places == nil {
		*places = map[K]int{}
	}
	(*places)[key] = len(*list)
	*list = append(*list, value)
	return len(*list) - 1
}

// replayOf returns a trial without its words.
func replayOf(t *record.Trial, in *record.Instance) *replayTrial {
	r := &replayTrial{Key: t.Key, Episode: t.Episode, Outcome: t.Outcome, Error: cut(t.Error), Memory: t.Task == record.Detect}
	if t.Death != nil {
		r.Cause = t.Death.Cause
	}
	places := placesOf(in)
	for i := range t.Steps {
		s := &t.Steps[i]
		r.Memory = r.Memory || s.Memory != record.MemoryNone
		r.Steps = append(r.Steps, replayStep{s.Action, s.Next, s.Event, s.Dropped, places.of(s.Removed), s.Visible, s.Fallback, s.Reply})
	}
	for i := range t.Windows {
		w := &t.Windows[i]
		verdicts := map[string][]string{}
		skipped := placesOf(in)
		for _, j := range w.Judgments {
			verdicts[j.Verdict] = append(verdicts[j.Verdict], j.MemoryID)
			delete(skipped, j.MemoryID)
		}
		r.Audits = append(r.Audits, replayAudit{
			Moves: w.Step, Visible: w.Visible, Stale: places.of(verdicts[record.Stale]),
			Unanswered: places.of(verdicts[record.Unanswered]), Skipped: slices.Sorted(maps.Values(skipped)),
		})
	}
	return r
}

// places tell where in an instance's memory each entry is.
type places map[string]int

func placesOf(in *record.Instance) places {
	p := make(places, len(in.Memory))
	for i := range in.Memory {
		p[in.Memory[i].ID] = i
	}
	return p
}

// of returns the places of entries in order.
func (p places) of(ids []string) []int {
	var list []int
	for _, id := range ids {
		if at, ok := p[id]; ok {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// wordsOf collects what a model said, and the reasons of what it flagged or
// missed.
func wordsOf(t *record.Trial, in *record.Instance, calls []*record.Call) *replayWords {
	w := &replayWords{Replies: map[string][2]string{}, Reasons: map[int]map[int]string{}}
	places := placesOf(in)
	told := map[string]bool{} // replies that verdicts and reasons tell whole
	for i := range t.Windows {
		for _, p := range t.Windows[i].Replies {
			told[p.Slot] = p.Outcome == "answered"
		}
		reasons := map[int]string{}
		for _, j := range t.Windows[i].Judgments {
			if at, ok := places[j.MemoryID]; ok && j.Reason != "" && (j.Verdict == record.Stale || j.Truth) {
				reasons[at] = cut(j.Reason)
			}
		}
		if len(reasons) > 0 {
			w.Reasons[i] = reasons
		}
	}
	for _, c := range calls {
		reply := cut(c.Reply)
		if told[c.Slot] {
			reply = ""
		}
		if thought := cut(c.Reasoning); cmp.Or(reply, thought) != "" {
			w.Replies[c.Slot] = [2]string{reply, thought}
		}
	}
	return w
}

// A Replay is one trial with its words, as the page's player takes it.
type Replay struct {
	Trial   *replayTrial                 `json:"trial"`
	Setting replaySetting                `json:"setting"`
	Lake    record.Instance              `json:"lake"`
	Labels  map[string]map[string]string `json:"labels"`
	Title   string                       `json:"title"`
	Command string                       `json:"command"` // that tells it on a terminal
}

// ReplayOf returns a trial of a run, whose name is what commands take, for the
// player.
func ReplayOf(run string, t *record.Trial, in record.Instance, calls []*record.Call) *Replay {
	r := &Replay{Trial: replayOf(t, &in), Setting: replaySetting{clean(run), t.Spec}, Lake: shownLake(in), Labels: vocabulary()}
	r.Trial.Words, r.Setting.Model = wordsOf(t, &in, calls), clean(t.Model)
	parts := []string{r.Setting.Model, r.Labels["strategy"][t.Strategy], t.Regime, t.Modality, fmt.Sprintf("seed %d", t.Seed)}
	if t.Episode > 0 {
		parts = append(parts, fmt.Sprintf("episode %d", t.Episode))
	}
	r.Title = strings.Join(append(parts, t.Outcome), " · ")
	r.Command = "spatialstale trace " + run + " " + t.Key
	return r
}

// Styles and Player are the page's style sheet and its player's script, for other
// pages that show the same.
func Styles() string { return pageCSS }
func Player() string { return playerJS }

// cut makes what a model said safe to show, and cuts it: it may hold anything,
// marks that turn the direction of writing and broken UTF-8 among it.
func cut(s string) string {
	runes := []rune(strings.ReplaceAll(s, "\r\n", "\n"))
	for i, r := range runes {
		runes[i] = harmless(r, "\n\t\u200d")
	}
	if len(runes) <= replyRunes {
		return string(runes)
	}
	return fmt.Sprintf("%s… [%d more characters]", string(runes[:replyRunes]), len(runes)-replyRunes)
}

// base64 returns the trials as a page has them. No trial can be added behind it.
func (ts *Trials) base64() (string, error) {
	if ts.encoded != "" {
		return ts.encoded, nil
	}
	for i := range ts.doc.Lakes {
		ts.doc.Lakes[i] = shownLake(ts.doc.Lakes[i])
	}
	ts.doc.Labels = vocabulary()
	if err := errors.Join(json.NewEncoder(ts.zip).Encode(ts.doc), ts.zip.Close()); err != nil {
		return "", err
	}
	ts.encoded = base64.StdEncoding.EncodeToString(ts.packed.Bytes())
	return ts.encoded, nil
}

// shownLake is an instance whose texts are safe to show.
func shownLake(in record.Instance) record.Instance {
	in.Memory = slices.Clone(in.Memory)
	for k := range in.Memory {
		in.Memory[k].Text = cut(in.Memory[k].Text)
	}
	return in
}

// vocabulary are the labels that the player needs.
func vocabulary() map[string]map[string]string {
	out := map[string]map[string]string{
		"strategy": labels(record.Strategies), "regime": labels(record.Regimes), "modality": labels(record.Modalities), "cause": {},
	}
	for _, c := range record.Causes {
		out["cause"][c.Name] = c.About
	}
	return out
}

func labels(v record.Vocabulary) map[string]string {
	out := make(map[string]string, len(v))
	for _, t := range v {
		out[t.Name] = t.Label
	}
	return out
}
