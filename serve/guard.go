package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// asked is what is known of a request under way.
type asked struct {
	id      string
	account *account
	status  int
}

type askedKey struct{}

func askedOf(ctx context.Context) *asked { return ctx.Value(askedKey{}).(*asked) }

var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

const (
	idHeader = "X-Request-Id"
	// keyHeader carries a request's key to the tools of MCP, which are shown its
	// headers and nothing else. A client cannot set it.
	keyHeader = "X-Spatialstale-Key"
)

// openPaths are those that need neither token nor Host: they tell nothing.
var openPaths = []string{"/healthz", "/readyz"}

// guard lets those requests through that are for this service, from a page that
// may ask, with a token, and of a bounded body.
func (s *Service) guard(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.options.Now()
		a := &asked{id: r.Header.Get(idHeader)}
		if !requestID.MatchString(a.id) {
			a.id = NewToken()[:16]
		}
		r.Header.Set(idHeader, a.id) // for withoutValues
		w.Header().Set(idHeader, a.id)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r = r.WithContext(context.WithValue(r.Context(), askedKey{}, a))
		_, pattern := mux.Handler(r)
		written := &recorder{ResponseWriter: w, status: &a.status, within: s.options.Limits.BodyTime}
		defer func() {
			if fault := recover(); fault != nil {
				s.recovered(r, written, fault)
			}
			if r.Context().Err() != nil && a.status < 400 {
				a.status = statusGone
			}
			s.answered(r, pattern, a, s.options.Now().Sub(began))
		}()
		if err := s.serve(mux, written, r); err != nil {
			writeFault(written, a.id, faultOf(err, s.options.Limits.Time))
		}
	})
}

// serve answers a request, or says why not.
func (s *Service) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) error {
	if slices.Contains(openPaths, r.URL.Path) {
		mux.ServeHTTP(w, r)
		return nil
	}
	if err := s.checkHost(r.Host); err != nil {
		return err
	}
	if done, err := s.checkOrigin(w, r); done || err != nil {
		return err
	}
	a := askedOf(r.Context())
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if a.account = s.holder(token); a.account == nil || !strings.EqualFold(scheme, "Bearer") {
		a.account = nil
		w.Header().Set("WWW-Authenticate", `Bearer realm="spatialstale"`)
		return failf(http.StatusUnauthorized, "this needs a token: send the header \"Authorization: Bearer TOKEN\" with one that the service was started with")
	}
	if r.Method == http.MethodPost {
		leave, err := s.admit.enter(r.Context(), a.account)
		if err != nil {
			return err
		}
		defer leave()
		if err := s.readBody(w, r); err != nil {
			return err
		}
	}
	key := NewToken()
	r.Header.Set(keyHeader, key)
	s.requests.Store(key, r.Context())
	defer s.requests.Delete(key)
	mux.ServeHTTP(w, r)
	return nil
}

// checkHost refuses a request for another name: a page whose name was made to
// point here has that name in it.
func (s *Service) checkHost(host string) error {
	if s.ours(host) {
		return nil
	}
	return failf(http.StatusForbidden, "the host %q is not one that this service answers for; the operator names those with --host", host)
}

