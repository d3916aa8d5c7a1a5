package memory

import (
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/record"
)

// A Distractor is an entry that no observation of the lake can make stale.
type Distractor struct {
	ID, Kind, Text string // Kind is one of record.DistractorKinds
}

// MaxDistractors is how many there are at most.
const MaxDistractors = 24

// distractors are the words of each kind; %d is a number of the seed's, from 1
// to 6.
var distractors = map[string][]string{
	record.DistractorRule: {
		"Only one move is made in a step",
		"A move off the grid leaves the agent where it is, and the step is spent",
		"Falling into a hole ends the walk",
		"Reaching the goal ends the walk",
		"The four moves are UP, DOWN, LEFT and RIGHT; there are no diagonal ones",
		"Rows are counted from the top, columns from the left, both from 0",
		"The start and the goal are in opposite corners",
		"Standing still is no move",
	},
	record.DistractorHistory: {
		"Walk %d of the first day ended in a hole",
		"On the second day %d walks were made before noon",
		"The first walk began %d minutes late",
		"On walk 1%d the agent turned left at its third move",
		"The longest walk of the first day took 4%d steps",
		"Walk 2 of the first day made %d moves along the upper edge",
		"The notes of the first day fill %d pages",
		"At the end of the first day %d walks had reached the goal",
	},
	record.DistractorPlace: {
		"On the other lake, behind the hill, there was a hole at (%d,2)",
		"On the other lake the ice at (3,%d) was safe to walk",
		"The hut on the shore has %d windows",
		"The pond in the village has %d holes",
		"The path to the village passes %d bridges",
		"On the practice lake the cell (%d,4) was frozen",
		"The forest begins %d hundred steps behind the shore",
		"The practice lake had its goal at (%d,1)",
	},
}

// Distract returns n distractors of a seed, of each kind in turn. Their ids go on
// behind those of the entries.
func Distract(seed, n int, entries []Entry) []Distractor {
	r := instance.Stream(seed, "distractors")
	left := map[string][]string{}
	out := make([]Distractor, 0, n)
	for i := range n {
		kind := record.DistractorKinds[i%len(record.DistractorKinds)]
		if len(left[kind]) == 0 {
			left[kind] = append([]string(nil), distractors[kind]...)
		}
		k := r.IntN(len(left[kind]))
		text := left[kind][k]
		left[kind] = append(left[kind][:k], left[kind][k+1:]...)
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, 1+r.IntN(6))
		}
		out = append(out, Distractor{fmt.Sprintf("mem_%03d", len(entries)+i), kind, text})
	}
	return out
}
