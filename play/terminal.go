package play

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
)

// keys are what can be typed for each action, besides its name.
var keys = map[string]lake.Action{
	"u": lake.Up, "w": lake.Up, "k": lake.Up, "up": lake.Up, "\x1b[a": lake.Up,
	"d": lake.Down, "s": lake.Down, "j": lake.Down, "down": lake.Down, "\x1b[b": lake.Down,
	"l": lake.Left, "a": lake.Left, "h": lake.Left, "left": lake.Left, "\x1b[d": lake.Left,
	"r": lake.Right, "right": lake.Right, "\x1b[c": lake.Right,
}

// Terminal asks the person what is typed into in, until ctx ends or the person
// has had enough: then left is called. Screen clears it between questions.
func (p *Person) Terminal(ctx context.Context, in io.Reader, out io.Writer, screen bool, left func()) {
	defer left()
	lines := bufio.NewScanner(in)
	for {
		q, changed := p.Question()
		if q == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return
			}
		}
		if screen {
			fmt.Fprint(out, "\x1b[0m"+strings.Repeat("\n", 40))
		}
		fmt.Fprint(out, q.words())
		for {
			if !lines.Scan() {
				return
			}
			said := strings.ToLower(strings.TrimSpace(lines.Text()))
			if said == "q" || said == "quit" {
				return
			}
			if problem := p.said(q, said); problem != "" {
				fmt.Fprint(out, problem)
				continue
			}
			break
		}
		for now := q; now == q; { // until it is taken
			var changed <-chan struct{}
			if now, changed = p.Question(); now == q {
				select {
				case <-changed:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// said takes an answer as it was typed; it returns what to say when it is none.
func (p *Person) said(q *Question, text string) (problem string) {
	if !q.Audit {
		action, ok := keys[text]
		if !ok {
			return "up, down, left or right, or the letter that it begins with; q to stop: "
		}
		_ = p.Step(q.Number, action) // it was asked for just now
		return ""
	}
	var stale []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(q.Entries) {
			return fmt.Sprintf("the numbers of the stale entries, 1 to %d, as in 3 7; nothing where none is stale; q to stop: ", len(q.Entries))
		}
		stale = append(stale, q.Entries[n-1].ID)
	}
	_ = p.Judge(q.Number, stale)
	return ""
}

// words are a question as it is told.
func (q *Question) words() string {
	var b strings.Builder
	b.WriteString("\n")
	if q.Agent != nil {
		fmt.Fprintf(&b, "You are at (%d,%d), the goal is at (%d,%d). %s\n\n", q.Agent.Row, q.Agent.Col, q.Goal.Row, q.Goal.Col, q.Left)
	}
	switch {
	case q.Audit:
		b.WriteString("The memory says:\n")
	case len(q.Entries) == 0:
		b.WriteString("You remember nothing.\n")
	default:
		b.WriteString("You remember:\n")
	}
	for i, e := range q.Entries {
		if q.Audit {
			fmt.Fprintf(&b, "%4d", i+1)
		}
		b.WriteString("  " + e.Text + "\n")
	}
	b.WriteString("\nYou see:\n")
	for r, row := range q.Rows {
		fmt.Fprintf(&b, "  %s  row %d\n", strings.Join(strings.Split(row, ""), " "), r)
	}
	if q.Audit {
		b.WriteString("\nWhich entries are stale? Their numbers, or nothing where none is: ")
	} else {
		b.WriteString("\nup, down, left or right? ")
	}
	return b.String()
}
