package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// replayedTrials bounds the trials of a page, because a browser holds them all.
// Trials come seed by seed, so those that are left out are of the last seeds.
const replayedTrials = 100_000

// Trials are what a page replays. A trial is its instance and its actions, a few
// dozen bytes, so a page has all of a run, and the models' own words for some.
// Its zero value is empty and ready for use.
//
// The page's script takes what the types here marshal to.
type Trials struct {
	packed  bytes.Buffer
	zip     *gzip.Writer
	encoded []byte // nil until no more are added
	doc     replayDocument
	places  map[any]int // of settings and lakes in doc; and trials' short keys
	kinds   map[[3]string]bool
	chosen  map[string]int // keys of the trials whose words a page has, with their places
	order   []string       // of these keys

	added, embedded, failed int
}

// A replayDocument is everything but the trials.
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

// A replayTrial is what happened on a lake. Lists of changes hold [step, value]
// and leave out steps at which nothing changes; entries are told by their places
// in the lake's list, as in "3-5,9".
type replayTrial struct {
	Key     string `json:"key"` // the beginning of the trial's, as long as it takes
	Setting int    `json:"setting"`
	Lake    int    `json:"lake"`
	Episode int    `json:"episode,omitempty"`
	Outcome string `json:"outcome"`
	Cause   string `json:"cause,omitempty"`
	Error   string `json:"error,omitempty"`
	Memory  bool   `json:"memory,omitempty"` // the agent has one
	// Actions is a letter a step, U D L or R; a small one is the fallback's.
	Actions   string        `json:"actions,omitempty"`
	Path      []record.Pos  `json:"path,omitempty"` // only where it does not follow from the actions
	Events    [][2]any      `json:"events,omitempty"`
	Dropped   [][2]any      `json:"dropped,omitempty"`
	Removed   [][2]any      `json:"removed,omitempty"`
	Visible   [][2]any      `json:"visible,omitempty"`
	Fallbacks [][2]any      `json:"fallbacks,omitempty"`
	Audits    []replayAudit `json:"audits,omitempty"`
}

// A replayAudit is what an audit says of each entry: valid, unless told.
type replayAudit struct {
	Moves      int      `json:"moves"` // made before it
	Stale      string   `json:"stale,omitempty"`
	Unanswered string   `json:"unanswered,omitempty"`
	Skipped    string   `json:"skipped,omitempty"` // not asked about
	Visible    []string `json:"visible,omitempty"`
}

// replayWords are a model's own.
type replayWords struct {
	Replies map[string][2]string      `json:"replies,omitempty"` // by slot: reply, reasoning
	Reasons map[int]map[string]string `json:"reasons,omitempty"` // by audit and entry: of those flagged or missed
}

// A reply longer than this many characters is cut, and says by how much.
const replyRunes = 2_000

// shortKey is how much of a key names a trial, unless two begin alike.
const shortKey = 10

// Add adds a finished or failed trial of a run, whose name is what commands take.
func (ts *Trials) Add(run string, t *record.Trial, in *record.Instance) error {
	ts.added++
	if t.Outcome == record.Failed {
		ts.failed++
	}
	if ts.embedded == replayedTrials {
		return nil
	}
	lead := `,`
	if ts.zip == nil {
		ts.zip, _ = gzip.NewWriterLevel(&ts.packed, gzip.BestCompression) // the level is valid
		ts.places, ts.kinds, ts.chosen = map[any]int{}, map[[3]string]bool{}, map[string]int{}
		ts.doc.Words = map[int]*replayWords{}
		lead = `{"trials":[`
	}
	r, err := ts.trial(run, t, in)
	if err != nil {
		return fmt.Errorf("trial %s: %w", t.Key, err)
	}
	ts.choose(r, t)
	ts.embedded++
	if _, err := io.WriteString(ts.zip, lead); err != nil {
		return err
	}
	return json.NewEncoder(ts.zip).Encode(r)
}

// chosenRule says in words what choose does; a page prints it.
const chosenRule = "of each setting the first trial of every outcome and cause of death, and the first detection with a wrong or missing verdict"

