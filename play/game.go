package play

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// A Game is what a person plays: one task of a study. What is empty is as in the
// study quick, but for one seed, one regime, one strategy, text
// and one episode.
type Game struct {
	Name     string   // of the person: letters, digits, . _ -
	Task     string   // navigate, unless it is detect
	Seeds    []string // numbers, or a range such as "1..5"
	Size     string   // such as 8x8
	Regimes  []string
	Strategy []string // whose memory the person has, or by whose batches they judge
	Modality string   // text or vision
	Radius   int      // of the view; 0 for the whole lake
	Episodes int      // a lake
}

// Study returns the study that is played. Its error says what of the game is not
// possible.
func (g *Game) Study() (*study.Study, error) {
	s, err := study.Preset("quick")
	if err != nil {
		return nil, err
	}
	task, strategies, modalities, by := record.Navigate, "navigation.strategies", "navigation.modalities", "no-filter"
	if g.Task == record.Detect {
		task, strategies, modalities, by = record.Detect, "detection.detectors", "detection.modalities", "omcd"
	}
	list := func(given []string, otherwise string) string {
		if len(given) == 0 {
			given = []string{otherwise}
		}
		return "[" + strings.Join(given, ", ") + "]"
	}
	seeds := "1" // the first
	if len(g.Seeds) > 0 {
		seeds = list(g.Seeds, "")
	}
	settings := []string{
		"name=play", "tasks=" + task, fmt.Sprintf("models=[%q]", record.PersonPrefix+g.Name),
		"seeds=" + seeds, "regimes=" + list(g.Regimes, "L2"), strategies + "=" + list(g.Strategy, by),
		modalities + "=" + cmp.Or(g.Modality, record.Text),
	}
	if g.Size != "" {
		settings = append(settings, "sizes=["+g.Size+"]")
	}
	if g.Radius > 0 {
		settings = append(settings, fmt.Sprintf("view_radius=%d", g.Radius))
	}
	if task == record.Navigate {
		settings = append(settings, fmt.Sprintf("navigation.episodes=%d", max(1, g.Episodes)))
	}
	for _, setting := range settings {
		if err := s.Set(setting); err != nil {
			return nil, run.UsageError{Err: err}
		}
	}
	return s, nil
}

// Begin begins a game in a folder, or goes on with the one that is there. The
// session ends when the game is over, or with ctx: what was answered is kept.
func Begin(ctx context.Context, dir string, g *Game, p *Person) (*run.Session, error) {
	options := run.Options{Dir: dir, Pace: run.Pace{Concurrency: 1}, Programs: map[string]llm.Model{record.PersonPrefix + g.Name: p}}
	if _, err := os.Stat(filepath.Join(dir, store.DatabaseName)); err == nil {
		return run.Resume(ctx, dir, run.ResumeOptions{Options: options})
	}
	s, err := g.Study()
	if err != nil {
		return nil, err
	}
	return run.Start(ctx, s, options)
}
