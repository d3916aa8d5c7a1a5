package serve

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/provenance"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
)

// A Recorder keeps what judged entries, to be looked at later.
type Recorder interface {
	Append(a *provenance.Audit) error
}

// A call is one request for an audit.
type call struct {
	account  *account
	id       string // of the request
	door     string // by which it came
	progress func(judged, asked int)
}

// audit makes an audit. Its error is a fault.
func (s *Service) audit(ctx context.Context, c call, r *AuditRequest) (*AuditAnswer, error) {
	began := s.options.Now()
	answer, model, err := s.safely(ctx, c, r)
	took := s.options.Now().Sub(began)
	outcome := "audited"
	if err != nil {
		f := faultOf(err, s.options.Limits.Time)
		outcome, err = outcomes[f.status], f
		if outcome == "" {
			outcome = "invalid"
		}
	} else if answer.Escalated {
		outcome = "escalated"
	}
	s.metrics.audit(c.account.Name, model, outcome, took, answer)
	return answer, err
}

// outcomes are the words of statuses in metrics; others are invalid.
var outcomes = map[int]string{500: "fault", 402: "over-budget", 403: "forbidden", 429: "too-many", 499: "given-up", 502: "model-failed", 503: "unavailable", 504: "timeout"}

// safely is try, and a fault of the program is an error like others: it ends one
// audit, and not the service.
func (s *Service) safely(ctx context.Context, c call, r *AuditRequest) (answer *AuditAnswer, model string, err error) {
	defer func() {
		if value := recover(); value != nil {
			s.logFault(c.id, value)
			answer, err = nil, &fault500
		}
	}()
	return s.try(ctx, c, r)
}

func (s *Service) try(ctx context.Context, c call, r *AuditRequest) (answer *AuditAnswer, model string, err error) {
	m, err := c.account.model(r.Model)
	if err != nil {
		return nil, "", err
	}
	done := &provenance.Audit{ID: c.id, Trigger: cmp.Or(r.Trigger, c.door), Model: m.Name, Price: m.Price}
	if err := r.check(&s.options.Limits); err != nil {
		return nil, m.Name, err
	}
	options, err := r.options(s.options.Honour)
	if err != nil {
		return nil, m.Name, err
	}
	options.Secret, options.Progress, options.Now = c.account.secret, c.progress, s.options.Now
	options.RulesOnly, options.Batch, options.Concurrency = m.model == nil, s.options.Batch, s.options.Concurrency
	auditor, err := audit.New(m.model, options)
	if err != nil {
		return nil, m.Name, err
	}
	done.Prompt, done.Memories, done.Observation = auditor.PromptVersion(), r.memories(), audit.Observation(r.Observation)
	ctx, cancel := context.WithTimeout(ctx, s.options.Limits.Time)
	defer cancel()
	done.Result, err = m.session.With(auditor).Audit(ctx, done.Memories, done.Observation)
	if done.Result != nil {
		s.logFailures(c, m.Name, done.Result.Failures)
		if c.account.keep != nil {
			if kept := c.account.keep.Append(done); kept != nil {
				s.log.Error("verdicts were not kept", "request", c.id, "token", c.account.Name, "error", kept)
			}
		}
	}
	if err != nil && !errors.Is(err, audit.ErrEscalated) {
		return nil, m.Name, err
	}
	return AnswerOf(done), m.Name, nil
}

// logFailures tells the operator what a client is not told: a provider's words.
func (s *Service) logFailures(c call, model string, failures []error) {
	if len(failures) > 0 && llm.KindOf(failures[0]) != llm.KindCanceled { // the client has gone, or its time is up
		s.log.Warn("calls of a model failed", "request", c.id, "token", c.account.Name, "model", model, "calls", len(failures), "first", failures[0])
	}
}

// AnswerOf tells of an audit as the service does.
func AnswerOf(a *provenance.Audit) *AuditAnswer {
	r := a.Result
	out := &AuditAnswer{Kept: []Kept{}, Verdicts: make([]Verdict, len(r.Verdicts)), Escalated: r.Escalated, Model: a.Model, RequestID: a.ID}
	counts := map[string]*int{audit.Stale: &out.Counts.Stale, audit.Valid: &out.Counts.Valid, audit.NotCovered: &out.Counts.NotCovered, audit.Unaudited: &out.Counts.Unaudited}
	for i, v := range r.Verdicts {
		out.Verdicts[i] = Verdict(v)
		*counts[v.Status]++
		if v.Action == audit.Removed {
			out.Counts.Removed++
			continue
		}
		out.Kept = append(out.Kept, Kept{Index: i, ID: v.ID, Text: r.Kept[len(out.Kept)].Text})
	}
	out.Usage = usageOf(r, a.Price)
	failures := map[string]int{}
	for _, err := range r.Failures {
		failures[failure(err)]++
	}
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		out.Failures = append(out.Failures, Failure{kind, failures[kind]})
	}
	return out
}

func usageOf(r *audit.Result, p *price.Price) (u Usage) {
	u.Calls = len(r.Usage)
	var cost price.USD
	for _, one := range r.Usage {
		if one.InputTokens != nil {
			u.InputTokens += *one.InputTokens
		}
		if one.OutputTokens != nil {
			u.OutputTokens += *one.OutputTokens
		}
		if p != nil {
			cost += p.Cost(one).USD
		}
	}
	if p != nil {
		dollars := cost.Dollars()
		u.CostUSD = &dollars
	}
	return u
}