// choose takes a trial that is the first of its kind.
func (ts *Trials) choose(r *replayTrial, t *record.Trial) {
	kind := [3]string{strconv.Itoa(r.Setting), t.Outcome, r.Cause}
	if c := t.Counts; t.Task == record.Detect && c.FP+c.FN+c.Unanswered > 0 {
		kind[2] = "faulty"
	}
	if t.Outcome != record.Failed && !ts.kinds[kind] {
		ts.kinds[kind] = true
		ts.chosen[t.Key] = ts.embedded
		ts.order = append(ts.order, t.Key)
	}
}

// Chosen returns the keys of the trials whose words a page has, in the order in
// which they were added. AddWords takes them.
func (ts *Trials) Chosen() []string { return ts.order }

// AddWords adds what the model said in a trial that was chosen.
func (ts *Trials) AddWords(t *record.Trial, in *record.Instance, calls []*record.Call) error {
	at, ok := ts.chosen[t.Key]
	if !ok {
		return fmt.Errorf("trial %s is not one whose words are shown", t.Key)
	}
	ts.doc.Words[at] = wordsOf(t, calls, placesOf(in))
	return nil
}

// place returns the place in a list of what a name stands for, and whether it is
// the next one.
func (ts *Trials) place(name any, next int) (at int, added bool) {
	if at, ok := ts.places[name]; ok {
		return at, false
	}
	ts.places[name] = next
	return next, true
}

func (ts *Trials) setting(run string, spec record.Spec) int {
	spec.Key, spec.Seed, spec.Episode, spec.Model = "", 0, 0, clean(spec.Model)
	one := replaySetting{clean(run), spec}
	at, added := ts.place(one, len(ts.doc.Settings))
	if added {
		ts.doc.Settings = append(ts.doc.Settings, one)
	}
	return at
}

func (ts *Trials) lake(in *record.Instance) int {
	at, added := ts.place([4]any{in.Seed, in.Regime, len(in.Rows), len(in.Rows[0])}, len(ts.doc.Lakes))
	if added {
		one := *in
		one.Memory = slices.Clone(in.Memory)
		for i := range one.Memory {
			one.Memory[i].Text = cut(one.Memory[i].Text)
		}
		ts.doc.Lakes = append(ts.doc.Lakes, one)
	}
	return at
}

// key returns the beginning of a key that no trial before it has.
func (ts *Trials) key(key string) string {
	short := key[:min(shortKey, len(key))]
	if _, added := ts.place(short, 0); added {
		return short
	}
	return key
}

// trial encodes a trial without its words.
func (ts *Trials) trial(run string, t *record.Trial, in *record.Instance) (*replayTrial, error) {
	r := &replayTrial{
		Key: ts.key(t.Key), Setting: ts.setting(run, t.Spec), Lake: ts.lake(in), Episode: t.Episode,
		Outcome: t.Outcome, Error: cut(t.Error), Memory: t.Task == record.Detect,
	}
	if t.Death != nil {
		r.Cause = t.Death.Cause
	}
	places := placesOf(in)
	var actions []byte
	var path []record.Pos
	follows := true
	removed, visible := "", ""
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Action == "" {
			return nil, fmt.Errorf("step %d has no action", s.T)
		}
		letter := s.Action[0]
		if s.Fallback {
			letter += 'a' - 'A'
			r.Fallbacks = append(r.Fallbacks, [2]any{s.T, s.Reply})
		}
		actions = append(actions, letter)
		if i == 0 {
			path = append(path, s.Pos)
			follows = s.Pos == record.Pos{0, 0}
		}
		path = append(path, s.Next)
		follows = follows && s.Pos == path[i] && s.Next == after(s.Pos, s.Action, t.Rows, t.Cols)
		r.Memory = r.Memory || s.Memory != record.MemoryNone
		if len(s.Event) > 0 {
			r.Events = append(r.Events, [2]any{s.T, s.Event})
		}
		if len(s.Dropped) > 0 {
			r.Dropped = append(r.Dropped, [2]any{s.T, s.Dropped})
		}
		if now := ranges(places, s.Removed); now != removed {
			removed = now
			r.Removed = append(r.Removed, [2]any{s.T, now})
		}
		if now := strings.Join(s.Visible, "/"); now != visible {
			visible = now
			r.Visible = append(r.Visible, [2]any{s.T, s.Visible})
		}
	}
	r.Actions = string(actions)
	if !follows {
		r.Path = path
	}
	for i := range t.Windows {
		r.Audits = append(r.Audits, auditOf(&t.Windows[i], places))
	}
	return r, nil
}

