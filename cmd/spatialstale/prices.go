package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spatialstale/spatialstale/results"
)

// listPrices prints the prices of the list that ships, or of a file.
func (c *modelsCmd) listPrices(e *env) error {
	list, err := results.Prices(c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(e.stdout, map[string]any{"date": list.Date, "models": list.Models})
	}
	fmt.Fprintf(e.stdout, "Prices of %s, in US dollars per million tokens\n\n", list.Date)
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "input\tcached\tto cache\toutput\tin batches\tof\t  model\n")
	or := func(f *float64, form string) string {
		if f == nil {
			return "unknown"
		}
		return fmt.Sprintf(form, *f)
	}
	from := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(list.Models)) {
		p := list.Models[name]
		batch := "unknown"
		if p.Batch != nil {
			batch = fmt.Sprintf("%g %%", 100**p.Batch)
		}
		fmt.Fprintf(w, "%g\t%s\t%s\t%g\t%s\t%s\t  %s\n", p.Input, or(p.CachedInput, "%g"), or(p.CacheWrite, "%g"), p.Output, batch, p.Date, name)
		from[p.Source] = append(from[p.Source], name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\nFrom:\n")
	for _, source := range slices.Sorted(maps.Keys(from)) {
		fmt.Fprintf(e.stdout, "- %s: %s\n", strings.Join(from[source], ", "), source)
	}
	_, err = fmt.Fprintf(e.stdout, "\nPrices change, and the bill is the provider's. --prices FILE replaces the list in run, resume, plan and report (docs/costs.md);\nspatialstale models --prices FILE reads a file and says what is wrong with it.\n")
	return err
}
