package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A Fault is what a server says of a request that failed.
type Fault struct {
	Message string
	Type    string // its word for the kind, such as "invalid_request_error"
	Code    string // a word or a number
	Param   string // the parameter that it is about
	Status  int    // of HTTP; 0 when it came with one of success
	// Means is what the fault means to the caller, where the protocol knows;
	// empty to conclude it from the rest.
	Means llm.Kind
	// Begun says that the server had written something of an answer, which it may
	// bill; Usage is what that took, where it says so.
	Begun bool
	Usage llm.Usage
	// RetryAfter is how long the server asks to wait, where it says so in the
	// body; 0 otherwise.
	RetryAfter time.Duration
}

// Error returns the server's words.
func (f *Fault) Error() string { return f.Words() }

// Words returns what a person should read.
func (f *Fault) Words() string {
	said := f.Message
	if f.Param != "" && said != "" && !strings.Contains(said, f.Param) {
		said = f.Param + ": " + said
	}
	switch {
	case said == "":
		said = f.Code
	case f.Code != "" && f.Code != strconv.Itoa(f.Status) && !strings.Contains(said, f.Code):
		said = fmt.Sprintf("%s (%s)", said, f.Code)
	}
	switch {
	case f.Status == 0:
		return said
	case said == "":
		return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", f.Status, http.StatusText(f.Status)))
	}
	return fmt.Sprintf("HTTP %d: %s", f.Status, said)
}

// whichStatus returns the HTTP status that says something. One of success says
// nothing; routers then repeat that of the server behind them as a code.
func (f *Fault) whichStatus() int {
	if n, err := strconv.Atoi(f.Code); f.Status == 0 && err == nil && n >= 400 && n < 600 {
		return n
	}
	return f.Status
}

// ErrorMember reads the error in an answer with a status of success.
func ErrorMember(raw json.RawMessage) *Fault {
	f := FindFault(raw)
	if f.Message == "" && f.Code == "" {
		f.Message = "an error without a word on it"
	}
	return f
}

// Fault reads an answer whose status is not of success.
func (a *Answer) Fault() *Fault {
	f := readFault(a.Text())
	f.Status, f.RetryAfter = a.Status, a.RetryAfter
	switch {
	case a.Status >= 300 && a.Status < 400:
		f.Message = "the server sends us elsewhere; is the base URL right?"
		if to, err := url.Parse(a.Header.Get("Location")); err == nil && to.Host != "" {
			f.Message = fmt.Sprintf("the server sends us to %s://%s; is the base URL right?", to.Scheme, to.Host)
		}
	case a.Status == http.StatusNotFound && f.Code == "" && f.Type == "":
		f.Message = strings.TrimPrefix(f.Message+"; is the base URL right?", "; ")
	}
	return f
}

// readFault reads what a server says of a failure. Any form is taken: OpenAI's
// {"error": {…}}, an error that is only text, members at the top, a list of
// them, a validator's "detail", a page.
func readFault(body []byte) *Fault {
	f := FindFault(body)
	switch {
	case isPage(body):
		f.Message = "a web page" + pageTitle(body)
	case !f.Said():
		f.Message = string(body)
	}
	return f
}

// FindFault reads what a body in JSON says of a failure, if it says anything.
func FindFault(body []byte) *Fault {
	f := &Fault{}
	var v any
	if json.Unmarshal(body, &v) == nil {
		f.fill(v)
	}
	return f
}

// Said reports whether the server said anything.
func (f *Fault) Said() bool { return f.Message != "" || f.Code != "" || f.Type != "" }

// fill takes what it finds in a decoded body; what is found first counts.
func (f *Fault) fill(v any) {
	switch v := v.(type) {
	case string:
		set(&f.Message, v)
	case []any:
		for _, w := range v {
			f.fill(w)
		}
	case map[string]any:
		for _, name := range []string{"message", "msg", "error_msg", "error_description"} {
			set(&f.Message, scalar(v[name]))
		}
		for _, name := range []string{"code", "error_code", "status_code"} {
			set(&f.Code, scalar(v[name]))
		}
		if kind := scalar(v["type"]); kind != "error" { // which says no more than that it is one
			set(&f.Type, kind)
		}
		set(&f.Param, scalar(v["param"]))
		if loc, ok := v["loc"].([]any); ok && len(loc) > 0 { // a validator's place
			set(&f.Param, scalar(loc[len(loc)-1]))
		}
		for _, name := range []string{"error", "detail", "errors"} {
			f.fill(v[name])
		}
		if meta, ok := v["metadata"].(map[string]any); ok { // a router's word on the provider behind it
			if raw := scalar(meta["raw"]); raw != "" {
				f.Message += ": " + raw
			}
		}
	}
}

