package report_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
)

// lakeOf is an instance of L3 with an event, and a memory of every cell.
func lakeOf(seed int) *record.Instance {
	in := &record.Instance{Seed: seed, Regime: "L3", Rows: []string{"SFFF", "FHFF", "FFFF", "FFFG"}, RowsAfter: []string{"SHFF", "FFFF", "FFFF", "FFFG"},
		Events: []record.Event{{Step: 1, Flips: []record.Flip{{Pos: record.Pos{0, 1}, To: "H"}, {Pos: record.Pos{1, 1}, To: "F"}}}}}
	for i := range 16 {
		claim, words := "SAFE", "Frozen ice - safe to walk"
		if i == 5 {
			claim, words = "DANGER", "Hole - dangerous, do not step"
		}
		p := record.Pos{i / 4, i % 4}
		in.Memory = append(in.Memory, record.MemoryEntry{ID: fmt.Sprintf("mem_%03d", i), Pos: p, Claim: claim, Text: fmt.Sprintf("%s at (%d,%d): %s", claim, p[0], p[1], words)})
	}
	return in
}

// walk is an episode that audits, moves, loses a change, and dies.
func walk() *record.Trial {
	t := &record.Trial{Version: 1, Outcome: record.Death, Death: &record.DeathRecord{Pos: record.Pos{0, 1}, Cause: record.CauseStaleShown}}
	t.Spec = record.Spec{Key: "0123456789abcdef", Task: record.Navigate, Model: "openai/gpt-4o", Modality: record.Text, Regime: "L3", Seed: 7, Rows: 4, Cols: 4, Strategy: "omcd", Batch: 10, Framing: "neutral", Episode: 1}
	in := lakeOf(7)
	w := record.Window{Step: 0, Replies: []record.Parsed{{Slot: "window0/batch0", Outcome: "partial"}}}
	for i, e := range in.Memory {
		verdict := []string{record.Valid, record.Stale, record.Stale, record.Unanswered, record.Valid}[min(i, 4)]
		w.Judgments = append(w.Judgments, record.Judgment{MemoryID: e.ID, Pos: e.Pos, Claim: e.Claim, Verdict: verdict, Reason: "it looks so"})
	}
	t.Windows = []record.Window{w}
	removed := []string{"mem_001", "mem_002"}
	t.Steps = []record.Step{
		{T: 1, Pos: record.Pos{0, 0}, Action: "UP", Next: record.Pos{0, 0}, Cell: "S", Memory: record.MemoryFiltered, Removed: removed},
		{T: 2, Pos: record.Pos{0, 0}, Action: "RIGHT", Next: record.Pos{0, 1}, Cell: "H", Fallback: true, Reply: "refusal", Memory: record.MemoryFiltered, Removed: removed[:1], Visible: []string{"1100", "1000", "0000", "0000"},
			Event: []record.Flip{{Pos: record.Pos{0, 1}, To: "H"}}, Dropped: []record.Flip{{Pos: record.Pos{1, 1}, To: "F"}}},
	}
	return t
}

