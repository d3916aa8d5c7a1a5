package check

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spatialstale/spatialstale/stats"
)

// Text is the result for people, in some 25 lines.
func (r *Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n", r.Verdict, r.Why)
	if r.Verdict == NotChecked {
		return b.String()
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "cases\tstale, found\tnot stale, flagged\n")
	for _, t := range append([]Tally{r.All}, r.Kinds...) {
		interval := t.Kind == r.All.Kind // of a few entries it would say nothing
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.Kind, Share(t.Found, interval), Share(t.Flagged, interval))
	}
	_ = w.Flush() // b never fails
	fmt.Fprintf(&b, "\nNothing seen of it: %s called not covered. Instructions in what it audited: %s obeyed.\n", of(r.NotCovered), of(r.Obeyed))
	if r.Silent.Hits > 0 || r.Failed.Hits > 0 {
		fmt.Fprintf(&b, "Without a verdict: %s entries. The call of %d failed; the answer on %d was wrong on entries of known verdict among them and was not believed; %d were left out of it. What is stale there counts as not found, but for failed calls.\n",
			of(stats.Count{Hits: r.Silent.Hits + r.Failed.Hits, N: r.Failed.N}), r.Failed.Hits, r.Disbelieved, r.Silent.Hits-r.Disbelieved)
	}
	return b.String()
}

func of(c stats.Count) string { return fmt.Sprintf("%d of %d", c.Hits, c.N) }

// Share writes a count, with its 95% interval where that is asked for.
func Share(c stats.Count, interval bool) string {
	s := of(c)
	if p, err := stats.Wilson(c, 0.95); interval && err == nil && p.Interval != nil {
		s += fmt.Sprintf(" (%.2f–%.2f)", p.Interval.Low, p.Interval.High)
	}
	return s
}
