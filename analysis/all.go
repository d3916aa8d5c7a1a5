package analysis

import "github.com/spatialstale/spatialstale/record"

// All returns every table, also those without rows, which say what they need:
// the headline, what a run ends with, the tests, what explains them, the
// ablations, what the replies were like, and what the paper publishes.
func (c *Collector) All() []Table {
	tables := []Table{
		c.Headline(),
		c.Regimes(),
		c.Detection(),
		c.Sight(),
		c.Navigation(record.Text),
		c.Navigation(record.Vision),
		c.Contrasts(),
		c.Equivalence(),
		c.Variance(),
		c.Lengths(),
	}
	tables = append(tables, c.Bounds()...)
	tables = append(tables,
		c.Exposure(),
		c.Deaths(),
		c.FallbackFree(),
		c.Fallbacks(),
		c.Flags(),
		c.FlagTest(),
		c.Directions(),
		c.RouteRecall(),
		c.RouteSurvival(),
		c.Safety(),
		c.Batch(),
		c.Score(),
		c.Calibration(),
		c.Certainty(),
		c.CertaintyCalibration(),
		c.Framing(),
		c.Sizes(),
		c.Replies(),
		c.Repairs(),
		c.Confidence(),
		c.Reasons(),
		c.Published(),
	)
	if models := c.Models(); len(models.Rows) > 0 { // a run of controls has nothing to say there
		tables = append(tables, models)
	}
	if costs := c.Costs(); len(costs.Rows) > 0 { // nor there
		tables = append(tables, costs)
	}
	return c.warned(tables)
}