func (s *Service) ours(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() || name == "localhost" {
		return true
	}
	return slices.ContainsFunc(s.options.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// checkOrigin refuses the requests of pages that may not ask, and answers the
// question of a browser whether one may.
func (s *Service) checkOrigin(w http.ResponseWriter, r *http.Request) (done bool, err error) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false, nil
	}
	if !slices.Contains(s.options.Origins, origin) {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Host != r.Host {
			return false, failf(http.StatusForbidden, "pages of %q may not ask this service; the operator names those that may with --origin", origin)
		}
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", idHeader+", Retry-After")
	if r.Method != http.MethodOptions {
		return false, nil
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, "+idHeader+", Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name")
	w.WriteHeader(http.StatusNoContent)
	return true, nil
}

// readBody takes the body whole, within its bound and its time, and looks that it
// is JSON that can be read safely.
func (s *Service) readBody(w http.ResponseWriter, r *http.Request) error {
	l := &s.options.Limits
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return failf(http.StatusUnsupportedMediaType, "the body is JSON: send the header \"Content-Type: application/json\"")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return failf(http.StatusUnsupportedMediaType, "the body is taken as it is, without Content-Encoding")
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(l.BodyTime)) // what cannot be set is no network connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(l.Body)))
	var tooLarge *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &tooLarge):
		return failf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes; send fewer entries or images at once", l.Body)
	case errors.As(err, &slow) && slow.Timeout():
		w.Header().Set("Connection", "close")
		return failf(http.StatusRequestTimeout, "the body did not arrive within %v", l.BodyTime)
	case err != nil:
		return failf(http.StatusBadRequest, "the body was cut off")
	}
	_ = control.SetReadDeadline(time.Time{})
	if err := checkJSON(body, l.sizes()); err != nil {
		return failf(http.StatusBadRequest, "the body %v", err)
	}
	if b := bytes.TrimLeft(body, " \t\r\n"); b[0] != '{' { // a batch of calls would be many audits in one turn
		return failf(http.StatusBadRequest, "the body is one JSON object")
	}
	if r.URL.Path == auditPath {
		if err := s.valid.check(body, l); err != nil {
			return err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// sizes bound how many values there are in a JSON text, in all and in one list or
// object. Each takes many times its bytes once it is read.
type sizes struct{ all, each int }

// sizes are those of a request, amply counted.
func (l *Limits) sizes() sizes {
	facts := l.Observation / 16
	return sizes{all: 1000 + 12*l.Memories + facts, each: max(1000, l.Memories, facts)}
}

// checkJSON looks that a text is UTF-8, one JSON value, not nested deeper than
// anything that is asked for here, and of no more values than so many.
func checkJSON(b []byte, most sizes) error {
	if !utf8.Valid(b) {
		return errors.New("is not valid UTF-8")
	}
	depth, values, inString, escaped := 0, 1, false, false
	var commas [maxDepth + 1]int // of the lists and objects that are open
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("is nested deeper than %d levels", maxDepth)
			}
			commas[depth] = 0
			values++
		case c == '}' || c == ']':
			depth = max(0, depth-1) // what closes nothing is no JSON, as is found below
		case c == ',':
			values++
			if commas[depth]++; commas[depth] >= most.each {
				return fmt.Errorf("has more than %d values in one list or object", most.each)
			}
		}
		if values > most.all {
			return fmt.Errorf("has more than %d values", most.all)
		}
	}
	if !json.Valid(b) {
		var value any
		err := json.Unmarshal(b, &value)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("is not JSON: %v at byte %d", err, syntax.Offset)
		}
		return fmt.Errorf("is not JSON: %v", err)
	}
	return nil
}

// writeFault answers with a problem (RFC 9457).
func writeFault(w http.ResponseWriter, id string, f *fault) {
	if f.status == statusGone {
		return // nobody is there
	}
	if f.retry > 0 {
		w.Header().Set("Retry-After", f.seconds())
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(problem(id, f))
}

func problem(id string, f *fault) *huma.ErrorModel {
	return &huma.ErrorModel{Status: f.status, Title: http.StatusText(f.status), Detail: f.text, Instance: "urn:request:" + id, Errors: f.details}
}

// recovered ends a request that panicked.
func (s *Service) recovered(r *http.Request, w *recorder, fault any) {
	if err, ok := fault.(error); r.Context().Err() != nil || ok && (errors.Is(err, http.ErrAbortHandler) || isNetwork(err)) {
		return // the client is gone
	}
	a := askedOf(r.Context())
	s.logFault(a.id, fault)
	if *w.status == 0 {
		writeFault(w, a.id, &fault500)
	}
}

// logFault tells of a panic without its value, which may hold what was sent.
func (s *Service) logFault(id string, value any) {
	s.log.Error("a fault of the program; please report it", "request", id, "fault", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
}

var fault500 = fault{status: http.StatusInternalServerError, text: "a fault of the program; the operator's log has more under this request's id"}

func isNetwork(err error) bool {
	var e net.Error
	return errors.As(err, &e)
}

// answered tells the log and the metrics of a request.
func (s *Service) answered(r *http.Request, pattern string, a *asked, took time.Duration) {
	name := ""
	if a.account != nil {
		name = a.account.Name
	}
	s.metrics.request(name, pattern, a.status)
	level := slog.LevelInfo
	if slices.Contains(openPaths, r.URL.Path) {
		level = slog.LevelDebug // a balancer asks every few seconds
	}
	s.log.Log(r.Context(), level, "request", "request", a.id, "token", name, "for", pattern, "status", a.status, "ms", took.Milliseconds())
}

// A recorder notes the status of an answer, and gives up a client that does not
// take it.
type recorder struct {
	http.ResponseWriter
	status *int
	within time.Duration // for each piece
}

func (r *recorder) WriteHeader(status int) {
	if *r.status == 0 {
		*r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if *r.status == 0 {
		*r.status = http.StatusOK
	}
	// What has no deadline is no network connection.
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.within))
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Flush implements http.Flusher, which a stream of events needs.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }
