package analysis

import "github.com/spatialstale/spatialstale/record"

// distractorMeasure is a share of the distractors of some kinds.
func distractorMeasure(key, words string, of func(flagged) int32, kinds ...int) *measure {
	return &measure{key: key, words: words, unit: "share of distractors", high: 1, lower: true, of: func(r *Row) (num, den int) {
		if r.distractors == nil {
			return 0, 0
		}
		for _, k := range kinds {
			f := r.distractors[k]
			num, den = num+int(of(f)), den+int(f.entries)
		}
		return num, den
	}}
}

var (
	isFlagged    = func(f flagged) int32 { return f.flagged }
	isUnanswered = func(f flagged) int32 { return f.unanswered }

	distractorFlags      = distractorMeasure("distractors", "flagged", isFlagged, 0, 1, 2)
	distractorRules      = distractorMeasure("rules", "rules", isFlagged, 0)
	distractorHistory    = distractorMeasure("history", "history", isFlagged, 1)
	distractorPlaces     = distractorMeasure("places", "other places", isFlagged, 2)
	distractorUnanswered = distractorMeasure("distractors_unanswered", "no answer", isUnanswered, 0, 1, 2)
)

// distractorsTable has no rows for a run whose memory is the lake's alone.
func (f *Frame) distractorsTable() Table {
	return f.table(&spec{
		Table: Table{ID: "distractors", Title: "Entries that nothing can make stale", Topic: TopicAblations, Need: "a memory with distractors: spatialstale run distractors",
			About: "Distractors are rules, history and entries on other places: no observation of the lake can make one stale, so that each flag is wrong. They are in no other score."},
		task: record.Detect,
		by:   []dim{byModel, byRegime, byModality, byDetector},
		has:  func(g *Group) bool { return g.any(func(r *Row) bool { return r.distractors != nil }) },
		columns: func(*Frame, []*Group) []column {
			return append(seedsColumns(), meanOf(f1), meanOf(distractorFlags), shareOf(distractorRules), shareOf(distractorHistory), shareOf(distractorPlaces), shareOf(distractorUnanswered))
		},
	})
}
