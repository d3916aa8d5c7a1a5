package lake_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spatialstale/spatialstale/lake"
)

// benchGrids returns n grids whose cells are holes with probability 0.25, as
// generation draws them before it knows which are solvable.
func benchGrids(n, rows, cols int) []lake.Grid {
	rng := rand.New(rand.NewPCG(2024, uint64(rows*cols)))
	grids := make([]lake.Grid, n)
	for i := range grids {
		g, err := lake.New(rows, cols)
		if err != nil {
			panic(err)
		}
		for r := range rows {
			g.SetHoles(r, rng.Uint64()&rng.Uint64())
		}
		grids[i] = g
	}
	return grids
}

func BenchmarkStep(b *testing.B) {
	g, err := lake.New(8, 8)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	actions := make([]lake.Action, 1<<12)
	for i := range actions {
		actions[i] = lake.Action(rng.IntN(4))
	}
	g.SetHole(lake.Pos{Row: 3, Col: 3}, true)
	p, ended, i := g.Start(), 0, 0
	for b.Loop() {
		p = g.Move(p, actions[i&(1<<12-1)])
		i++
		if g.Judge(p) != lake.Ongoing {
			p = g.Start()
			ended++
		}
	}
	if i > 1<<12 && ended == 0 {
		b.Fatal("no walk ended")
	}
	b.ReportMetric(float64(i)/b.Elapsed().Seconds()/1e6, "Msteps/s")
}

func BenchmarkSolvable8x8(b *testing.B)   { benchmarkSolvable(b, 8, 8) }
func BenchmarkSolvable16x16(b *testing.B) { benchmarkSolvable(b, 16, 16) }
func BenchmarkSolvable64x64(b *testing.B) { benchmarkSolvable(b, 64, 64) }

func benchmarkSolvable(b *testing.B, rows, cols int) {
	grids := benchGrids(1024, rows, cols)
	n, solvable := 0, 0
	for b.Loop() {
		if grids[n&1023].Solvable() {
			solvable++
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "checks/s")
	b.ReportMetric(float64(solvable)/float64(n), "solvable")
}

func BenchmarkRouteStep8x8(b *testing.B)   { benchmarkRouteStep(b, 8, 8) }
func BenchmarkRouteStep64x64(b *testing.B) { benchmarkRouteStep(b, 64, 64) }

func benchmarkRouteStep(b *testing.B, rows, cols int) {
	grids := benchGrids(1024, rows, cols)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		g := &grids[n&1023]
		g.RouteStep(g.Start(), g.Goal())
		n++
	}
}

func BenchmarkDistances8x8(b *testing.B)   { benchmarkDistances(b, 8, 8) }
func BenchmarkDistances64x64(b *testing.B) { benchmarkDistances(b, 64, 64) }

func benchmarkDistances(b *testing.B, rows, cols int) {
	grids := benchGrids(1024, rows, cols)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		g := &grids[n&1023]
		g.Distances(g.Goal())
		n++
	}
}
