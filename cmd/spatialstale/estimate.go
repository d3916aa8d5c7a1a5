package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/run"
)

// spread writes what is likely, and in brackets the least and the most.
func spread(b *run.Bounds) string {
	if b == nil {
		return "unknown"
	}
	if b.Least == b.Most {
		return run.Short(b.Likely)
	}
	return fmt.Sprintf("%s (%s to %s)", run.Short(b.Likely), run.Short(b.Least), run.Short(b.Most))
}

func cached(e *run.Estimate) string {
	switch {
	case e.Price == nil || e.Price.CacheFrom == 0:
		return "unknown"
	case e.Cached == 0:
		return "none"
	}
	return "up to " + run.Short(e.Cached)
}

func money(e *run.Estimate) string {
	if e.USD == nil {
		return "unknown"
	}
	return sumsText(e.Sums)
}

func sumsText(s run.Sums) string { return fmt.Sprintf("%v (%v to %v)", s.Likely, s.Least, s.Most) }

// totalMoney is what all models together would cost; unknown when it is for one.
func totalMoney(all []run.Estimate) string {
	var total run.Sums
	var unknown []string
	for i := range all {
		switch {
		case all[i].Control:
		case all[i].USD == nil:
			unknown = append(unknown, all[i].Model)
		default:
			total.Least += all[i].Sums.Least
			total.Likely += all[i].Sums.Likely
			total.Most += all[i].Sums.Most
		}
	}
	known := len(all) - len(unknown) - controls(all)
	switch {
	case known == 0:
		return "unknown"
	case len(unknown) > 0:
		return fmt.Sprintf("%s, and an unknown sum for %s", sumsText(total), strings.Join(unknown, ", "))
	}
	return sumsText(total)
}

func controls(all []run.Estimate) int {
	n := 0
	for i := range all {
		if all[i].Control {
			n++
		}
	}
	return n
}

// notes are those of all estimates, each once, with the models it is of.
func notes(all []run.Estimate) []string {
	var order []string
	of := map[string][]string{}
	for i := range all {
		for _, n := range all[i].Notes {
			if !slices.Contains(order, n) {
				order = append(order, n)
			}
			of[n] = append(of[n], all[i].Model)
		}
	}
	for i, n := range order {
		order[i] = strings.Join(of[n], ", ") + ": " + n
	}
	return order
}
