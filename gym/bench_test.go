package gym

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/spatialstale/spatialstale/instance"
)

// BenchmarkStepMany steps 4,096 episodes with random actions, lines and all.
func BenchmarkStepMany(b *testing.B) {
	const n = 4096
	for _, regime := range instance.Regimes {
		b.Run(string(regime), func(b *testing.B) {
			in, requests := io.Pipe()
			answers, out := io.Pipe()
			go func() { out.CloseWithError(Serve(in, out, Options{Regime: regime})) }()
			defer requests.Close()
			dec := json.NewDecoder(answers)
			var h hello
			if err := dec.Decode(&h); err != nil {
				b.Fatal(err)
			}
			seeds := make([]int, n)
			for i := range seeds {
				seeds[i] = h.Seeds[i%len(h.Seeds)]
			}
			ask := func(q request) (a manyAnswer) {
				line, err := json.Marshal(q)
				if err == nil {
					_, err = requests.Write(append(line, '\n'))
				}
				if err == nil {
					err = dec.Decode(&a)
				}
				if err != nil {
					b.Fatal(err)
				}
				return a
			}
			a := ask(request{ResetMany: &resetManyRequest{seeds}})
			r := rand.New(rand.NewPCG(1, 2))
			steps := 0
			for b.Loop() {
				q := stepManyRequest{Actions: make([]byte, n)}
				for i := range q.Actions {
					q.Actions[i] = byte(r.IntN(4))
					if a.Ended[i] != goesOn {
						q.Reset = binary.LittleEndian.AppendUint32(q.Reset, uint32(i))
						q.Seeds = binary.LittleEndian.AppendUint64(q.Seeds, uint64(h.Seeds[r.IntN(len(h.Seeds))]))
					}
				}
				a = ask(request{StepMany: &q})
				steps += n
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
		})
	}
}
