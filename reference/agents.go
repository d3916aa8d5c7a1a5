package reference

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
)

// dice are the draws of one call, determined by its prompt, slot and trial.
type dice struct{ pcg *rand.PCG }

func newDice(req *llm.Request) *dice {
	sum := req.PromptSum()
	key := make([]byte, 0, 128)
	key = append(key, sum[:]...)
	key = append(key, req.Slot...)
	key = append(key, 0)
	key = append(key, req.Trial...)
	sum = sha256.Sum256(key)
	return &dice{rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:]))}
}

// chance is true with probability p, to 53 bits.
func (d *dice) chance(p float64) bool { return float64(d.pcg.Uint64()>>11) < p*(1<<53) }

// pick draws one of n numbers from 0; the bias for the few that are used is
// beyond notice.
func (d *dice) pick(n int) int { return int(d.pcg.Uint64() % uint64(n)) }

// action draws one of the four actions.
func (d *dice) action() lake.Action { return lake.Actions[d.pcg.Uint64()>>62] }

// reader is the ceiling.
type reader struct{}

func (reader) judge(p *prompt, _ *dice) []judgment {
	out := make([]judgment, len(p.entries))
	for i, e := range p.entries {
		out[i] = p.compare(e)
	}
	return out
}

func (reader) act(p *prompt, _ *dice) lake.Action { return p.walk(&p.scene.Grid) }

// believer is the floor.
type believer struct{}

func (believer) judge(p *prompt, _ *dice) []judgment {
	out := make([]judgment, len(p.entries))
	for i, e := range p.entries {
		out[i] = judgment{confidence: 1, reason: "the memory says " + e.claim}
	}
	return out
}

func (believer) act(p *prompt, _ *dice) lake.Action { return p.walk(p.believed()) }

func (m *mixed) judge(p *prompt, d *dice) []judgment {
	tpr, fpr := m.tpr, m.fpr
	if p.vision {
		tpr, fpr = m.visionTPR, m.visionFPR
	}
	out := make([]judgment, len(p.entries))
	for i, e := range p.entries {
		rate := fpr
		if p.compare(e).stale {
			rate = tpr
		}
		out[i] = judgment{stale: d.chance(rate), confidence: 0.9, reason: fmt.Sprintf("%v looks as the memory says", e.pos)}
		if out[i].stale {
			out[i].reason = fmt.Sprintf("%v looks different now", e.pos)
		}
		if p.scores {
			out[i].score = d.score(out[i].stale)
		}
	}
	return out
}

// score draws a score on the right side of one half: 0.6 to 1.0 for stale, 0.0
// to 0.4 for valid, in tenths.
func (d *dice) score(stale bool) *float64 {
	tenths := d.pick(5)
	if stale {
		tenths += 6
	}
	score := float64(tenths) / 10
	return &score
}

// act draws first whether it slips, then whether it trusts the memory. Both
// draws are always made, so that one probability does not shift the other's.
func (m *mixed) act(p *prompt, d *dice) lake.Action {
	slips, trusts := d.chance(m.slip), d.chance(m.trust)
	switch {
	case slips:
		return d.action()
	case trusts:
		return p.walk(p.believed())
	}
	return p.walk(&p.scene.Grid)
}

// alwaysStale flags everything.
type alwaysStale struct{ believer }

func (alwaysStale) judge(p *prompt, _ *dice) []judgment {
	out := make([]judgment, len(p.entries))
	for i := range out {
		out[i] = judgment{stale: true, confidence: 1, reason: "everything may have changed"}
	}
	return out
}

// neverStale flags nothing and trusts nothing.
type neverStale struct{ reader }

func (neverStale) judge(p *prompt, d *dice) []judgment { return believer{}.judge(p, d) }

// random is chance.
type random struct{}

func (random) judge(p *prompt, d *dice) []judgment {
	out := make([]judgment, len(p.entries))
	for i := range out {
		out[i] = judgment{stale: d.chance(0.5), confidence: 0.5, reason: "a coin was tossed"}
		if p.scores {
			out[i].score = d.score(out[i].stale)
		}
	}
	return out
}

func (random) act(_ *prompt, d *dice) lake.Action { return d.action() }

// silent answers nothing.
type silent struct{ reader }

func (silent) dressJudgments([]entry, []judgment, *dice) *llm.Reply { return said("") }

func (silent) dressAction(lake.Action, *dice) *llm.Reply { return said("") }

// compare judges an entry by the observation. What is out of view is not
// contradicted.
func (p *prompt) compare(e entry) judgment {
	if e.claim == "" {
		return judgment{confidence: 1, reason: "it says nothing of a cell of this lake"}
	}
	if !p.scene.Grid.Contains(e.pos) {
		return judgment{confidence: 0.5, reason: fmt.Sprintf("%v is not on the grid", e.pos)}
	}
	if !p.scene.Sees(e.pos) {
		return judgment{confidence: 0.5, reason: fmt.Sprintf("%v is not in view", e.pos)}
	}
	cell := p.scene.Grid.At(e.pos)
	return judgment{
		stale:      (e.claim == claimDanger) != cell.Hazard(),
		confidence: 1,
		reason:     fmt.Sprintf("%v is %v", e.pos, cell),
	}
}

// believed is the lake as the memory has it; where the memory has no entry, as
// the observation shows it.
func (p *prompt) believed() *lake.Grid {
	g := p.scene.Grid
	for _, e := range p.entries {
		if e.claim != "" {
			g.SetHole(e.pos, e.claim == claimDanger)
		}
	}
	return &g
}

// walk takes the first step of a shortest safe route on g. Where g has none it
// walks by what it sees, and where there is none either it stays off holes.
func (p *prompt) walk(g *lake.Grid) lake.Action {
	if a, ok := g.RouteStep(p.scene.Agent, p.goal); ok {
		return a
	}
	seen := &p.scene.Grid
	if a, ok := seen.RouteStep(p.scene.Agent, p.goal); ok {
		return a
	}
	for _, a := range lake.Actions {
		if !seen.IsHole(seen.Move(p.scene.Agent, a)) {
			return a
		}
	}
	return lake.Down
}