// after returns where an action leads: a move off the grid stays.
func after(p record.Pos, action string, rows, cols int) record.Pos {
	switch action {
	case "UP":
		p[0] = max(p[0]-1, 0)
	case "DOWN":
		p[0] = min(p[0]+1, rows-1)
	case "LEFT":
		p[1] = max(p[1]-1, 0)
	case "RIGHT":
		p[1] = min(p[1]+1, cols-1)
	}
	return p
}

// placesOf tells where in an instance's memory each entry is.
func placesOf(in *record.Instance) map[string]int {
	places := make(map[string]int, len(in.Memory))
	for i := range in.Memory {
		places[in.Memory[i].ID] = i
	}
	return places
}

func auditOf(w *record.Window, places map[string]int) replayAudit {
	verdicts := map[string][]string{}
	asked := map[string]bool{}
	for i := range w.Judgments {
		j := &w.Judgments[i]
		verdicts[j.Verdict] = append(verdicts[j.Verdict], j.MemoryID)
		asked[j.MemoryID] = true
	}
	var skipped []string
	for id := range places {
		if !asked[id] {
			skipped = append(skipped, id)
		}
	}
	return replayAudit{
		Moves: w.Step, Visible: w.Visible,
		Stale:      ranges(places, verdicts[record.Stale]),
		Unanswered: ranges(places, verdicts[record.Unanswered]),
		Skipped:    ranges(places, skipped),
	}
}

// ranges writes the places of entries as "3-5,9".
func ranges(places map[string]int, ids []string) string {
	var list []int
	for _, id := range ids {
		if n, ok := places[id]; ok {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	var parts []string
	for i := 0; i < len(list); {
		first := i
		for i++; i < len(list) && list[i] == list[i-1]+1; i++ {
		}
		part := strconv.Itoa(list[first])
		if i-1 > first {
			part += "-" + strconv.Itoa(list[i-1])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// wordsOf collects what a model said, and the reasons of what it flagged or
// missed.
func wordsOf(t *record.Trial, calls []*record.Call, places map[string]int) *replayWords {
	w := &replayWords{Replies: map[string][2]string{}, Reasons: map[int]map[string]string{}}
	told := map[string]bool{} // replies that verdicts and reasons tell whole
	for i := range t.Windows {
		for _, p := range t.Windows[i].Replies {
			told[p.Slot] = p.Outcome == "answered"
		}
		reasons := map[string]string{}
		for k := range t.Windows[i].Judgments {
			j := &t.Windows[i].Judgments[k]
			if n, ok := places[j.MemoryID]; ok && j.Reason != "" && (j.Verdict == record.Stale || j.Truth) {
				reasons[strconv.Itoa(n)] = cut(j.Reason)
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

// base64 returns the trials as a page has them, nil for none. No trial can be
// added behind it.
func (ts *Trials) base64() ([]byte, error) {
	if ts.embedded == 0 || ts.encoded != nil {
		return ts.encoded, nil
	}
	ts.doc.Labels = map[string]map[string]string{
		"strategy": labels(record.Strategies), "regime": labels(record.Regimes), "modality": labels(record.Modalities), "cause": {},
	}
	for _, c := range record.Causes {
		ts.doc.Labels["cause"][c.Name] = c.About
	}
	doc, err := json.Marshal(ts.doc)
	if err != nil {
		return nil, err
	}
	// The document's fields follow the trials in one object.
	if _, err := ts.zip.Write(append([]byte("],"), doc[1:]...)); err != nil {
		return nil, err
	}
	if err := ts.zip.Close(); err != nil {
		return nil, err
	}
	ts.encoded = base64.StdEncoding.AppendEncode(nil, ts.packed.Bytes())
	return ts.encoded, nil
}

func labels(v record.Vocabulary) map[string]string {
	out := make(map[string]string, len(v))
	for _, t := range v {
		out[t.Name] = t.Label
	}
	return out
}
