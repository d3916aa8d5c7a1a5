package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// A trialIndex is the lists of trials of a page, and finds those behind a row
// of a table.
type trialIndex struct {
	groups []*trialGroup
	ids    map[*trialGroup]string
	models map[taskModel]string // id of a model's lists of one task
}

type taskModel struct{ task, model string }

func newTrialIndex(t *Trials) *trialIndex {
	x := &trialIndex{ids: map[*trialGroup]string{}, models: map[taskModel]string{}}
	if t == nil {
		return x
	}
	x.groups = t.groups()
	for i, g := range x.groups {
		x.ids[g] = "set-" + strconv.Itoa(i+1)
		key := taskModel{g.task, g.model}
		if x.models[key] == "" {
			x.models[key] = fmt.Sprintf("trials-%s-%d", g.task, len(x.models)+1)
		}
	}
	return x
}

// Names of columns that say of which trials a row is.
var trialColumns = map[string]func(g *trialGroup, value string) bool{
	"task":     func(g *trialGroup, v string) bool { return g.task == v },
	"model":    func(g *trialGroup, v string) bool { return g.model == v },
	"modality": func(g *trialGroup, v string) bool { return g.modality == v },
	"strategy": func(g *trialGroup, v string) bool { return g.strategy == v },
	"detector": func(g *trialGroup, v string) bool { return g.task == record.Detect && g.strategy == v },
	"contrast": func(g *trialGroup, v string) bool { return slices.Contains(strings.Split(v, " minus "), g.strategy) },
	"batch":    func(g *trialGroup, v string) bool { return g.batch == 0 || strconv.Itoa(g.batch) == v }, // 0: not audited in batches
	"framing":  func(g *trialGroup, v string) bool { return g.framing == v },
	"grid":     func(g *trialGroup, v string) bool { return fmt.Sprintf("%dx%d", g.rows, g.cols) == v },
	"regime":   func(g *trialGroup, v string) bool { return slices.Contains(strings.Split(v, "+"), g.regime) },
}

// links returns where the trials behind a row are listed: each setting's own
// list where there are one or two, or else all lists of the model and task.
func (x *trialIndex) links(t *analysis.Table, row []analysis.Cell) []htmlLink {
	asked := false
	// Rows of strategies, or of two of them, are of episodes alone, unless scores
	// of detections stand beside them.
	walks := columnByKey(t, "contrast") >= 0 || columnByKey(t, "strategy") >= 0 && columnByKey(t, "f1") < 0
	var of []*trialGroup
	for _, g := range x.groups {
		fits := !walks || g.task == record.Navigate
		for i := range t.Columns {
			is, ok := trialColumns[t.Columns[i].Key]
			if !ok || t.Columns[i].Kind != analysis.Label || row[i].Label == "" {
				continue
			}
			asked = asked || t.Columns[i].Key == "model"
			fits = fits && is(g, row[i].Label)
		}
		if fits {
			of = append(of, g)
		}
	}
	if !asked {
		return nil
	}
	var links []htmlLink
	for _, task := range []string{record.Detect, record.Navigate} {
		var here []*trialGroup
		n := 0
		for _, g := range of {
			if g.task == task {
				here = append(here, g)
				n += g.ended()
			}
		}
		if len(here) > 2 {
			links = append(links, linkTo(x.models[taskModel{task, here[0].model}], task, n))
			continue
		}
		for _, g := range here {
			links = append(links, linkTo(x.ids[g], task, g.ended()))
		}
	}
	return links
}

func linkTo(id, task string, n int) htmlLink {
	what := counted(n, "audit")
	if task == record.Navigate {
		what = counted(n, "walk")
	}
	return htmlLink{To: "#" + id, Text: thousands(n), Label: what + " behind this row"}
}

// A htmlTask is all lists of one task.
type htmlTask struct {
	Task   string
	Title  string
	Models []htmlTrialModel
}

type htmlTrialModel struct {
	ID, Name string
	Control  bool
	Sets     []htmlTrialSet
}

// An htmlTrialSet is one setting's list of trials.
type htmlTrialSet struct {
	ID, Name, Ended string
	Bar             template.HTML
	Trace           string
	Heads           []string
	Rows            template.HTML // of numbers and links to replays only
	Unlisted        string
}