// page is a page of two models, one a control, with what a run may hold.
func page(t testing.TB) *report.Page {
	p := &report.Page{
		Summary: analysis.Summary{Title: "Study paper", Lost: []string{"2 of 300 trials failed."}, Findings: []analysis.Finding{
			{Text: "Stale memory costs gpt-4o 0.50 of its success [0.31, 0.72].", Table: "contrasts"}, {Text: "The reader loses nothing.", Control: true, Table: "contrasts"}}},
		Tables: sample(),
		Figures: []analysis.Figure{{ID: "figure-3-detection", Title: "Detection", Topic: analysis.TopicDetection, Paper: "Figure 3", About: "F1.", Across: 1, Feet: []string{"50 seeds"},
			Panels: []analysis.Panel{{Title: "L1", Categories: []analysis.Category{{Name: "gpt-4o"}}, X: analysis.Axis{Label: "F1", Max: 1},
				Series: []analysis.Series{{Key: "text", Name: "text", Mark: analysis.Bars, Points: []analysis.Point{{X: new(0.9), N: 50}}}}}}},
			{ID: "figure-6", Title: "Vision", Topic: analysis.TopicNavigation, Need: "episodes from pictures"}},
		Trials: &report.Trials{},
		Runs: []report.PageRun{{Name: "runs/mine", Prompts: map[string]string{"audit.txt": "Judge each entry."}, Manifest: record.Manifest{
			Program: "1.2.3", Created: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), Study: json.RawMessage(`{"name":"paper"}`),
			Models: []record.ModelInfo{{Name: "openai/gpt-4o"}, {Name: "ref/reader", Control: true}}, Prompts: map[string]string{"audit.txt": "aa", "step.txt": "bb"}}}},
	}
	calls := []*record.Call{{Slot: "window0/batch0", Reply: "I would rather not."}, {Slot: "step1", Reply: `{"action":"UP"}`, Reasoning: "up is best"}}
	p.Trials.AddInstance(*lakeOf(7))
	if err := p.Trials.Add("runs/mine", walk(), func() ([]*record.Call, error) { return calls, nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

// silent are the calls of a trial without any.
func silent() ([]*record.Call, error) { return nil, nil }

func htmlOf(t testing.TB, p *report.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// nodes lists a page's elements in order.
func nodes(t testing.TB, page string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(root.Descendants())
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textIn(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// The page needs nothing but itself: it loads nothing, and the policy in its head
// allows its own scripts and styles and no others. Links lead somewhere.
func TestPageStandsAlone(t *testing.T) {
	made := htmlOf(t, page(t))
	policy, ids, links := "", map[string]bool{}, []string{}
	var inline []string
	for _, n := range nodes(t, made) {
		if n.Type != html.ElementNode {
			continue
		}
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("the id %s is there twice", id)
			}
			ids[id] = true
		}
		if attr(n, "http-equiv") != "" {
			policy = attr(n, "content")
		}
		for _, name := range []string{"src", "srcset", "data", "action", "style", "onclick", "onload"} {
			if v := attr(n, name); v != "" && !strings.HasPrefix(v, "data:image/") {
				t.Errorf("<%s> has %s=%q", n.Data, name, v)
			}
		}
		switch {
		case n.Data == "a":
			links = append(links, attr(n, "href"))
		case n.Data == "style", n.Data == "script" && attr(n, "type") == "":
			inline = append(inline, n.FirstChild.Data)
		case n.Data == "link", n.Data == "iframe":
			t.Errorf("the page has a <%s>", n.Data)
		}
	}
	for _, code := range inline {
		sum := sha256.Sum256([]byte(code))
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, hash) {
			t.Errorf("the policy %q lacks the hash of %q…", policy, code[:30])
		}
	}
	if len(inline) != 3 || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("%d styles and scripts under %q", len(inline), policy)
	}
	for _, link := range links {
		if to, ok := strings.CutPrefix(link, "#"); !ok || !ids[to] && !strings.HasPrefix(to, "trials?") {
			t.Errorf("a link leads to %q", link)
		}
	}
	if again := htmlOf(t, page(t)); again != made {
		t.Error("the same records give another page")
	}
}

// What a reader sees first, in this order, and what is folded below it.
func TestPageOrder(t *testing.T) {
	all := nodes(t, htmlOf(t, page(t)))
	body := all[slices.IndexFunc(all, func(n *html.Node) bool { return n.Data == "body" })]
	words := textIn(body)
	at := 0
	for _, want := range []string{
		"Some models are reference agents", "Study paper", "1 August 2026 · spatialstale 1.2.3 · 2 models: openai/gpt-4o, ref/reader",
		"Stale memory costs gpt-4o 0.50 of its success [0.31, 0.72].", "Findings on controls", "The reader loses nothing.",
		"2 of 300 trials failed.", "Detection 1 table, 1 figure", "Navigation 1 table",
		"Not in this run 2", "figure-6 needs episodes from pictures.", "sizes (the paper’s Table 6) needs lakes of several sizes",
		"This page has 1 trial, all that there are", "How runs/mine was made", `"name": "paper"`, "Judge each entry.", "Its text is not at hand.",
	} {
		i := strings.Index(words[at:], want)
		if i < 0 {
			t.Fatalf("%q does not follow\n%.500s", want, words[at:])
		}
		at += i
	}
	many := page(t)
	for i := range 9 {
		one := sample()[0]
		one.ID = fmt.Sprint("more-", i)
		many.Tables = append(many.Tables, one)
	}
	if n := strings.Count(htmlOf(t, many), " open>"); n > 0 {
		t.Errorf("of many tables %d are unfolded from the beginning", n)
	}
}

// A run of controls alone says so on top; one without any says nothing of it.
func TestPageSaysWhatControlsAre(t *testing.T) {
	for _, tt := range []struct {
		control [2]bool
		want    string
	}{{[2]bool{true, true}, "Reference agents, no language model"}, {[2]bool{true, false}, "Some models are reference agents"}, {[2]bool{}, ""}} {
		p := page(t)
		for i := range tt.control {
			p.Runs[0].Manifest.Models[i].Control = tt.control[i]
		}
		ribbon := ""
		for _, n := range nodes(t, htmlOf(t, p)) {
			if n.Data == "aside" {
				ribbon = textIn(n)
			}
		}
		if !strings.HasPrefix(ribbon, tt.want) || (ribbon == "") != (tt.want == "") {
			t.Errorf("%v: %q, want %q", tt.control, ribbon, tt.want)
		}
	}
}

// What servers and files say stays text, wherever it stands.
func TestPageKeepsHostileWordsAsText(t *testing.T) {
	p := page(t)
	p.Summary = analysis.Summary{Title: hostile, Findings: []analysis.Finding{{Text: hostile}}, Lost: []string{hostile}}
	p.Runs[0].Name, p.Runs[0].Manifest.Models[0].Name = hostile, hostile
	p.Runs[0].Manifest.Study, _ = json.Marshal(map[string]string{"name": hostile})
	p.Runs[0].Prompts["audit.txt"] = hostile
	for _, row := range p.Tables[0].Rows {
		row[0].Label, row[0].Tag = hostile, hostile
	}
	p.Figures[0].Title = hostile
	trial := walk()
	trial.Key, trial.Model, trial.Outcome, trial.Error = "f00", hostile, record.Failed, hostile
	if err := p.Trials.Add(hostile, trial, silent); err != nil {
		t.Fatal(err)
	}
	page := htmlOf(t, p)
	if strings.ContainsAny(page, "\x1b\u202e") {
		t.Error("control characters reach the page")
	}
	scripts := 0
	for _, n := range nodes(t, page) {
		if n.Data == "script" && n.Type == html.ElementNode {
			scripts++
		}
	}
	if scripts != 3 {
		t.Errorf("%d scripts, want the trials and two", scripts)
	}
	raw, err := json.Marshal(unpack(t, page))
	if err != nil || bytes.ContainsAny(raw, "\x1b\u202e") {
		t.Errorf("control characters reach the trials (%v)", err)
	}
}

// A row leads to the trials behind it, and to none where there are none.
func TestRowsLeadToTheirTrials(t *testing.T) {
	p := page(t)
	p.Tables[0].Columns[2].DataOnly = false
	detection := walk()
	detection.Key, detection.Task, detection.Regime, detection.Outcome, detection.Steps, detection.Death = "d0", record.Detect, "L1", record.Done, nil, nil
	in := lakeOf(7)
	in.Regime = "L1"
	p.Trials.AddInstance(*in)
	if err := p.Trials.Add("runs/mine", detection, silent); err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, n := range nodes(t, htmlOf(t, p)) {
		if n.Data == "a" && strings.HasPrefix(attr(n, "href"), "#trials?") {
			links = append(links, attr(n, "href"))
		}
	}
	if diff := cmp.Diff([]string{"#trials?modality=text&model=openai%2Fgpt-4o&regime=L1"}, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

// A page holds so many trials; of more it has the first, says so, and names the
// command that shows the others.
func TestPageCapsTrials(t *testing.T) {
	p := page(t)
	const all = 100_000 + 1
	trial := walk()
	trial.Outcome, trial.Death, trial.Steps, trial.Windows = record.Failed, nil, nil, nil
	for i := range all - 1 { // the page has one
		trial.Key = fmt.Sprintf("%010d", i)
		if err := p.Trials.Add("runs/mine", trial, silent); err != nil {
			t.Fatal(err)
		}
	}
	page := htmlOf(t, p)
	if n := len(unpack(t, page).Trials); n != all-1 {
		t.Errorf("the page has %d trials", n)
	}
	for _, want := range []string{"This page has the first 100,000 of 100,001 trials (100,000 failed)", "spatialstale trace runs/mine --seed SEED"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// A comparison is a page of tables alone.
func TestPageOfTables(t *testing.T) {
	page := htmlOf(t, &report.Page{Summary: analysis.Summary{Title: "runs/a and runs/b"}, Tables: sample()})
	if n := strings.Count(page, " open>"); n != 4 {
		t.Errorf("of two topics and two tables %d are unfolded", n)
	}
	for _, absent := range []string{"Methods</h2>", "Trials</h2>", "Findings</h2>", "What was lost", `id="trial-data"`} {
		if strings.Contains(page, absent) {
			t.Errorf("a page of tables has %q", absent)
		}
	}
	if !strings.Contains(page, "runs/a and runs/b") || !strings.Contains(page, "Contrasts of strategies") {
		t.Error("the page lacks its title or a table")
	}
}

// TableHTML is the table of the page, for another page.
func TestTableHTML(t *testing.T) {
	var b bytes.Buffer
	if err := report.TableHTML(&b, &sample()[0]); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.html", b.Bytes())
}

// packed is what the page's script reads.
type packed struct {
	Trials []struct {
		Key, Outcome, Cause, Error string
		Setting, Lake, Episode     int
		Memory                     bool
		Steps                      []struct {
			Action         string
			Next           record.Pos
			Event, Dropped []record.Flip
			Removed        []int
			Visible        []string
			Fallback       bool
			Reply          string
		}
		Audits []struct {
			Moves                      int
			Stale, Unanswered, Skipped []int
			Visible                    []string
		}
	}
	Settings []struct {
		Run, Task, Model, Strategy string
		Rows                       int
	}
	Lakes []record.Instance
	Words map[string]struct {
		Replies map[string][2]string
		Reasons map[string]map[string]string
	}
}

func unpack(t interface{ Fatal(...any) }, page string) packed {
	_, data, _ := strings.Cut(page, `id="trial-data">`)
	data, _, _ = strings.Cut(data, "<")
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	trials := bytes.Split(bytes.TrimSpace(lines), []byte("\n"))
	var doc packed
	if err := json.Unmarshal(trials[len(trials)-1], &doc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(slices.Concat([]byte("["), bytes.Join(trials[:len(trials)-1], []byte(",")), []byte("]")), &doc.Trials); err != nil {
		t.Fatal(err)
	}
	return doc
}

// A trial on the page is that of the record.
func TestTrialsOnThePage(t *testing.T) {
	doc := unpack(t, htmlOf(t, page(t)))
	got := doc.Trials[0]
	if got.Key != "0123456789abcdef" || got.Outcome != "death" || got.Cause != "stale-shown" || !got.Memory || got.Episode != 1 {
		t.Errorf("the trial is %+v", got)
	}
	a := got.Audits[0]
	if !slices.Equal(a.Stale, []int{1, 2}) || !slices.Equal(a.Unanswered, []int{3}) || a.Skipped != nil {
		t.Errorf("the audit is %+v", a)
	}
	steps, _ := json.Marshal(got.Steps)
	want := `[{"Action":"UP","Next":[0,0],"Event":null,"Dropped":null,"Removed":[1,2],"Visible":null,"Fallback":false,"Reply":""},` +
		`{"Action":"RIGHT","Next":[0,1],"Event":[[0,1,"H"]],"Dropped":[[1,1,"F"]],"Removed":[1],"Visible":["1100","1000","0000","0000"],"Fallback":true,"Reply":"refusal"}]`
	if diff := cmp.Diff(want, string(steps)); diff != "" {
		t.Errorf("the steps (-want +got):\n%s", diff)
	}
	if s := doc.Settings[0]; s.Run != "runs/mine" || s.Strategy != "omcd" || s.Rows != 4 {
		t.Errorf("the setting is %+v", s)
	}
	if diff := cmp.Diff(lakeOf(7), &doc.Lakes[0]); diff != "" {
		t.Errorf("the lake (-want +got):\n%s", diff)
	}
	words := doc.Words["0"]
	if words.Replies["window0/batch0"][0] != "I would rather not." || words.Replies["step1"] != [2]string{`{"action":"UP"}`, "up is best"} || words.Reasons["0"]["1"] != "it looks so" {
		t.Errorf("the words are %+v", words)
	}
}
