package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/spatialstale/spatialstale/run"
)

// A display shows how far a run is. What it cannot write it leaves out: a run
// outlives its terminal.
type display interface {
	notice(line string) // something that happened
	show(all *run.Progress, models []run.Progress)
	end(all *run.Progress, models []run.Progress)
}

// How often a display is refreshed.
const (
	barsEvery  = 200 * time.Millisecond
	linesEvery = 5 * time.Second
	eventEvery = time.Second
)

// showProgress writes how far a session is until it is over.
func showProgress(w io.Writer, session *run.Session, asJSON bool) {
	var d display
	every := linesEvery
	models := session.Study().Models
	switch {
	case asJSON:
		d, every = &eventDisplay{w, models}, eventEvery
	case isTerminal(w):
		terminal, _ := file(w) // bars move the cursor themselves
		d, every = newBars(terminal, models), barsEvery
	default:
		d = &lineDisplay{w}
	}
	for e := range session.Events(every) {
		switch e.Kind {
		case run.Notice:
			d.notice(e.Text)
		case run.Ticked:
			d.show(e.Progress, e.Models)
		case run.Ended:
			d.end(e.Progress, e.Models)
		}
	}
}

// lineDisplay writes a line now and then.
type lineDisplay struct{ w io.Writer }

func (d *lineDisplay) notice(line string) { fmt.Fprintln(d.w, line) }

func (d *lineDisplay) show(all *run.Progress, models []run.Progress) {
	if all.Took >= linesEvery {
		d.end(all, models)
	}
}

func (d *lineDisplay) end(all *run.Progress, _ []run.Progress) { fmt.Fprintln(d.w, all) }

// bars draw a bar for each model.
type bars struct {
	progress *mpb.Progress
	bars     []*mpb.Bar
	set      []chan string // by model: the words beside its bar
}

func newBars(w io.Writer, models []string) *bars {
	b := &bars{progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(30), mpb.WithRefreshRate(barsEvery), mpb.WithAutoRefresh())}
	for i, name := range models {
		latest := make(chan string, 1)
		b.set = append(b.set, latest)
		shown := ""
		b.bars = append(b.bars, b.progress.New(0, mpb.BarStyle().Lbound("").Filler("━").Tip("━").Padding("─").Rbound(""),
			mpb.BarPriority(i),
			mpb.PrependDecorators(decor.Name(string(tame([]byte(shortModel(name))))+" ", decor.WCSyncSpaceR)),
			mpb.AppendDecorators(
				decor.CountersNoUnit(" %d/%d ", decor.WCSyncSpace),
				decor.Any(func(decor.Statistics) string {
					select {
					case shown = <-latest:
					default:
					}
					return shown
				}),
			),
		))
	}
	return b
}

// notice writes above the bars.
func (b *bars) notice(line string) { fmt.Fprintf(b.progress, "%s\n", tame([]byte(line))) }

// shortModel is a model's name without its parameters.
func shortModel(name string) string {
	name, _, more := strings.Cut(name, "?")
	if more {
		name += "?…"
	}
	return name
}

func (b *bars) show(_ *run.Progress, models []run.Progress) {
	for i := range models {
		b.bars[i].SetTotal(int64(models[i].Total), false)
		b.bars[i].SetCurrent(int64(models[i].Done))
		select { // an old text that nobody has drawn is no longer wanted
		case <-b.set[i]:
		default:
		}
		b.set[i] <- models[i].Words()
	}
}

func (b *bars) end(all *run.Progress, models []run.Progress) {
	b.show(all, models)
	for i := range b.bars {
		if models[i].Done == models[i].Total {
			b.bars[i].SetTotal(int64(models[i].Total), true)
		} else {
			b.bars[i].Abort(false)
		}
	}
	b.progress.Wait()
}

// eventDisplay writes a JSON line for each model.
type eventDisplay struct {
	w      io.Writer
	models []string
}

