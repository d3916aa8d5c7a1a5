package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const auditPath = "/v1/audit"

// Handler returns the service as a handler of HTTP.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	s.describe(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-s.stopping:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("stopping\n"))
		default:
			_, _ = w.Write([]byte("ok\n"))
		}
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) { s.writeMetrics(w, askedOf(r.Context()).account) })
	mux.Handle("/mcp", s.mcpHandler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeFault(w, askedOf(r.Context()).id, &fault{status: http.StatusNotFound, text: "there is nothing here; /openapi.json says what there is"})
	})
	return s.guard(mux)
}

// OpenAPI returns the description of the HTTP API as JSON.
func (s *Service) OpenAPI() ([]byte, error) {
	return s.describe(http.NewServeMux()).OpenAPI().MarshalJSON()
}

// A ModelAnswer is what is told of the models.
type ModelAnswer struct {
	Models []ModelInfo `json:"models" nullable:"false"`
}

// ModelInfo is what is told of one model.
type ModelInfo struct {
	Name    string `json:"name" doc:"As requests name it."`
	Default bool   `json:"default" doc:"It is asked where a request names none."`
	Priced  bool   `json:"priced" doc:"Its price is known, so that answers say what they cost."`
}

func (a *account) modelInfo() ModelAnswer {
	out := ModelAnswer{Models: []ModelInfo{}}
	for i, m := range a.models {
		out.Models = append(out.Models, ModelInfo{Name: m.Name, Default: i == 0, Priced: m.Price != nil})
	}
	return out
}

// AccountAnswer is what a token's holder is told of it.
type AccountAnswer struct {
	Name      string   `json:"name"`
	SpentUSD  float64  `json:"spent_usd" doc:"On answers, since the service began."`
	HeldUSD   float64  `json:"held_usd" doc:"At most, for calls under way and those whose answer nobody saw."`
	BudgetUSD *float64 `json:"budget_usd,omitempty"`
}

func (a *account) info() AccountAnswer {
	b := a.budget.Balance()
	out := AccountAnswer{Name: a.Name, SpentUSD: b.Spent.Dollars(), HeldUSD: b.Lost.Dollars() + b.Reserved.Dollars()}
	if limit, ok := a.budget.Limit(); ok {
		dollars := limit.Dollars()
		out.BudgetUSD = &dollars
	}
	return out
}

const auditDoc = `Holds the entries of an agent's memory against what is seen now, and says of each whether it is stale.
Every entry gets a verdict; what was not judged is unaudited, never valid. Nothing is stored but verdicts, so that
an entry is asked about again only when it, the observation or the words of the question have changed.`

// describe registers the API. There is no page of documentation: the library's
// loads a script from the network.
func (s *Service) describe(mux *http.ServeMux) huma.API {
	c := huma.DefaultConfig("SpatialSTALE audit", s.options.Version)
	c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", nil
	c.Info.Description = "Audits an agent's memory against what is seen now, before the agent acts on it."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"token": {}}}
	c.Transformers = []huma.Transformer{withoutValues}
	api := humago.New(mux, c)
	huma.Register(api, huma.Operation{
		OperationID: "audit", Method: http.MethodPost, Path: auditPath, Summary: "Audit a memory", Description: auditDoc,
		MaxBodyBytes: -1, BodyReadTimeout: -1, SkipValidateBody: true, // guard has read it within bounds, and validated it
		Errors: []int{400, 401, 402, 403, 408, 413, 415, 422, 429, 500, 502, 503, 504},
	}, func(ctx context.Context, in *struct{ Body AuditRequest }) (*struct{ Body *AuditAnswer }, error) {
		a := askedOf(ctx)
		answer, err := s.audit(ctx, call{account: a.account, id: a.id, door: "http"}, &in.Body)
		if err != nil {
			return nil, problemOf(a.id, err)
		}
		return &struct{ Body *AuditAnswer }{answer}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "listModels", Method: http.MethodGet, Path: "/v1/models", Summary: "List the models that may be asked", Errors: []int{401, 403},
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body ModelAnswer }, error) {
		return &struct{ Body ModelAnswer }{askedOf(ctx).account.modelInfo()}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "getAccount", Method: http.MethodGet, Path: "/v1/account", Summary: "What this token has spent", Errors: []int{401, 403},
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body AccountAnswer }, error) {
		return &struct{ Body AccountAnswer }{askedOf(ctx).account.info()}, nil
	})
	return api
}

// problemOf is a fault as the API's library writes it.
func problemOf(id string, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	if f.status == statusGone {
		panic(http.ErrAbortHandler) // nobody is there
	}
	if f.retry > 0 {
		return huma.ErrorWithHeaders(problem(id, f), http.Header{"Retry-After": {f.seconds()}})
	}
	return problem(id, f)
}

// withoutValues leaves out of a problem what was sent, which may be long, and
// names the request.
func withoutValues(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*huma.ErrorModel); ok {
		p.Instance = "urn:request:" + ctx.Header(idHeader)
		for _, e := range p.Errors {
			e.Value = nil
		}
	}
	return v, nil
}
