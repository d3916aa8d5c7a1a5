package stats

import "testing"

func benchmarkFlip(b *testing.B, d []float64) {
	for b.Loop() {
		must(SignFlip(d, SignFlipOptions{}))
	}
}

func BenchmarkSignFlipRates50(b *testing.B) {
	d := make([]float64, 50)
	for i := range d {
		d[i] = float64(i%7-2) / 5
	}
	benchmarkFlip(b, d)
}

func BenchmarkSignFlipReals40(b *testing.B) { benchmarkFlip(b, wobbly(40, 0.2)) }
func BenchmarkSignFlipReals50(b *testing.B) { benchmarkFlip(b, wobbly(50, 0.2)) }

func BenchmarkWilcoxon50(b *testing.B) {
	d := wobbly(50, 0.2)
	for b.Loop() {
		must(Wilcoxon(d, WilcoxonOptions{}))
	}
}

func BenchmarkBootstrapMean50(b *testing.B) {
	d := wobbly(50, 0.2)
	for b.Loop() {
		must(BootstrapMean(d, BootstrapOptions{}))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/9999, "ns/resample")
}

func BenchmarkUnitsNeeded(b *testing.B) {
	for b.Loop() {
		must(PairedDesign{SD: 0.3}.UnitsNeeded(0.05, 0.8))
	}
}
