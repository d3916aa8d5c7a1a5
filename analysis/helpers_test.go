package analysis_test

import (
	"slices"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
)

// tableOf returns a frame's table of an id.
func tableOf(t testing.TB, f *analysis.Frame, id string) analysis.Table {
	t.Helper()
	tables := f.Tables()
	i := slices.IndexFunc(tables, func(table analysis.Table) bool { return table.ID == id })
	if i < 0 {
		t.Fatalf("there is no table %s", id)
	}
	return tables[i]
}
