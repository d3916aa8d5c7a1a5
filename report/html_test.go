package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// page makes a page of an invented run, whose models say what words returns.
func (v *invented) page(tb testing.TB, words func(slot string) string) *Page {
	tb.Helper()
	p := &Page{Tables: v.all(tb), Trials: &Trials{}}
	manifest := record.Manifest{
		Program: "v0", Go: "go0", Created: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC),
		Study:     json.RawMessage(`{"name":"invented","seeds":[1,2],"sizes":["8x8"],"regimes":["L1"],"navigation":{"modalities":["text"],"strategies":[{"name":"omcd","batch":10}],"episodes":2},"params":{}}`),
		Prompts:   map[string]string{"audit.txt": "ab", "navigate.txt": "cd"},
		Instances: map[string]string{"1/8x8/L1": "ef"},
	}
	for _, m := range v.models {
		manifest.Models = append(manifest.Models, record.ModelInfo{Name: m.name, Control: strings.HasPrefix(m.name, "ref/")})
	}
	sent := SentPrompt{About: "an audit", Trial: "t", Slot: "window0/batch0", Reply: words("sent"),
		Parts: []record.Part{{Kind: record.PartText, Data: []byte("Is it <stale>?")}, {Kind: record.PartPNG, Data: []byte("png")}}}
	p.Runs = []PageRun{{Name: "some-run", Manifest: manifest, Prompts: map[string]string{"audit.txt": "Audit & answer."}, Sent: []SentPrompt{sent}}}
	for _, f := range v.collect(tb).Figures() {
		one := PageFigure{Figure: &f}
		if len(f.Panels) > 0 {
			one.Light, one.Dark = []byte("<svg>light</svg>"), []byte("<svg>dark</svg>")
		}
		p.Figures = append(p.Figures, one)
	}
	byKey := map[string]*record.Trial{}
	for i := range v.plan {
		p.Trials.Expect("some-run", &v.plan[i])
	}
	for _, t := range v.trials {
		p.Trials.Add("some-run", t)
		byKey[t.Key] = t
	}
	p.Replay = func(key string) (*Replay, error) {
		t := byKey[key]
		if t == nil {
			return nil, errors.New("no such trial")
		}
		in := v.instance(t.Seed, t.Rows, t.Regime, 0)
		r := &Replay{Story: Story{Trial: t, Instance: in}}
		for i := range t.Steps {
			slot := fmt.Sprintf("step%d", i+1)
			r.Calls = append(r.Calls, &record.Call{Slot: slot, Reply: words(slot), Reasoning: words("thinking")})
		}
		return r, nil
	}
	return p
}

func quiet(string) string { return `{"action": "DOWN"}` }

func htmlOf(tb testing.TB, p *Page) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := HTML(&b, p); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// nodes returns a page's elements in order.
func nodes(tb testing.TB, page []byte) []*html.Node {
	tb.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		tb.Fatal(err)
	}
	var out []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
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
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// A page loads nothing, runs nothing but its own script, and its links lead
// somewhere.
func TestPageStandsAlone(t *testing.T) {
	for name, p := range map[string]*Page{"named": named().page(t, quiet), "broken": broken().page(t, quiet), "framing": ablation("framing").page(t, quiet)} {
		t.Run(name, func(t *testing.T) {
			all := nodes(t, htmlOf(t, p))
			ids := map[string]bool{}
			for _, n := range all {
				if id := attr(n, "id"); id != "" {
					if ids[id] {
						t.Errorf("two elements have the id %q", id)
					}
					ids[id] = true
				}
			}
			policy := ""
			for _, n := range all {
				if attr(n, "http-equiv") == "Content-Security-Policy" {
					policy = attr(n, "content")
				}
				for _, a := range n.Attr {
					switch {
					case a.Key == "style", strings.HasPrefix(a.Key, "on"):
						t.Errorf("<%s %s=%q>: the policy forbids it", n.Data, a.Key, a.Val)
					case a.Key == "src", a.Key == "srcset":
						kind, encoded, _ := strings.Cut(a.Val, ";base64,")
						if _, err := base64.StdEncoding.DecodeString(encoded); err != nil || !strings.HasPrefix(kind, "data:image/") {
							t.Errorf("<%s> loads %q", n.Data, a.Val)
						}
					case a.Key == "href":
						target, err := url.QueryUnescape(strings.TrimPrefix(a.Val, "#"))
						if err != nil || a.Val == target || !ids[target] {
							t.Errorf("a link leads nowhere: %q", a.Val)
						}
					case a.Key == "aria-labelledby", a.Key == "for":
						if !ids[a.Val] {
							t.Errorf("%s %q names nothing", a.Key, a.Val)
						}
					}
				}
				switch n.Data {
				case "link", "iframe", "object", "embed", "base":
					t.Errorf("the page has a <%s>", n.Data)
				case "style", "script":
					if attr(n, "type") == "application/json" {
						continue
					}
					sum := sha256.Sum256([]byte(textIn(n)))
					if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, n.Data+"-src "+want) {
						t.Errorf("the policy %q does not let the page's own <%s> be, %s", policy, n.Data, want)
					}
				case "th":
					if attr(n, "scope") == "" {
						t.Errorf("a head cell without a scope: %q", textIn(n))
					}
				case "img":
					if attr(n, "alt") == "" {
						t.Error("a picture without words")
					}
				}
			}
			if !strings.HasPrefix(policy, "default-src 'none'; img-src data:; ") {
				t.Errorf("policy %q", policy)
			}
		})
	}
}