func set(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// Codes and kinds by which servers say what matters to us, in small letters and
// without separators. The numbers are Z.ai's.
var (
	codesAuth = []string{"invalidapikey", "authenticationerror", "invalidauthentication", "permissiondenied", "permissionerror", "accessdenied",
		"1000", "1001", "1002", "1003", "1004", "1110", "1111", "1112", "1120", "1220"}
	codesQuota = []string{"insufficientquota", "insufficientbalance", "insufficientcredits", "billinghardlimitreached",
		"billingnotactive", "billingerror", "exceededcurrentquotaerror", "arrearage", "allocationquota.freetieronly", "1113", "1304", "1308", "1309", "1310"}
	codesModel  = []string{"modelnotfound", "modelnotexist", "modelnotsupported", "invalidmodel", "deploymentnotfound", "1211"}
	codesFilter = []string{"contentfilter", "contentpolicyviolation", "responsibleaipolicyviolation", "datainspectionfailed", "1300", "1301"}
	codesRate   = []string{"ratelimitexceeded", "ratelimiterror", "ratelimitreachederror", "throttling", "throttling.ratequota",
		"throttling.allocationquota", "requestsratelimited", "1302", "1303"}
	codesBusy   = []string{"overloadederror", "serviceunavailable", "serverbusy", "internalservererror", "servererror", "1305"}
	codesRepeat = []string{"jsonvalidatefailed"} // the model's output did not fit the schema
)

// Words by which servers say it where they have no code for it.
var (
	saysKey     = regexp.MustCompile(`(?i)api[ _-]?key.*(not valid|invalid|incorrect)|(invalid|incorrect).*api[ _-]?key|organization has been disabled`)
	saysQuota   = regexp.MustCompile(`(?i)\b(insufficient|not enough|out of|no|low)\b.{0,20}\b(balance|credits?|funds)\b|\b(balance|credits?) .{0,20}(too low|exhausted)|api usage limits?\b|\bper[- ]day\b|\bdaily (limit|quota)\b|\badd \d+ credits\b`)
	saysPasses  = regexp.MustCompile(`(?i)\bper[- ](min(ute)?|sec(ond)?)\b|try again in|retry in|after \d+ ?s`)
	saysModel   = regexp.MustCompile(`(?i)not a valid model|model .{0,80}(does not exist|not found|is not available)|(unknown|no such|invalid) model`)
	saysFlagged = regexp.MustCompile(`(?i)\bflagged\b|content (management |filtering )?policy|moderation`)
)

// Kind says what a failed call means to its caller. filtered is true where the
// provider's content filter stopped the prompt, which is an outcome and no
// failure. quotaIsRate is for servers that say insufficient_quota of a limit by
// the minute.
func (f *Fault) Kind(quotaIsRate bool) (kind llm.Kind, filtered bool) {
	status := f.whichStatus()
	var names []string
	for _, name := range []string{f.Code, f.Type} {
		if name != "" {
			names = append(names, strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name)))
		}
	}
	is := func(codes []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(codes, name) })
	}
	client := status >= 400 && status < 500
	switch {
	case f.Means != "":
		return f.Means, false
	case is(codesFilter), client && status != http.StatusTooManyRequests && saysFlagged.MatchString(f.Message):
		return "", true
	case is(codesQuota) && !(quotaIsRate && status == http.StatusTooManyRequests):
		return llm.KindQuota, false
	case status == http.StatusTooManyRequests && saysQuota.MatchString(f.Message) && !quotaIsRate && f.RetryAfter == 0 && !saysPasses.MatchString(f.Message):
		return llm.KindQuota, false
	case status == http.StatusTooManyRequests, is(codesRate):
		return llm.KindRateLimit, false
	case is(codesModel):
		return llm.KindUnknownModel, false
	case is(codesAuth):
		return llm.KindAuth, false
	case is(codesRepeat):
		return llm.KindMalformed, false
	case is(codesBusy):
		return llm.KindServer, false
	case client && saysKey.MatchString(f.Message):
		return llm.KindAuth, false
	case client && saysQuota.MatchString(f.Message):
		return llm.KindQuota, false
	case client && status != http.StatusUnauthorized && saysModel.MatchString(f.Message):
		return llm.KindUnknownModel, false
	case status == 0:
		return llm.KindServer, false
	}
	return StatusKind(status), false
}

// Words with which servers refuse a parameter itself, not its value.
var (
	saysUnsupported = regexp.MustCompile(`(?i)unsupported|not (yet )?(support|permitted|allowed|available|accept)|n't (support|allow|accept)|` +
		`unavailable|unrecogni[sz]ed|unknown|unexpected|no such|deprecated|only the default|\bonly \S+ (is|are) (allowed|supported)|may only be|extra (inputs|fields)`)
	saysSchema = regexp.MustCompile(`(?i)response[_ ]format|json[_ ]?schema|structured[_ ]outputs?|output[_ ]format|guided[_ ](json|decoding)|\bgrammar\b|invalid schema`)
)

// Refuses reports whether a server refuses to take a parameter that it was
// sent. A value out of range is no refusal of the parameter: it is for the user
// to hear of.
func (f *Fault) Refuses(param string) bool {
	about := f.Param == param || f.Param == "" && hasWord(f.Message, param)
	return about && f.ofRequest() && (strings.HasPrefix(f.Code, "unsupported") || saysUnsupported.MatchString(f.Message))
}

// RefusesSchema reports whether a server refuses to write by a schema that it
// was sent in the parameter of that name, for whatever reason.
func (f *Fault) RefusesSchema(param string) bool {
	return f.ofRequest() && (strings.HasPrefix(f.Param, param) || hasWord(f.Message, param) || saysSchema.MatchString(f.Message))
}

// ofRequest reports whether the fault is one of the request's form. OpenAI
// forbids what a model does not grant, such as log-probabilities.
func (f *Fault) ofRequest() bool {
	switch f.whichStatus() {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return true
	case http.StatusForbidden:
		return f.Type == "invalid_request_error"
	}
	return false
}

// hasWord reports whether a parameter's name stands in a text by itself.
func hasWord(text, name string) bool {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		if !isName(text, at-1) && !isName(text, at+len(name)) {
			return true
		}
	}
}

func isName(text string, i int) bool {
	return i >= 0 && i < len(text) && (text[i] == '_' || bytes.ContainsAny([]byte{text[i]}, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
}
