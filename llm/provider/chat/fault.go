package chat

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

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A fault is what a server says of a request that failed.
type fault struct {
	message string
	kind    string // its word for the kind, such as "invalid_request_error"
	code    string // a word or a number
	param   string // the parameter that it is about
	status  int    // of HTTP; 0 when it came with one of success
}

// Error returns the server's words.
func (f *fault) Error() string { return f.words() }

// words returns what a person should read.
func (f *fault) words() string {
	said := f.message
	if f.param != "" && said != "" && !strings.Contains(said, f.param) {
		said = f.param + ": " + said
	}
	switch {
	case said == "":
		said = f.code
	case f.code != "" && f.code != strconv.Itoa(f.status) && !strings.Contains(said, f.code):
		said = fmt.Sprintf("%s (%s)", said, f.code)
	}
	switch {
	case f.status == 0:
		return said
	case said == "":
		return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", f.status, http.StatusText(f.status)))
	}
	return fmt.Sprintf("HTTP %d: %s", f.status, said)
}

// whichStatus returns the HTTP status that says something. One of success says
// nothing; routers then repeat that of the server behind them as a code.
func (f *fault) whichStatus() int {
	if n, err := strconv.Atoi(f.code); f.status == 0 && err == nil && n >= 400 && n < 600 {
		return n
	}
	return f.status
}

// errorMember reads the error of an answer with a status of success.
func errorMember(raw json.RawMessage) *fault {
	f := findFault(raw)
	if f.message == "" && f.code == "" {
		f.message = "an error without a word on it"
	}
	return f
}

// readRefusal reads an answer whose status is not of success.
func readRefusal(a *provider.Answer, body []byte) *fault {
	f := readFault(body)
	f.status = a.Status
	switch {
	case a.Status >= 300 && a.Status < 400:
		f.message = "the server sends us elsewhere; is the base URL right?"
		if to, err := url.Parse(a.Header.Get("Location")); err == nil && to.Host != "" {
			f.message = fmt.Sprintf("the server sends us to %s://%s; is the base URL right?", to.Scheme, to.Host)
		}
	case a.Status == http.StatusNotFound && f.code == "" && f.kind == "":
		f.message = strings.TrimPrefix(f.message+"; is the base URL right?", "; ")
	}
	return f
}

// readFault reads what a server says of a failure. Any form is taken: OpenAI's
// {"error": {…}}, an error that is only text, members at the top, a list of
// them, a validator's "detail", a page.
func readFault(body []byte) *fault {
	f := findFault(body)
	switch {
	case isPage(body):
		f.message = "a web page" + pageTitle(body)
	case !f.said():
		f.message = string(body)
	}
	return f
}

// findFault reads what a body in JSON says of a failure, if it says anything.
func findFault(body []byte) *fault {
	f := &fault{}
	var v any
	if json.Unmarshal(body, &v) == nil {
		f.fill(v)
	}
	return f
}

// said reports whether the server said anything.
func (f *fault) said() bool { return f.message != "" || f.code != "" || f.kind != "" }