// Whatever a model says stays text.
func TestPageKeepsHostileWordsAsText(t *testing.T) {
	const evil = "</script><script>alert(1)</script><!--<script>\u202eevil\u2066 \x00 \xff\x1b[2J {{.}} &lt;"
	v := named()
	v.seeds = 1
	for i := range v.models {
		v.models[i].name = "openai/<b onclick=alert(1)>" + string(rune('a'+i))
	}
	v.instances, v.plan, v.trials = nil, nil, nil
	p := v.make().page(t, func(string) string { return evil })
	for _, tr := range v.trials {
		for i := range tr.Windows {
			for j := range tr.Windows[i].Judgments {
				tr.Windows[i].Judgments[j].Reason = evil
			}
		}
		if tr.Outcome == record.Failed {
			tr.Error = evil
		}
	}
	p.Runs[0].Name = evil
	p.Runs[0].Manifest.Models[0].Note = evil
	p.Runs[0].Prompts["audit.txt"] = evil
	page := htmlOf(t, p)
	for _, mark := range []string{"\u202e", "\u2066", "\x00", "\xff", "\x1b", "\\u0000", "\\u001b", "\\u202e"} {
		if bytes.Contains(page, []byte(mark)) {
			t.Errorf("the page holds %q", mark)
		}
	}
	scripts, said := 0, 0
	for _, n := range nodes(t, page) {
		if n.Data == "b" && attr(n, "onclick") != "" {
			t.Error("a model's name became markup")
		}
		if n.Data != "script" {
			continue
		}
		if attr(n, "type") != "application/json" {
			scripts++
			continue
		}
		var block map[string]any
		if err := json.Unmarshal([]byte(textIn(n)), &block); err != nil {
			t.Errorf("%s is no JSON: %v", attr(n, "id"), err)
		}
		if steps, ok := block["steps"].([]any); ok && len(steps) > 0 {
			said++
			if reply := steps[0].(map[string]any)["reply"]; reply != "</script><script>alert(1)</script><!--<script>\ufffdevil\ufffd \ufffd \ufffd\ufffd[2J {{.}} &lt;" {
				t.Errorf("the words became %q", reply)
			}
		}
	}
	if scripts != 1 || said == 0 {
		t.Errorf("%d scripts run, want the page's own; %d replays hold words", scripts, said)
	}
}

