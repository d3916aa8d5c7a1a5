package analysis

import "github.com/spatialstale/spatialstale/record"

// A detectionTally holds one seed's detection trials of one setting.
type detectionTally struct {
	progress
	counts    record.Counts
	answered  record.Counts
	opaque    bool // the judgments behind some unanswered entries are not known
	asking    askingTally
	told      toldTally
	flags     [2][2]flagTally // by the entry's claim and whether it is stale
	beside    besideTally
	scores    *scoreTally // of the score ablation; nil for other detectors
	certainty certaintyTally
	route     routeTally
}

// An askingTally says what audits cost and how their replies were read.
type askingTally struct {
	audits, calls, mended int // audits whose calls are known, calls, replies with a repair
}

// A toldTally says how one seed's replies and verdicts were worded: reasons that
// hedge, verdicts that are said to be certain, calls that were refused.
type toldTally struct{ hedged, certain, refused pair }

// A flagTally counts entries that are alike, and what was said of them.
type flagTally struct{ entries, flagged, unanswered int }

// A besideTally says where wrong flags fall: of the entries that are valid,
// flagged or not, those whose cell lies beside one with a stale entry.
type besideTally struct{ flagged, valid pair }

// add adds a finished detection.
func (d *detectionTally) add(t *record.Trial, answered record.Counts, opaque bool) {
	d.counts = d.counts.Plus(t.Counts)
	d.answered = d.answered.Plus(answered)
	d.opaque = d.opaque || opaque
	for i := range t.Windows {
		w := &t.Windows[i]
		if len(w.Replies) > 0 {
			d.asking.audits++
			d.asking.calls += len(w.Replies)
		}
		for j := range w.Replies {
			if len(w.Replies[j].Repairs) > 0 {
				d.asking.mended++
			}
		}
		d.addJudgments(w)
		d.certainty.add(w)
		if t.Strategy == scoreStrategy {
			if d.scores == nil {
				d.scores = new(scoreTally)
			}
			d.scores.add(w)
		}
	}
}

func (d *detectionTally) addJudgments(w *record.Window) {
	var stale cellSet
	for i := range w.Judgments {
		if j := &w.Judgments[i]; j.Truth {
			stale.add(j.Pos)
		}
	}
	for i := range w.Judgments {
		j := &w.Judgments[i]
		flagged := j.Verdict == record.Stale
		if claim, ok := claimOf(j.Claim); ok {
			f := &d.flags[claim][index(j.Truth)]
			f.entries++
			f.flagged += index(flagged)
			f.unanswered += index(j.Verdict == record.Unanswered)
		}
		if j.Truth {
			continue
		}
		near := index(stale.beside(j.Pos))
		d.beside.valid.plus(pair{near, 1})
		if flagged {
			d.beside.flagged.plus(pair{near, 1})
		}
	}
}

// index is 1 for true.
func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A cellSet is a set of cells of a grid of at most 64 by 64.
type cellSet [64]uint64

func (s *cellSet) add(p record.Pos) {
	if uint(p[0]) < 64 && uint(p[1]) < 64 {
		s[p[0]] |= 1 << p[1]
	}
}

// beside reports whether one of a cell's four neighbours is in the set.
func (s *cellSet) beside(p record.Pos) bool {
	r, c := p[0], p[1]
	if uint(r) >= 64 || uint(c) >= 64 {
		return false
	}
	row := s[r]<<1 | s[r]>>1
	if r > 0 {
		row |= s[r-1]
	}
	if r < 63 {
		row |= s[r+1]
	}
	return row>>c&1 != 0
}
