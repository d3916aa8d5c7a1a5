package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// Bounds says, of each rate whose plan is incomplete, the least and the most
// that it could be: every lost trial against it, and every one for it. Rates
// are means over all planned seeds. There is a table a task; none has rows when
// nothing is lost.
func (c *Collector) Bounds() []Table {
	return []Table{c.detectionBounds(), c.navigationBounds()}
}

// boundColumns are the columns of one measure: least, as measured, most.
func boundColumns[T any](key, heading string, measured func(*group[T]) Cell, of func(*T) bound) []definition[group[T]] {
	extreme := func(pick func(bound) *float64) func(*group[T]) Cell {
		return func(g *group[T]) Cell {
			var values []*float64
			for _, s := range g.seeds {
				values = append(values, pick(of(s)))
			}
			return overSeeds(values)
		}
	}
	column := func(suffix, heading2 string, priority int) Column {
		return Column{Key: key + suffix, Heading: heading2, Group: heading, Unit: "share", Kind: Mean, Decimals: 3, Brief: true, Priority: priority}
	}
	return []definition[group[T]]{
		{column("_least", "least", 0), extreme(func(b bound) *float64 { return b.least })},
		{column("", "measured", 1), measured},
		{column("_most", "most", 0), extreme(func(b bound) *float64 { return b.most })},
	}
}

// lostColumn shows how many of the planned trials have no result.
func lostColumn[T any](of func(*T) *progress) definition[group[T]] {
	return definition[group[T]]{
		Column{Key: "lost", Heading: "lost", Unit: "trials", Kind: Count},
		func(g *group[T]) Cell {
			return Cell{Count: total(g.seeds, func(s *T) int { return of(s).lost() }), Of: total(g.seeds, func(s *T) int { return of(s).all() })}
		},
	}
}

func lossy[T any](groups []*group[T], of func(*T) *progress) []*group[T] {
	return slices.DeleteFunc(groups, func(g *group[T]) bool {
		return total(g.seeds, func(s *T) int { return of(s).lost() }) == 0
	})
}

func (c *Collector) detectionBounds() Table {
	groups := lossy(c.detection.sorted(nil, c.byModelRegimeModality), progressOfDetection)
	short := c.modelNames()
	t := Table{
		ID:    "bounds-detection",
		Title: "What lost trials could change: detection",
		About: "Some planned detections failed or have no record. least and most: the mean over all planned seeds if each of those had scored 0, or 1.",
		Need:  "planned detections without a result; there is none",
	}
	defs := append(detectionLabels(groups, short), lostColumn(progressOfDetection))
	for _, m := range []struct {
		key, heading string
		of           func(record.Counts) *float64
	}{{"f1", "F1", record.Counts.F1}, {"precision", "precision", record.Counts.Precision}, {"recall", "recall", record.Counts.Recall}} {
		defs = append(defs, boundColumns(m.key, m.heading, scoreOver(m.of), func(d *detectionTally) bound {
			return d.value(m.of).bound
		})...)
	}
	fill(&t, defs, groups)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero."), "Rows without a lost trial are left out.")
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}

func (c *Collector) navigationBounds() Table {
	groups := lossy(c.episodes.sorted(nil, c.byModelAndModality), progressOfEpisodes)
	short := c.modelNames()
	t := Table{
		ID:    "bounds-navigation",
		Title: "What lost trials could change: navigation",
		About: "Some planned episodes failed or have no record. least and most: the mean over all planned seeds if none of those, or all, had ended so.",
		Need:  "planned episodes without a result; there is none",
	}
	defs := append(episodeLabels(groups, short), lostColumn(progressOfEpisodes))
	for end, name := range ends {
		defs = append(defs, boundColumns(name, name, rateOf(end), func(e *episodeTally) bound {
			return e.rate(end).bound
		})...)
	}
	fill(&t, defs, groups)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero: no episode has finished."), "Rows without a lost episode are left out.")
	t.Notes = append(t.Notes, modelNotes(groups, short)...)
	return t
}
