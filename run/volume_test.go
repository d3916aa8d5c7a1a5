package run_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/reference"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// A scale counts what a model is really sent.
type scale struct {
	llm.Model
	mu       sync.Mutex
	calls    int
	text     llm.Tokens
	pictures int
}

func (m *scale) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	m.mu.Lock()
	m.calls++
	for i := range req.Parts {
		if p := &req.Parts[i]; p.IsImage() {
			m.pictures++
		} else {
			m.text = m.text.Plus(llm.EstimateTokens(p.Text()))
		}
	}
	m.mu.Unlock()
	return m.Model.Generate(ctx, req)
}

type nowhere struct{}

func (nowhere) Lookup(context.Context, string, string) (*record.Call, error) { return nil, nil }
func (nowhere) Call(context.Context, *record.Call) error                     { return nil }
func (nowhere) DurableCall(context.Context, *record.Call) error              { return nil }
func (nowhere) Trial(context.Context, *record.Trial) error                   { return nil }

// What a plan says of a detection must be what a run sends, to the token; what
// it says of episodes must hold what a run sends.
func TestVolumesAreWhatARunSends(t *testing.T) {
	for _, task := range []string{"detect", "navigate"} {
		for _, modality := range study.Modalities {
			s, err := study.Preset("quick")
			if err != nil {
				t.Fatal(err)
			}
			s.Seeds, s.Models, s.Sizes = s.Seeds[:2], []string{"ref/reader"}, []study.Size{{Rows: 5, Cols: 7}}
			if s.Detection.Modalities, s.Navigation.Modalities = []string{modality}, []string{modality}; task == "detect" {
				s.Navigation = nil
				s.Detection.Detectors = []study.Strategy{study.OMCD, study.SelfVerify}
			} else {
				s.Detection = nil
			}
			volumes, err := run.Volumes(s)
			if err != nil {
				t.Fatal(err)
			}
			control, err := reference.New("ref/reader")
			if err != nil {
				t.Fatal(err)
			}
			sent := &scale{Model: control}
			if _, err := run.Trials(t.Context(), s, run.Workers{Models: map[string]llm.Model{"ref/reader": sent}, Recorder: nowhere{}, Now: time.Now}); err != nil {
				t.Fatal(err)
			}
			var calls, text, pictures run.Bounds
			for _, v := range volumes {
				plus(&calls, run.Bounds{Least: v.Least, Likely: v.Likely, Most: v.Most})
				plus(&text, v.Text)
				plus(&pictures, v.Pictures)
				if modality == record.Vision && (v.Width != 7*48 || v.Height != 5*48) {
					t.Errorf("pictures of %d by %d", v.Width, v.Height)
				}
				for _, b := range v.Beginnings {
					if b.Calls.Most > v.Most || b.Calls.Least > v.Least {
						t.Errorf("%d calls begin as earlier ones, of %d", b.Calls.Most, v.Most)
					}
				}
			}
			if task == "detect" {
				want := run.Bounds{Least: sent.text.Low, Likely: text.Likely, Most: sent.text.High}
				if diff := cmp.Diff(want, text); diff != "" || calls.Least != sent.calls || calls.Most != sent.calls || calls.Likely != sent.calls || pictures.Most != sent.pictures || pictures.Least != sent.pictures {
					t.Errorf("%s: calls %+v of %d, pictures %+v of %d, text %s", modality, calls, sent.calls, pictures, sent.pictures, diff)
				}
				continue
			}
			if !within(calls, sent.calls) || !within(pictures, sent.pictures) || text.Least > sent.text.Low || text.Most < sent.text.High || calls.Likely > 2*sent.calls || sent.calls > 2*calls.Likely {
				t.Errorf("%s: calls %+v of %d, pictures %+v of %d, text %+v of %+v", modality, calls, sent.calls, pictures, sent.pictures, text, sent.text)
			}
		}
	}
}

func plus(to *run.Bounds, b run.Bounds) {
	to.Least += b.Least
	to.Likely += b.Likely
	to.Most += b.Most
}

func within(b run.Bounds, n int) bool {
	return b.Least <= n && n <= b.Most && b.Least <= b.Likely && b.Likely <= b.Most
}

// A plan of models is the plan of one, for each.
func TestVolumesOfModels(t *testing.T) {
	s, err := study.Preset("quick")
	if err != nil {
		t.Fatal(err)
	}
	s.Seeds, s.Models, s.Again = s.Seeds[:1], []string{"ref/reader", "ref/believer"}, true
	volumes, err := run.Volumes(s)
	if err != nil {
		t.Fatal(err)
	}
	by := map[record.Spec]run.Volume{}
	for _, v := range volumes {
		key := record.Spec{Task: v.Task, Modality: v.Modality, Regime: v.Regime, Strategy: v.Strategy}
		other, ok := by[key]
		if !ok {
			by[key] = v
			continue
		}
		other.Model = v.Model
		if diff := cmp.Diff(other, v); diff != "" {
			t.Errorf("%+v: %s", key, diff)
		}
		if v.Task == record.Detect && (v.Most != 2*v.Least || v.Verdicts.Most != 2*v.Verdicts.Least) {
			t.Errorf("asking again: %+v", v)
		}
	}
}
