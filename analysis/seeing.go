package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// transcriptStrategy has the audits that follow from a model's transcript of an
// observation; its difference to the model's own is what reconciling costs.
const transcriptStrategy = "transcribe"

// seeing sets a model's audit beside the one that its transcript of the same
// observation implies. It has rows when a run has both.
func (f *Frame) seeing() Table {
	twin := func(groups []*Group, g *Group, strategy string) *Group {
		i := slices.IndexFunc(groups, func(o *Group) bool {
			s := o.Setting
			s.Strategy, s.Batch = g.Strategy, g.Batch
			return o.Strategy == strategy && s == g.Setting
		})
		if i < 0 {
			return nil
		}
		return groups[i]
	}
	return f.table(&spec{
		Table: Table{ID: "seeing", Title: "Seeing and auditing", Topic: TopicAblations, Need: "audits and transcripts of the same observations: spatialstale run seeing",
			About: "A transcript is the grid as the model writes it down, without a memory; an entry is stale in it where its cell contradicts the claim. A model that does well there and badly in its audit sees the lake and does not reconcile it with its memory; one that does badly in both does not see it."},
		task: record.Detect, where: func(s *Setting) bool { return s.Strategy == transcriptStrategy || s.Strategy == auditStrategy },
		by: []dim{byModel, byRegime, byModality, byDetector}, order: []dim{byModel, byRegime, byModality, byFraming, byDetector},
		keep: func(groups []*Group) []*Group {
			return slices.DeleteFunc(slices.Clone(groups), func(g *Group) bool {
				return twin(groups, g, transcriptStrategy) == nil || twin(groups, g, auditStrategy) == nil
			})
		},
		columns: func(f *Frame, groups []*Group) []column {
			pairs := map[*Group]*paired{}
			for _, g := range groups {
				if audit := twin(groups, g, auditStrategy); g.Strategy == transcriptStrategy && audit != nil {
					pairs[g] = pairGroups(audit, g, f1, f1, [2]string{"audit", "transcript"})
				}
			}
			f.ablate(groups, func(g *Group) (string, []*paired) { return g.Model, []*paired{pairs[g]} })
			cols := append(seedsColumns(), meanOf(f1))
			cols = append(cols, againstColumns(f1, func(g *Group) *paired { return pairs[g] })...)
			return append(cols, meanOf(precision), meanOf(recall), shareOf(recallThaw), shareOf(recallFreeze), shareOf(unanswered))
		},
		notes: func(*Frame, []*Group, *Table) []string {
			return []string{noteAgainst("the model’s own audit"), "A transcript has a letter for each cell, and the memory an entry, so that a share of entries is one of cells."}
		},
	})
}