// A report on built-in agents says so in every part; one on models does not.
func TestPageSaysWhatControlsAre(t *testing.T) {
	const note = "Reference agents, no language model"
	parts := func(p *Page) (sections, notes int) {
		for _, n := range nodes(t, htmlOf(t, p)) {
			switch {
			case n.Data == "h2":
				sections++
			case attr(n, "class") == "control-note" && textIn(n) == note:
				notes++
			}
		}
		return sections, notes
	}
	v := broken()
	if sections, notes := parts(v.page(t, quiet)); sections < 4 || notes != sections {
		t.Errorf("of %d parts of a report on controls, %d say so", sections, notes)
	}
	v = named()
	if _, notes := parts(v.page(t, quiet)); notes != 0 {
		t.Errorf("a report on a model says %d times that it is on none", notes)
	}
	p := v.page(t, quiet)
	for i := range p.Runs[0].Manifest.Models {
		p.Runs[0].Manifest.Models[i].ServerModels = []string{"ref/mixed?tpr=0.7"}
	}
	if sections, notes := parts(p); notes != sections {
		t.Errorf("of %d parts of a rehearsal, %d say that it is one", sections, notes)
	}
}

// A row leads to the trials that it is made of, and to no others.
func TestRowsLeadToTheirTrials(t *testing.T) {
	v := named()
	p := v.page(t, quiet)
	x := newTrialIndex(p.Trials)
	followed := 0
	for i := range p.Tables {
		tab := &p.Tables[i]
		if tab.ID != "navigation-text" && tab.ID != "detection" && tab.ID != "deaths" {
			continue
		}
		key := func(row int, name string) string { return tab.Rows[row][columnByKey(tab, name)].Label }
		for r, row := range tab.Rows {
			links := x.links(tab, row)
			if len(links) != 1 {
				t.Fatalf("%s, row %d: %d links", tab.ID, r, len(links))
			}
			at := slices.IndexFunc(x.groups, func(g *trialGroup) bool { return "#"+x.ids[g] == links[0].To })
			if at < 0 {
				t.Fatalf("%s, row %d leads to %s", tab.ID, r, links[0].To)
			}
			g := x.groups[at]
			by := "strategy"
			if tab.ID == "detection" {
				by = "detector"
			}
			if g.model != key(r, "model") || g.regime != key(r, "regime") || g.strategy != key(r, by) || g.modality != key(r, "modality") {
				t.Errorf("%s, row %d leads to %+v", tab.ID, r, g.trialSetting)
			}
			followed++
		}
	}
	if followed == 0 {
		t.Error("no row was followed")
	}
	contrasts := tableByID(p.Tables, "contrasts")
	for r, row := range contrasts.Rows {
		var led []string
		for _, l := range x.links(contrasts, row) {
			at := slices.IndexFunc(x.groups, func(g *trialGroup) bool { return "#"+x.ids[g] == l.To })
			if at < 0 || x.groups[at].task != record.Navigate || x.groups[at].regime != row[columnByKey(contrasts, "regime")].Label {
				t.Fatalf("contrast %d leads to %s", r, l.To)
			}
			led = append(led, x.groups[at].strategy)
		}
		want := strings.Split(row[columnByKey(contrasts, "contrast")].Label, " minus ")
		slices.Sort(led)
		slices.Sort(want)
		if !slices.Equal(led, want) {
			t.Errorf("contrast %d leads to %v, want %v", r, led, want)
		}
	}
}

// The lists hold every trial once, and link what is embedded.
func TestTrialListsAreWhole(t *testing.T) {
	v := broken()
	p := v.page(t, quiet)
	page := htmlOf(t, p)
	cells := regexp.MustCompile(`(?s)<td class=(?:s|d|t|no)>([^<\n]*|<a[^<]*</a>)`).FindAllSubmatch(page, -1)
	walks, missing := 0, 0
	for _, c := range cells {
		if string(c[1]) == dash {
			missing++
		} else {
			walks++
		}
	}
	want := 0
	for _, tr := range v.trials {
		if tr.Task == record.Navigate {
			want++
		}
	}
	if walks != want {
		t.Errorf("%d walks are listed, %d ended (%d cells without one)", walks, want, missing)
	}
	for _, key := range p.Trials.Chosen() {
		if !bytes.Contains(page, []byte(`href="#replay-`+url.QueryEscape(key)+`"`)) {
			t.Errorf("the replay of %s is not linked", key)
		}
	}
}

