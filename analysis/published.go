package analysis

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed data/paper.yaml
var paperYAML []byte

// The size of grid, the number of seeds and the wording that stand for the
// paper's study.
const (
	publishedSide    = 8
	publishedSeeds   = 50
	publishedFraming = "neutral"
	publishedBatch   = 10
)

// A figure is a number, or a fact, that the paper publishes; data/paper.yaml
// says what its fields mean.
type figure struct {
	Place     string
	Measure   string
	Model     string
	Models    []string
	Modality  string
	Regimes   []string
	Strategy  string
	Against   string
	Batch     int
	BaseBatch int `yaml:"base_batch"`
	Threshold float64
	Seed      int // of a trace
	Steps     int // within which something came
	Relation  string
	Value     *float64
	SD        *float64
	High      *float64
	P         string
	Of        int // entries that the value is of; 0 where it does not say
	Note      string
	Text      string
}

// published returns the paper's figures in its order, one for each model.
var published = sync.OnceValue(func() []figure {
	var doc struct {
		Arxiv, Title string
		Figures      []figure
	}
	if err := yaml.UnmarshalWithOptions(paperYAML, &doc, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("analysis: paper.yaml: %v", err)) // embedded: a test sees to it
	}
	var out []figure
	for _, f := range doc.Figures {
		if len(f.Models) == 0 {
			out = append(out, f)
			continue
		}
		for _, m := range f.Models {
			one := f
			one.Model, one.Models = m, nil
			out = append(out, one)
		}
	}
	return out
})

// publishedFigure returns the first figure that fits, nil when there is none.
func publishedFigure(fits func(*figure) bool) *figure {
	figures := published()
	if i := slices.IndexFunc(figures, func(f figure) bool { return fits(&f) }); i >= 0 {
		return &figures[i]
	}
	return nil
}

// publishedFor returns the paper's exact figure for a row, nil when it has
// none.
func (c *Collector) publishedFor(measure string, s *setting) *figure {
	return publishedFigure(func(f *figure) bool { return f.Measure == measure && f.Relation == "" && c.fits(f, s) })
}

// seedName is a trace's seed, as it is named everywhere.
func (f *figure) seedName() string { return strconv.Itoa(f.Seed) }

// isOf reports whether the figure is of these regimes together and no others;
// spotAndCluster stands for two.
func (f *figure) isOf(regime string) bool {
	return strings.Join(f.Regimes, "+") == regime
}

// fits reports whether a row is the figure's cell: the same model, modality,
// regime, strategy and batch on the paper's grid with the neutral wording.
func (f *figure) fits(s *setting) bool {
	return f.of(s.model) && f.Modality == s.modality && f.isOf(s.regime) && f.with(s)
}

// fits reports whether a row is the figure's cell, and of the model that its name
// says: what a control answered stands beside nobody's figure.
func (c *Collector) fits(f *figure, s *setting) bool { return f.fits(s) && !c.rehearsed(s.model) }

// of reports whether a model of ours is the figure's.
func (f *figure) of(model string) bool {
	return f.Model != "" && paperName(model) == paperName(f.Model)
}

// with reports whether a row's strategy, batch, grid and wording are those of
// the figure. One that names no strategy is of the paper's audit.
func (f *figure) with(s *setting) bool {
	if s.rows != publishedSide || s.cols != publishedSide || s.framing != "" && s.framing != publishedFraming {
		return false
	}
	switch {
	case f.Measure == "score-f1" || f.Measure == "stale-at-score":
		return s.strategy == scoreStrategy
	case f.Strategy != "" && s.strategy != f.Strategy, f.Strategy == "" && s.strategy != auditStrategy:
		return false
	}
	batch := f.Batch
	if batch == 0 {
		batch = publishedBatch
	}
	return s.strategy != auditStrategy || s.batch == batch
}

// auditStrategy is the paper's audit.
const auditStrategy = "omcd"

// paperName makes names comparable: the last part of ours, without parameters,
// in small letters, with hyphens for dots: openai/gpt-4o is GPT-4o, and
// anthropic/claude-sonnet-4-6 is Claude-Sonnet-4.6. A control is nobody's
// stand-in and has no such name.
func paperName(model string) string {
	if strings.HasPrefix(model, controlPrefix) {
		return ""
	}
	name, _, _ := strings.Cut(model, "?")
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.NewReplacer(".", "-", "_", "-", " ", "-").Replace(strings.ToLower(name))
}

// paperCell shows a figure's number; undefined for no figure.
func paperCell(f *figure) Cell {
	if f == nil {
		return Cell{}
	}
	return Cell{Value: f.Value, SD: f.SD}
}

// inPaper heads several columns of the paper's figures.
const inPaper = "in the paper"

// paperColumn shows the paper's figure beside ours, where any row has one.
func paperColumn[T any](c *Collector, groups []*group[T], key, heading, above, unit, measure string) definition[group[T]] {
	figureOf := func(g *group[T]) *figure { return c.publishedFor(measure, &g.setting) }
	return definition[group[T]]{
		Column{Key: key, Heading: heading, Group: above, Unit: unit, Kind: Number, Decimals: 3,
			DataOnly: !anyGroup(groups, func(g *group[T]) bool { return figureOf(g) != nil })},
		func(g *group[T]) Cell { return paperCell(figureOf(g)) },
	}
}