// tasks lays out all lists of trials.
func (x *trialIndex) tasks(replays *replaySet, several bool, left *leftOut) []htmlTask {
	var out []htmlTask
	for _, g := range x.groups {
		if len(out) == 0 || out[len(out)-1].Task != g.task {
			title := "Detection"
			if g.task == record.Navigate {
				title = "Navigation"
			}
			out = append(out, htmlTask{Task: g.task, Title: title})
		}
		task := &out[len(out)-1]
		id := x.models[taskModel{g.task, g.model}]
		if n := len(task.Models); n == 0 || task.Models[n-1].ID != id {
			task.Models = append(task.Models, htmlTrialModel{ID: id, Name: clean(g.model), Control: strings.HasPrefix(g.model, "ref/")})
		}
		m := &task.Models[len(task.Models)-1]
		set := x.set(g, replays, several)
		if left.lists[set.ID] {
			set.Heads, set.Rows = nil, ""
			set.Unlisted = left.left("The list is", "This writes all trials: spatialstale export "+quoted(g.run)+" --format jsonl --out DIR")
		}
		m.Sets = append(m.Sets, set)
	}
	return out
}

func (x *trialIndex) set(g *trialGroup, replays *replaySet, several bool) htmlTrialSet {
	s := htmlTrialSet{ID: x.ids[g], Ended: endedWords(g), Trace: traceCommand(g)}
	parts := []string{g.regime, g.modality, analysis.StrategyName(g.strategy)}
	if x.vary(g, func(o *trialGroup) bool { return o.batch != g.batch }) && g.batch > 0 {
		parts = append(parts, fmt.Sprintf("batches of %d", g.batch))
	}
	if x.vary(g, func(o *trialGroup) bool { return o.framing != g.framing }) {
		parts = append(parts, "framing "+g.framing)
	}
	if x.vary(g, func(o *trialGroup) bool { return o.rows != g.rows || o.cols != g.cols }) {
		parts = append(parts, fmt.Sprintf("%d×%d", g.rows, g.cols))
	}
	if several {
		parts = append(parts, "run "+g.run)
	}
	s.Name = clean(strings.Join(parts, " · "))
	if g.task == record.Detect {
		s.detections(g, replays)
	} else {
		s.walks(g, replays)
		s.Bar = outcomeBar(g)
	}
	if n := g.ended() - len(g.lines); n > 0 {
		s.Unlisted = fmt.Sprintf("%s more are not listed here: a page lists the first %s trials of its runs.", thousands(n), thousands(listedTrials))
	}
	return s
}

// vary reports whether another setting of the same trials, but for one thing,
// differs in it.
func (x *trialIndex) vary(g *trialGroup, differs func(*trialGroup) bool) bool {
	return slices.ContainsFunc(x.groups, func(o *trialGroup) bool {
		return o.task == g.task && o.strategy == g.strategy && differs(o)
	})
}

// endedWords says how a setting's trials ended.
func endedWords(g *trialGroup) string {
	var parts []string
	for _, o := range []struct{ outcome, one, many string }{
		{record.Done, "audit", "audits"}, {record.Success, "success", "successes"}, {record.Death, "death", "deaths"},
		{record.Timeout, "timeout", "timeouts"}, {record.Failed, "failed", "failed"},
	} {
		switch n := g.outcomes[o.outcome]; {
		case n == 1:
			parts = append(parts, "1 "+o.one)
		case n > 1:
			parts = append(parts, thousands(n)+" "+o.many)
		}
	}
	if n := g.planned - g.ended(); n > 0 {
		parts = append(parts, thousands(n)+" without a record")
	}
	return strings.Join(parts, ", ")
}

// traceCommand shows one trial of the setting on a terminal.
func traceCommand(g *trialGroup) string {
	command := fmt.Sprintf("spatialstale trace %s --task %s --model %s --modality %s --regime %s --strategy %s --seed SEED",
		quoted(g.run), g.task, quoted(g.model), g.modality, g.regime, g.strategy)
	if g.task == record.Navigate {
		command += " --episode N"
	}
	return clean(command)
}

