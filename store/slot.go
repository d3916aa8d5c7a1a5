package store

import (
	"cmp"
	"slices"
	"strings"
)

// sortBySlot brings a trial's calls into the order in which the trial asked
// them, whatever order they were written in.
//
// A slot begins with its stage, such as "window1" or "step17". Stages of one
// kind follow each other by number, and so do the slots within a stage. Stages
// of different kinds are made one after the other ("window1" is finished before
// "step6" is asked), so the order of writing tells how the kinds interleave;
// within a stage, where calls may be made at the same time, it tells nothing.
func sortBySlot(calls []callRow) {
	first := map[string]int{} // stage → place of its first call in the order of writing
	kinds := map[string][]string{}
	for i := range calls {
		stage := stageOf(calls[i].call.Slot)
		if _, known := first[stage]; !known {
			first[stage] = i
			kind := kindOf(stage)
			kinds[kind] = append(kinds[kind], stage)
		}
	}
	rank := rankStages(kinds, first)
	slices.SortStableFunc(calls, func(a, b callRow) int {
		if c := cmp.Compare(rank[stageOf(a.call.Slot)], rank[stageOf(b.call.Slot)]); c != 0 {
			return c
		}
		return compareNatural(a.call.Slot, b.call.Slot)
	})
}

// rankStages merges the kinds' stages, each in natural order, always taking
// the one that was written first.
func rankStages(kinds map[string][]string, first map[string]int) map[string]int {
	var queues [][]string
	for _, stages := range kinds {
		slices.SortFunc(stages, compareNatural)
		queues = append(queues, stages)
	}
	rank := make(map[string]int, len(first))
	for len(queues) > 0 {
		next := 0
		for i := range queues {
			if first[queues[i][0]] < first[queues[next][0]] {
				next = i
			}
		}
		rank[queues[next][0]] = len(rank)
		if queues[next] = queues[next][1:]; len(queues[next]) == 0 {
			queues = slices.Delete(queues, next, next+1)
		}
	}
	return rank
}

// stageOf returns what stands before the first slash.
func stageOf(slot string) string {
	stage, _, _ := strings.Cut(slot, "/")
	return stage
}

// kindOf returns a stage without the number at its end.
func kindOf(stage string) string { return strings.TrimRight(stage, "0123456789") }

// compareNatural compares texts byte by byte, but runs of digits as numbers:
// "step2" comes before "step10".
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx > 0 && ny > 0 {
			if c := compareDigits(x[:nx], y[:ny]); c != 0 {
				return c
			}
			x, y = x[nx:], y[ny:]
			continue
		}
		if c := cmp.Compare(x[0], y[0]); c != 0 {
			return c
		}
		x, y = x[1:], y[1:]
	}
	if c := cmp.Compare(len(x), len(y)); c != 0 {
		return c
	}
	return strings.Compare(a, b) // equal but for leading zeros
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// compareDigits compares runs of digits of any length as numbers.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