// With all replays, each ended trial has one.
func TestAllReplays(t *testing.T) {
	v := named()
	p := v.page(t, quiet)
	p.AllReplays = true
	got := 0
	for _, n := range nodes(t, htmlOf(t, p)) {
		if strings.HasPrefix(attr(n, "id"), "replay-") && n.Data == "script" {
			got++
		}
	}
	if got != len(v.trials) {
		t.Errorf("%d replays for %d trials", got, len(v.trials))
	}
}

// Talkative models do not make the page larger than its room.
func TestReplaysKeepTheirRoom(t *testing.T) {
	p := broken().page(t, func(string) string { return strings.Repeat("I see a hole. ", 2_000) })
	page := htmlOf(t, p)
	if len(page) > 5_000_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if !bytes.Contains(page, []byte("left out for want of room")) {
		t.Error("the page does not say that replays were left out")
	}
}

// The same records make the same page.
func TestPageIsTheSameAgain(t *testing.T) {
	a, b := htmlOf(t, named().page(t, quiet)), htmlOf(t, named().page(t, quiet))
	if !bytes.Equal(a, b) {
		t.Error("two pages of the same records differ")
	}
}

// What people get, without style and script.
func TestPageGolden(t *testing.T) {
	v := &invented{models: []inventedModel{controls[0], gpt4o}, seeds: 1, episodes: 2, modalities: []string{record.Text}}
	p := v.make().page(t, quiet)
	p.Tables = only(p.Tables, "regimes", "detection", "navigation-text", "navigation-vision")
	p.Figures = p.Figures[:3]
	page := htmlOf(t, p)
	for _, own := range []string{pageCSS, pageJS} {
		page = bytes.Replace(page, []byte(own), []byte("…"), 1)
	}
	page = regexp.MustCompile(`content="default-src[^"]*"`).ReplaceAll(page, []byte(`content="…"`))
	page = regexp.MustCompile(`(json" id="[^"]*">.{200})[^\n]*`).ReplaceAll(page, []byte("$1…"))
	golden(t, "page.html", page)
}

// The cards on top have a line for each model and regime, on an axis that holds
// every interval, in the plan's order and whatever came out.
func TestHeadlines(t *testing.T) {
	v := named()
	tables := v.all(t)
	cards := headlines(tables)
	if len(cards) != 3 {
		t.Fatalf("%d cards", len(cards))
	}
	for _, c := range cards {
		lines, lossy := 0, false
		for _, m := range c.Models {
			whole := true
			for k, l := range m.Lines {
				lines++
				whole = whole && l.Lost == ""
				if want := []string{"L1", "L2", "L3"}[k]; l.Label != want {
					t.Errorf("%s: line %d is %q", c.Title, k+1, l.Label)
				}
			}
			if (m.Mean != "") != whole {
				t.Errorf("%s: the mean of %s is %q, none is lost: %v", c.Title, m.Name, m.Mean, whole)
			}
			lossy = lossy || !whole
		}
		if lines != len(v.models)*3 || c.Need != "" || c.Lossy != lossy || !lossy { // a few trials of this run failed
			t.Errorf("%s: %d lines, need %q, lossy %v", c.Title, lines, c.Need, c.Lossy)
		}
	}
	for _, c := range headlines(ablation("batch").all(t)) {
		if c.Need == "" || len(c.Models) > 0 {
			t.Errorf("%s: a run without it does not say what it needs", c.Title)
		}
	}
}

// handmadeTables are a headline of two planned settings and the contrasts that
// have their bounds.
func handmadeTables(rows ...handmadeRow) []analysis.Table {
	label := func(key string) analysis.Column { return analysis.Column{Key: key, Kind: analysis.Label} }
	head := analysis.Table{ID: headlineTable, Need: "episodes", Columns: []analysis.Column{
		{Key: "model", Kind: analysis.Label, Section: true}, label("regime"), label("contrast"), {Key: "asks", Kind: analysis.Label, DataOnly: true}, {Key: "seeds", Kind: analysis.Count},
		{Key: "success_difference", Kind: analysis.Paired, Decimals: 2, Brief: true}, {Key: "success_interval", Kind: analysis.Interval, Decimals: 2}, {Key: "success_p", Kind: analysis.PValue, Decimals: 3},
	}}
	tests := analysis.Table{ID: contrastTable, Columns: []analysis.Column{
		{Key: "model", Kind: analysis.Label}, label("measure"), label("regime"), label("contrast"),
		{Key: "difference_least", Kind: analysis.Number}, {Key: "difference_most", Kind: analysis.Number},
	}}
	for _, r := range rows {
		model, regime, contrast := analysis.Cell{Label: "m"}, analysis.Cell{Label: r.regime}, analysis.Cell{Label: "no-filter minus no-memory"}
		head.Rows = append(head.Rows, []analysis.Cell{
			model, regime, contrast, {Label: asked[0].asks}, {Count: r.whole, Of: r.planned}, {Value: r.difference}, {Low: r.low, High: r.high}, {},
		})
		for _, measure := range []string{"death", "success"} {
			least, most := r.least, r.most
			if measure == "death" {
				least, most = new(-0.01), new(0.01)
			}
			tests.Rows = append(tests.Rows, []analysis.Cell{model, {Label: measure}, regime, contrast, {Value: least}, {Value: most}})
		}
	}
	return []analysis.Table{head, tests}
}

type handmadeRow struct {
	regime                             string
	whole, planned                     int
	difference, low, high, least, most *float64
}

// A setting that the run plans has its line also when its trials were lost: with
// the seeds that are whole of those that were planned, and what the lost ones
// could change. That of success, not of death.
func TestHeadlinesKeepLostRows(t *testing.T) {
	cards := headlines(handmadeTables(
		handmadeRow{"L1", 0, 8, nil, nil, nil, new(-0.92), new(0.58)},
		handmadeRow{"L2", 1, 8, new(-0.25), new(-0.5), new(0.25), new(-0.965), new(0.935)},
		handmadeRow{"L3", 8, 8, new(-0.5), new(-0.75), new(-0.25), new(-0.5), new(-0.5)},
		handmadeRow{"L4", 0, 8, nil, nil, nil, nil, nil},
	))
	c := cards[0]
	if c.Need != "" || !c.Lossy || len(c.Models) != 1 || c.Models[0].Mean != "" || !strings.Contains(c.Shows, "lost trial") {
		t.Fatalf("%+v", c)
	}
	want := []struct{ value, interval, lost string }{
		{dash, dash, "all pairs lost (0/8 seeds); bounds −0.92 to +0.58"},
		{"−0.25", "[−0.50, 0.25]", "1/8 seeds whole; bounds −0.96 to +0.94"},
		{"−0.50", "[−0.75, −0.25]", ""},
		{dash, dash, "all pairs lost (0/8 seeds)"},
	}
	for i, l := range c.Models[0].Lines {
		if l.Value != want[i].value || l.Interval != want[i].interval || l.Lost != want[i].lost {
			t.Errorf("line %d: %q %q %q, want %+v", i+1, l.Value, l.Interval, l.Lost, want[i])
		}
		if drawn := strings.Contains(string(l.Bar), "whole-span"); drawn != (i < 2) {
			t.Errorf("line %d: %s", i+1, l.Bar)
		}
	}
	if c.High != "+1" {
		t.Errorf("the axis ends at %s and not beyond the bounds", c.High)
	}
	if audit := cards[1]; audit.Need == "" || len(audit.Models) > 0 {
		t.Errorf("what the run does not plan: %+v", audit)
	}
}

