package run

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// PanicError says of a recovered panic, in a line, what to report. Call it in
// the deferred function that recovered.
func PanicError(recovered any) error {
	what := strings.Join(strings.Fields(fmt.Sprint(recovered)), " ")
	if runes := []rune(what); len(runes) > 300 {
		what = string(runes[:300]) + "…"
	}
	return fmt.Errorf("a fault of the program, not yours: %s, at %s of version %s; please report this line and the command", what, panicPlace(), record.Program())
}

// panicPlace is the innermost function of ours that panicked, or else of anybody.
func panicPlace() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	place, panicked := "an unknown place", false
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "runtime.") {
			panicked = panicked || f.Function == "runtime.gopanic" || f.Function == "runtime.panicmem" || f.Function == "runtime.goPanicIndex"
		} else if panicked {
			at := fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
			name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
			if strings.Contains(f.Function, "spatialstale") {
				return name + " (" + at + ")"
			}
			if place == "an unknown place" {
				place = name + " (" + at + ")"
			}
		}
		if !more {
			return place
		}
	}
}