// fill takes what it finds in a decoded body; what is found first counts.
func (f *fault) fill(v any) {
	switch v := v.(type) {
	case string:
		set(&f.message, v)
	case []any:
		for _, w := range v {
			f.fill(w)
		}
	case map[string]any:
		for _, name := range []string{"message", "msg", "error_msg", "error_description"} {
			set(&f.message, scalar(v[name]))
		}
		for _, name := range []string{"code", "error_code", "status_code"} {
			set(&f.code, scalar(v[name]))
		}
		set(&f.kind, scalar(v["type"]))
		set(&f.param, scalar(v["param"]))
		if loc, ok := v["loc"].([]any); ok && len(loc) > 0 { // a validator's place
			set(&f.param, scalar(loc[len(loc)-1]))
		}
		for _, name := range []string{"error", "detail", "errors"} {
			f.fill(v[name])
		}
		if meta, ok := v["metadata"].(map[string]any); ok { // a router's word on the provider behind it
			if raw := scalar(meta["raw"]); raw != "" {
				f.message += ": " + raw
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
	codesAuth = []string{"invalidapikey", "authenticationerror", "invalidauthentication", "permissiondenied", "accessdenied",
		"1000", "1001", "1002", "1003", "1004", "1110", "1111", "1112", "1120", "1220"}
	codesQuota = []string{"insufficientquota", "insufficientbalance", "insufficientcredits", "billinghardlimitreached",
		"billingnotactive", "exceededcurrentquotaerror", "arrearage", "allocationquota.freetieronly", "1113", "1304", "1308", "1309", "1310"}
	codesModel  = []string{"modelnotfound", "modelnotexist", "modelnotsupported", "invalidmodel", "deploymentnotfound", "1211"}
	codesFilter = []string{"contentfilter", "contentpolicyviolation", "responsibleaipolicyviolation", "datainspectionfailed", "1300", "1301"}
	codesRate   = []string{"ratelimitexceeded", "ratelimiterror", "ratelimitreachederror", "throttling", "throttling.ratequota",
		"throttling.allocationquota", "requestsratelimited", "1302", "1303"}
	codesBusy   = []string{"overloadederror", "serviceunavailable", "serverbusy", "internalservererror", "servererror", "1305"}
	codesRepeat = []string{"jsonvalidatefailed"} // the model's output did not fit the schema
)

// Words by which servers say it where they have no code for it.
var (
	saysKey     = regexp.MustCompile(`(?i)api[ _-]?key.*(not valid|invalid|incorrect)|(invalid|incorrect).*api[ _-]?key`)
	saysQuota   = regexp.MustCompile(`(?i)\b(insufficient|not enough|out of|no|low)\b.{0,20}\b(balance|credits?|funds)\b|\b(balance|credits?) .{0,20}(too low|exhausted)`)
	saysModel   = regexp.MustCompile(`(?i)not a valid model|model .{0,80}(does not exist|not found|is not available)|(unknown|no such|invalid) model`)
	saysFlagged = regexp.MustCompile(`(?i)\bflagged\b|content (management )?policy|moderation`)
)

// classify says what a failed call means to its caller. filtered is true where
// the provider's content filter stopped the prompt, which is an outcome and no
// failure. quotaIsRate is Options.QuotaIsRate.
func classify(f *fault, quotaIsRate bool) (kind llm.Kind, filtered bool) {
	status := f.whichStatus()
	var names []string
	for _, name := range []string{f.code, f.kind} {
		if name != "" {
			names = append(names, strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name)))
		}
	}
	is := func(codes []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(codes, name) })
	}
	client := status >= 400 && status < 500
	switch {
	case is(codesFilter), client && status != http.StatusTooManyRequests && saysFlagged.MatchString(f.message):
		return "", true
	case is(codesQuota) && !(quotaIsRate && status == http.StatusTooManyRequests):
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
	case client && saysKey.MatchString(f.message):
		return llm.KindAuth, false
	case client && saysQuota.MatchString(f.message):
		return llm.KindQuota, false
	case client && status != http.StatusUnauthorized && saysModel.MatchString(f.message):
		return llm.KindUnknownModel, false
	case status == 0:
		return llm.KindServer, false
	}
	return provider.StatusKind(status), false
}

// Words with which servers refuse a parameter itself, not its value.
var (
	saysUnsupported = regexp.MustCompile(`(?i)unsupported|not (yet )?(support|permitted|allowed|available|accept)|n't (support|allow|accept)|` +
		`unavailable|unrecogni[sz]ed|unknown|unexpected|no such|deprecated|only the default|\bonly \S+ (is|are) (allowed|supported)|may only be|extra (inputs|fields)`)
	saysSchema = regexp.MustCompile(`(?i)response[_ ]format|json[_ ]?schema|structured[_ ]outputs?|guided[_ ](json|decoding)|\bgrammar\b|invalid schema`)
)

// refusedParam returns which of the sent parameters a server refuses to take,
// "" when it refuses for another reason. A value out of range is no refusal of
// the parameter: it is for the user to hear of.
func refusedParam(f *fault, sent []string) string {
	if status := f.whichStatus(); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return ""
	}
	for _, param := range sent {
		if param == paramSchema {
			if strings.HasPrefix(f.param, paramSchema) || saysSchema.MatchString(f.message) {
				return param
			}
			continue
		}
		about := f.param == param || f.param == "" && hasWord(f.message, param)
		if about && (strings.HasPrefix(f.code, "unsupported") || saysUnsupported.MatchString(f.message)) {
			return param
		}
	}
	return ""
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