// A noticeEvent is a line of --json for something that happened: a server that
// refuses a parameter, calls that wait, a model that is given up.
type noticeEvent struct {
	Event string `json:"event"` // "notice"
	Text  string `json:"text"`
}

func (d *eventDisplay) notice(line string) {
	enc := json.NewEncoder(d.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(noticeEvent{"notice", line}) // as below
}

// A progressEvent is one line of --json.
type progressEvent struct {
	Event         string   `json:"event"` // "progress" or "end"
	Model         string   `json:"model"`
	Total         int      `json:"total"`
	Done          int      `json:"done"`
	Failed        int      `json:"failed"`
	Calls         int      `json:"calls"`
	Retries       int      `json:"retries"`
	Waiting       int      `json:"waiting"`        // calls that wait to be tried again
	WaitSeconds   *float64 `json:"wait_seconds"`   // until the first of them is; null when none waits
	InFlight      int      `json:"in_flight"`      // calls under way
	OldestSeconds *float64 `json:"oldest_seconds"` // how long the one that takes longest has been; null when none is
	TokensSoFar   int      `json:"tokens_so_far"`  // pieces of their answers that came, from servers that stream
	WaitReason    string   `json:"wait_reason"`    // "rate-limit", "server", "timeout", …; empty when none waits
	InputTokens   *int     `json:"input_tokens"`   // null where no server has said any
	OutputTokens  *int     `json:"output_tokens"`
	CachedTokens  *int     `json:"cached_tokens"` // of the input
	USD           *float64 `json:"usd"`           // spent by the whole run on this model; null while the cost of a call is not known
	USDAtMost     bool     `json:"usd_at_most"`   // it may be less: the list has no price for cached tokens
	BudgetUSD     *float64 `json:"budget_usd"`    // for all models together; null without a budget
	TrialsASecond float64  `json:"trials_per_second"`
	Seconds       float64  `json:"seconds"`
	SecondsLeft   *float64 `json:"seconds_left"` // null while it is not known
}

func (d *eventDisplay) show(all *run.Progress, models []run.Progress) {
	d.write("progress", all, models)
}

func (d *eventDisplay) end(all *run.Progress, models []run.Progress) { d.write("end", all, models) }

func (d *eventDisplay) write(event string, all *run.Progress, models []run.Progress) {
	enc := json.NewEncoder(d.w)
	enc.SetEscapeHTML(false)
	for i := range models {
		p := &models[i]
		e := progressEvent{
			Event: event, Model: p.Model, Total: p.Total, Done: p.Done, Failed: p.Failed, Calls: p.Calls, Retries: p.Retries, Waiting: p.Waiting.Calls,
			InputTokens: known(p.Input), OutputTokens: known(p.Output), TrialsASecond: p.Rate(), Seconds: p.Took.Seconds(),
		}
		if e.InFlight, e.TokensSoFar = p.Flying.Calls, p.Flying.Tokens; e.InFlight > 0 {
			e.OldestSeconds = new(p.Flying.Oldest.Seconds())
		}
		if p.Waiting.Calls > 0 {
			e.WaitSeconds, e.WaitReason = new(p.Waiting.Next.Seconds()), string(p.Waiting.Why)
		}
		e.CachedTokens = known(p.Spent.Cached)
		if p.Spent.Unknown+p.Spent.AtLeast == 0 {
			e.USD, e.USDAtMost = new(p.Spent.USD.Dollars()), p.Spent.AtMost > 0
		}
		if all.Limit != nil {
			e.BudgetUSD = new(all.Limit.Dollars())
		}
		if left, known := p.Left(); known {
			e.SecondsLeft = new(left.Seconds())
		}
		_ = enc.Encode(e) // a program that no longer listens does not stop the run
	}
}

// known is a number of tokens, nil for none: no call has none.
func known(tokens int) *int {
	if tokens == 0 {
		return nil
	}
	return &tokens
}
