package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// An InspectSource is a run to export as Inspect's logs, such as a *store.Run.
type InspectSource interface {
	Source
	Manifest() record.Manifest
	Plan() iter.Seq2[record.Spec, error]
	CallsWithPrompts() iter.Seq2[*record.Call, error]
}

// Inspect writes a run to dir as logs of Inspect (inspect_ai), one .eval file a
// task and model, which its viewer and its Python library open. A trial is a
// sample, an episode's number its epoch; docs/inspect.md says what is where.
//
// It goes through the run twice and holds one trial at a time. Like JSONL it
// never overwrites, and writes all files or none. The only times in it are
// latencies: every trial begins at the moment at which the run was made.
func Inspect(run InspectSource, dir string) error {
	logs, err := surveyLogs(run)
	if err != nil {
		return err
	}
	var names []string
	for _, l := range logs {
		names = append(names, l.name)
	}
	out, err := newOutput(dir, names...)
	if err != nil {
		return err
	}
	if err := writeLogs(run, logs, out); err != nil {
		out.abandon()
		return explain(dir, err)
	}
	return out.finish()
}

// A logKey says whose log it is.
type logKey struct{ task, model string }

// An evalLog is one log under construction.
type evalLog struct {
	logKey
	name             string // of the file
	id, runID        string
	created          time.Time
	planned, samples int
	failed           int
	firstError       string // of the failed trials, in the plan's order
	epochs           int
	ids              sampleIDs
	asked            map[string]any // of the model's calls
	means            map[string]*mean
	zip              *evalZip
	usage            usageSum
	seconds          float64
	summaries        []sampleSummary
}

// A mean is that of a score over the trials that have it.
type mean struct {
	sum float64
	n   int
}

