package observe

import (
	"fmt"

	"github.com/spatialstale/spatialstale/record"
)

// Legend explains how an observation of the given modality, record.Text or
// record.Vision, shows the types of cells, and how it shows cells outside the
// view when the view is partial. It says nothing about any state or memory and
// ends with a newline. It panics on another modality, which no configuration
// may let through.
func Legend(modality string, partial bool) string {
	switch modality {
	case record.Text:
		return textLegend(partial)
	case record.Vision:
		return visionLegend(partial)
	}
	panic(fmt.Sprintf("observe: no legend for modality %q", modality))
}

func textLegend(partial bool) string {
	legend := "Positions are (row,column). Row 0 is the top row, column 0 the left column.\n" +
		"Cell types: S = start; F = frozen ice, safe to walk; H = hole, deadly to step on; G = goal."
	if partial {
		legend += " ? = outside the agent's view, type not shown."
	}
	return legend + "\n"
}

func visionLegend(partial bool) string {
	legend := "Positions are (row,column). Row 0 is the top row, column 0 the left column.\n" +
		"The picture shows each cell as a square; a label at its top left, where there is one, is its row,column.\n" +
		"Cell types: green = start (S); light blue = frozen ice (F), safe to walk; black = hole (H), deadly to step on; golden yellow = goal (G)."
	if partial {
		legend += " Grey with a question mark = outside the agent's view, type not shown."
	}
	return legend + "\nThe red triangle marks the agent; the colour around it is its cell's type.\n"
}