// The mean over a model's lines is that of all of them, by hand.
func TestHeadlinesMean(t *testing.T) {
	row := func(regime string, d float64) handmadeRow {
		return handmadeRow{regime, 8, 8, &d, new(d - 0.1), new(d + 0.1), &d, &d}
	}
	c := headlines(handmadeTables(row("L1", -0.2), row("L2", -0.6), row("L3", 0.05)))[0]
	if got, want := c.Models[0].Mean, "mean of 3: −0.25; range −0.60 to +0.05"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := c.Shows, "Every planned setting, in the plan’s order, on 8 seeds."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The rule of what is replayed: one lake under every strategy, where NoFilter
// died on a stale entry; what a setting lacks there; a faulty detection.
func TestChosen(t *testing.T) {
	trial := func(key, strategy string, seed int, outcome, cause string) *record.Trial {
		tr := &record.Trial{Spec: record.Spec{Key: key, Task: record.Navigate, Model: "m", Modality: "text", Regime: "L1", Seed: seed, Strategy: strategy, Episode: 1}, Outcome: outcome}
		if cause != "" {
			tr.Death = &record.DeathRecord{Cause: cause}
		}
		return tr
	}
	detection := func(key string, c record.Counts) *record.Trial {
		return &record.Trial{Spec: record.Spec{Key: key, Task: record.Detect, Model: "m", Strategy: "omcd"}, Outcome: record.Done, Counts: c}
	}
	var x Trials
	for _, tr := range []*record.Trial{
		detection("clean", record.Counts{TP: 5}),
		trial("none-1", "no-memory", 1, record.Success, ""),
		trial("raw-1", "no-filter", 1, record.Death, record.CauseWarned),
		trial("omcd-1", "omcd", 1, record.Success, ""),
		detection("faulty", record.Counts{TP: 5, FN: 1}),
		trial("none-2", "no-memory", 2, record.Success, ""),
		trial("raw-2", "no-filter", 2, record.Death, record.CauseStaleShown),
		trial("omcd-2", "omcd", 2, record.Death, record.CauseStaleRemoved),
		trial("none-3", "no-memory", 3, record.Failed, ""),
		trial("raw-3", "no-filter", 3, record.Success, ""),
		trial("omcd-3", "omcd", 3, record.Death, record.CauseStaleShown),
	} {
		x.Add("run", tr)
	}
	want := []string{"none-2", "raw-2", "omcd-2", "faulty", "none-1", "raw-3", "omcd-3", "omcd-1"}
	if got := x.Chosen(); !slices.Equal(got, want) {
		t.Errorf("chosen %v, want %v", got, want)
	}
}

// A replay shows the walk that the record holds.
func TestReplayFile(t *testing.T) {
	v := named()
	p := v.page(t, quiet)
	for _, tr := range v.trials[:40] {
		r, err := p.Replay(tr.Key)
		if err != nil {
			t.Fatal(err)
		}
		f, err := r.file()
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Steps) != len(tr.Steps) || len(f.Windows) != len(tr.Windows) {
			t.Fatalf("%s: %d steps and %d windows of %d and %d", tr.Key, len(f.Steps), len(f.Windows), len(tr.Steps), len(tr.Windows))
		}
		for i, s := range tr.Steps {
			if f.Steps[i].From != s.Pos || f.Steps[i].To != s.Next || len(f.Steps[i].Removed) != len(s.Removed) {
				t.Errorf("%s, step %d: %+v", tr.Key, i+1, f.Steps[i])
			}
			for k, n := range f.Steps[i].Removed {
				if r.Instance.Memory[n].ID != s.Removed[k] {
					t.Errorf("%s, step %d: entry %d stands for %s", tr.Key, i+1, n, s.Removed[k])
				}
			}
		}
		for i, w := range tr.Windows {
			for k, j := range w.Judgments {
				if f.Windows[i].Verdicts[k] != j.Verdict[0] {
					t.Errorf("%s, window %d, entry %s: %c for %s", tr.Key, i, j.MemoryID, f.Windows[i].Verdicts[k], j.Verdict)
				}
			}
		}
	}
}

func TestFlatten(t *testing.T) {
	got, err := flatten(json.RawMessage(`{"b": 1, "a": {"x": [1, 2], "y": "<z>", "none": {}}, "list": [{"k": "v", "n": 2}, {"k": "w"}], "no": null}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []setting{{"b", "1"}, {"a.x", "1, 2"}, {"a.y", "<z>"}, {"list", "k v, n 2; k w"}, {"no", dash}}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := flatten(json.RawMessage(`{"a": `)); err == nil {
		t.Error("a broken study is flattened")
	}
}

func BenchmarkHTML(b *testing.B) {
	p := complete().page(b, quiet)
	for b.Loop() {
		htmlOf(b, p)
	}
}