// surveyLogs finds out which logs a run makes, in the order of its plan.
func surveyLogs(run InspectSource) ([]*evalLog, error) {
	m := run.Manifest()
	runID, err := inspectRunID(&m)
	if err != nil {
		return nil, err
	}
	var logs []*evalLog
	for spec, err := range run.Plan() {
		if err != nil {
			return nil, err
		}
		key := logKey{spec.Task, spec.Model}
		i := slices.IndexFunc(logs, func(l *evalLog) bool { return l.logKey == key })
		if i < 0 {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", runID, spec.Task, spec.Model))
			l := &evalLog{logKey: key, id: hex.EncodeToString(sum[:11]), runID: runID, created: m.Created.UTC(), epochs: 1, means: map[string]*mean{}}
			if l.asked, err = generateConfig(&m, spec.Model); err != nil {
				return nil, err
			}
			l.name = fmt.Sprintf("%s_%s-%s_%s.eval", l.created.Format("2006-01-02T15-04-05-07-00"), "spatialstale", spec.Task, l.id)
			i, logs = len(logs), append(logs, l)
		}
		l := logs[i]
		l.planned++
		l.epochs = max(l.epochs, spec.Episode)
		l.ids.add(&spec)
	}
	for _, l := range logs {
		if err := l.ids.settle(); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// inspectRunID tells a run from every other one, also from its replays, by what
// its manifest says of where it comes from. It stays as the run grows or moves.
func inspectRunID(m *record.Manifest) (string, error) {
	origin, err := json.Marshal([]any{m.Created.UTC(), m.ReplayedFrom, m.Prompts})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(origin)
	return hex.EncodeToString(sum[:11]), nil
}

// writeLogs writes the samples of all logs and then what stands around them.
func writeLogs(run InspectSource, logs []*evalLog, out *output) error {
	m := run.Manifest()
	byKey, shared := map[logKey]*evalLog{}, &press{}
	for _, l := range logs {
		byKey[l.logKey] = l
		l.zip = newZip(out.writers[l.name], shared)
		if err := l.zip.add("_journal/start.json", journalStart{logVersion, l.spec(&m), newPlan()}); err != nil {
			return err
		}
	}
	lakes := map[string]*record.Instance{}
	for in, err := range run.Instances() {
		if err != nil {
			return err
		}
		lakes[lakeName(in.Seed, len(in.Rows), len(in.Rows[0]), in.Regime)] = &in
	}
	nextCall, stop := iter.Pull2(run.CallsWithPrompts())
	defer stop()
	call, callErr, more := nextCall()
	place := map[string]int{} // of a trial in the plan
	n := 0
	for spec, err := range run.Plan() {
		if err != nil {
			return err
		}
		place[spec.Key] = n
		n++
	}
	for t, err := range run.Trials() {
		if err != nil {
			return err
		}
		// Calls of trials that have not ended come in between, and are left out.
		for callErr == nil && more && call.Trial != t.Key && place[call.Trial] < place[t.Key] {
			call, callErr, more = nextCall()
		}
		var calls []*record.Call
		for callErr == nil && more && call.Trial == t.Key {
			calls = append(calls, call)
			call, callErr, more = nextCall()
		}
		if callErr != nil {
			return callErr
		}
		l := byKey[logKey{t.Task, t.Model}]
		if l == nil {
			return fmt.Errorf("trial %s is not in the run's plan", t.Key)
		}
		if err := l.add(newSampleOf(l, t, calls, lakes[lakeName(t.Seed, t.Rows, t.Cols, t.Regime)])); err != nil {
			return err
		}
	}
	for _, l := range logs {
		if err := l.finish(&m); err != nil {
			return err
		}
	}
	return nil
}

func lakeName(seed, rows, cols int, regime string) string {
	return fmt.Sprintf("%d/%dx%d/%s", seed, rows, cols, regime)
}

// add writes a sample and counts what the header says of all.
func (l *evalLog) add(s *evalSample) error {
	if err := l.zip.add(fmt.Sprintf("samples/%s_epoch_%d.json", s.ID, s.Epoch), s); err != nil {
		return err
	}
	l.samples++
	if s.Error != nil {
		if l.failed++; l.firstError == "" {
			l.firstError = s.Error.Message
		}
	}
	for _, name := range scoreNames[l.task] {
		score, ok := s.Scores[name]
		if !ok {
			continue
		}
		if v, ok := score.Value.(float64); ok {
			if l.means[name] == nil {
				l.means[name] = &mean{}
			}
			l.means[name].sum += v
			l.means[name].n++
		}
	}
	l.usage.plus(&s.sum)
	l.seconds = max(l.seconds, s.TotalTime)
	l.summaries = append(l.summaries, s.summary())
	return nil
}

// finish writes the header and what stands beside it.
func (l *evalLog) finish(m *record.Manifest) error {
	if err := l.zip.add("_journal/summaries/1.json", l.summaries); err != nil {
		return err
	}
	if err := l.zip.add("summaries.json", l.summaries); err != nil {
		return err
	}
	results := evalResults{TotalSamples: l.planned, CompletedSamples: l.samples - l.failed, Scores: []evalScore{}}
	for _, name := range scoreNames[l.task] {
		if x := l.means[name]; x != nil {
			results.Scores = append(results.Scores, evalScore{name, name, x.n, l.planned - x.n, empty{}, map[string]evalMetric{"mean": {"mean", x.sum / float64(x.n), empty{}}}})
		}
	}
	status, failure := l.status()
	header := evalHeader{
		Version: logVersion, Status: status, Error: failure, Eval: l.spec(m), Plan: newPlan(), Results: results,
		Stats: evalStats{stamp(l.created), stamp(l.created.Add(time.Duration(l.seconds * float64(time.Second)))), l.usage.by(l.model), empty{}, []string{}},
		Tags:  []string{}, Metadata: empty{},
	}
	if err := l.zip.add("header.json", header); err != nil {
		return err
	}
	return l.zip.to.Close()
}

// status is what Inspect itself would call the log of an evaluation that goes on
// after a sample's error: cancelled while trials are missing, an error when all
// have ended and some of them failed.
func (l *evalLog) status() (string, *evalError) {
	switch {
	case l.samples < l.planned:
		return "cancelled", nil
	case l.failed > 0:
		return "error", newEvalError(fmt.Sprintf("%d of %d trials failed; the first: %s", l.failed, l.planned, l.firstError))
	}
	return "success", nil
}

func (l *evalLog) spec(m *record.Manifest) evalSpec {
	config := map[string]any{}
	return evalSpec{
		EvalID: l.id, RunID: l.runID, Created: stamp(l.created), Task: "spatialstale-" + l.task, TaskID: l.id,
		Dataset: evalDataset{"SpatialSTALE", "seeds", len(l.ids.list), l.ids.list, false}, Model: l.model,
		Config: evalConfig{l.epochs, true, true}, Packages: map[string]string{"spatialstale": m.Program},
		TaskVersion: 0, TaskAttribs: config, TaskArgs: config, TaskArgsPassed: config, ModelGenerateConfig: l.asked, ModelArgs: config,
		Metadata: map[string]any{"study": m.Study, "prompts": m.Prompts},
	}
}

// generateConfig is what a run asked of a model's calls, in Inspect's words: the
// study's parameters but those that the server refused, and what was added to
// each request. A control takes none. Without a cap in the study each call had
// one that is ample for its answer, which no record has.
func generateConfig(m *record.Manifest, model string) (map[string]any, error) {
	config := map[string]any{}
	i := slices.IndexFunc(m.Models, func(x record.ModelInfo) bool { return x.Name == model })
	if i < 0 || m.Models[i].Control || len(m.Study) == 0 {
		return config, nil
	}
	var study struct{ Params map[string]any }
	decoder := json.NewDecoder(bytes.NewReader(m.Study))
	decoder.UseNumber() // as the study has them
	if err := decoder.Decode(&study); err != nil {
		return nil, fmt.Errorf("the study of the manifest: %w", err)
	}
	names := map[string]string{"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "thinking": "reasoning_tokens", "logprobs": "logprobs"}
	for ours, theirs := range names {
		if value := study.Params[ours]; value != nil {
			config[theirs] = value
		}
	}
	for _, c := range m.Models[i].Changes {
		if c.Instead == "" {
			delete(config, c.Param)
		}
	}
	if s := m.Models[i].Settings; s != nil && len(s.ExtraBody) > 0 {
		config["extra_body"] = s.ExtraBody
	}
	return config, nil
}

// stamp writes a time as Inspect does, with its offset.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }
