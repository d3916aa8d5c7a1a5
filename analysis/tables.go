package analysis

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// tables are all of them, in the order in which they are shown. A further table
// is a line here, and its specification in the file of its topic.
var tables = []func(*Frame) Table{
	(*Frame).headline,
	(*Frame).regimes,
	(*Frame).detection,
	(*Frame).visionText,
	func(f *Frame) Table { return f.navigation(record.Text) },
	func(f *Frame) Table { return f.navigation(record.Vision) },
	(*Frame).contrastsTable,
	(*Frame).equivalence,
	(*Frame).variance,
	(*Frame).lengthsTable,
	(*Frame).behaviourTable,
	func(f *Frame) Table { return f.bounds(record.Detect, detectionDims, f1, precision, recall) },
	func(f *Frame) Table { return f.bounds(record.Navigate, episodeDims, rates...) },
	(*Frame).exposure,
	(*Frame).deaths,
	(*Frame).fallbackFree,
	(*Frame).fallbacks,
	(*Frame).flags,
	(*Frame).flagsTest,
	(*Frame).directions,
	(*Frame).routeRecall,
	(*Frame).routeSurvival,
	(*Frame).safety,
	(*Frame).batch,
	(*Frame).scoreTable,
	(*Frame).seeing,
	(*Frame).distractorsTable,
	(*Frame).calibration,
	(*Frame).certaintyTable,
	(*Frame).certaintyCalibration,
	(*Frame).framing,
	(*Frame).sizes,
	(*Frame).replies,
	(*Frame).repairs,
	(*Frame).confidence,
	(*Frame).reasons,
	(*Frame).publishedTable,
	(*Frame).modelsTable,
	(*Frame).costs,
	(*Frame).methodsTable,
}

// Tables returns every table, also those without rows, which say what they need.
func (f *Frame) Tables() []Table {
	f.finish()
	out := make([]Table, len(tables))
	inParallel(len(tables), func(i int) { out[i] = tables[i](f) })
	out = slices.DeleteFunc(out, func(t Table) bool { // a run of controls has nothing to say there
		return len(t.Rows) == 0 && slices.Contains([]string{"models", "costs", "methods", "seeing", "distractors"}, t.ID)
	})
	warnings := f.runWarnings()
	for i := range out {
		t := &out[i]
		t.Need = f.ask(t.Need)
		if len(t.Rows) > 0 && t.ID != "models" && t.ID != "methods" && t.ID != "regimes" {
			t.Warnings = slices.Concat(warnings, t.Warnings)
		}
	}
	return out
}