// quoted protects a word from a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.:@+,") == "" && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// outcomeBar draws the shares of a setting's outcomes.
func outcomeBar(g *trialGroup) template.HTML {
	const width = 120
	all := max(g.planned, g.ended())
	if all == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bar" viewBox="0 0 %d 10" width="%d" height="10" aria-hidden="true"><rect class="o-none" width="%d" height="10"/>`, width, width, width)
	x := 0.0
	for _, o := range []struct{ outcome, class string }{{record.Success, "o-success"}, {record.Timeout, "o-timeout"}, {record.Death, "o-death"}} {
		w := float64(g.outcomes[o.outcome]) / float64(all) * width
		if w > 0 {
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" width="%.1f" height="10"/>`, o.class, x, w)
		}
		x += w
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// walks lists episodes: a line a seed, a column an episode.
func (s *htmlTrialSet) walks(g *trialGroup, replays *replaySet) {
	episodes := map[int]bool{}
	bySeed := map[int]map[int]*trialLine{}
	var seeds, numbers []int
	for i := range g.lines {
		l := &g.lines[i]
		if bySeed[l.seed] == nil {
			bySeed[l.seed] = map[int]*trialLine{}
			seeds = append(seeds, l.seed)
		}
		bySeed[l.seed][l.episode] = l
		if !episodes[l.episode] {
			episodes[l.episode] = true
			numbers = append(numbers, l.episode)
		}
	}
	slices.Sort(seeds)
	slices.Sort(numbers)
	s.Heads = []string{"seed"}
	for _, n := range numbers {
		s.Heads = append(s.Heads, strconv.Itoa(n))
	}
	var b strings.Builder
	for _, seed := range seeds {
		fmt.Fprintf(&b, "<tr><th scope=row>%d", seed)
		for _, n := range numbers {
			writeWalk(&b, bySeed[seed][n], replays)
		}
		b.WriteByte('\n')
	}
	s.Rows = template.HTML(b.String())
}

// writeWalk writes one episode's cell: its steps, and a sign for its end.
func writeWalk(b *strings.Builder, l *trialLine, replays *replaySet) {
	if l == nil {
		b.WriteString("<td class=no>–")
		return
	}
	class, text := "s", strconv.Itoa(l.steps)
	switch {
	case l.outcome == record.Timeout:
		class, text = "t", text+"…"
	case l.outcome == record.Death && l.cause == record.CauseStaleShown:
		class, text = "d", text+"✕"
	case l.outcome == record.Death:
		class, text = "d", text+"†"
	case l.outcome == record.Failed:
		class, text = "no", "failed"
	}
	fmt.Fprintf(b, "<td class=%s>%s", class, replays.anchor(l.key, text))
}

// detections lists audits, a line a seed.
func (s *htmlTrialSet) detections(g *trialGroup, replays *replaySet) {
	s.Heads = []string{"seed", "stale", "found", "missed", "flagged wrongly", "no answer", "F1"}
	lines := slices.Clone(g.lines)
	slices.SortStableFunc(lines, func(a, b trialLine) int { return a.seed - b.seed })
	var b strings.Builder
	for i := range lines {
		l, c := &lines[i], lines[i].counts
		fmt.Fprintf(&b, "<tr><th scope=row>%s", replays.anchor(l.key, strconv.Itoa(l.seed)))
		if l.outcome == record.Failed {
			b.WriteString("<td class=no colspan=6>failed\n")
			continue
		}
		f1 := dash
		if v := c.F1(); v != nil {
			f1 = decimal(*v, 3)
		}
		missed := strconv.Itoa(c.FN)
		fmt.Fprintf(&b, "<td>%d<td>%d<td>%s<td>%d<td>%d<td>%s\n", c.TP+c.FN, c.TP, missed, c.FP, c.Unanswered, f1)
	}
	s.Rows = template.HTML(b.String())
}

// anchor links a trial to its replay, if the page has that.
func (s *replaySet) anchor(key, text string) string {
	if !s.embedded(key) {
		return text
	}
	return `<a href="#replay-` + template.HTMLEscapeString(template.URLQueryEscaper(key)) + `">` + text + `</a>`
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
