package provider

import (
	"fmt"
	"math"
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
	Type    string   // its word for the kind, such as "invalid_request_error"
	Code    string   // a word or a number
	Params  []string // the parameters that it is about
	Status  int      // of HTTP; 0 when it came with one of success
	// Means is what the fault means to the caller, where the protocol knows;
	// empty to conclude it from the rest.
	Means llm.Kind
	// Begun says that the server had written something of an answer, which it may
	// bill; Usage is what that took, where it says so.
	Begun bool
	Usage llm.Usage
	// RetryAfter is how long the server asks to wait, 0 when it does not say.
	RetryAfter time.Duration
	// Body is what the fault was read from, nothing where that was no JSON.
	Body Value
}

// Error returns the server's words.
func (f *Fault) Error() string { return f.Words() }

// Words returns what a person should read.
func (f *Fault) Words() string {
	said := f.Message
	if len(f.Params) > 0 && said != "" && !strings.Contains(said, f.Params[0]) {
		said = f.Params[0] + ": " + said
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
func ErrorMember(v Value) *Fault {
	f := FindFault(v)
	if f.Message == "" && f.Code == "" {
		f.Message = "an error without a word on it"
	}
	return f
}

// Fault reads an answer whose status is not of success. Any form is taken:
// OpenAI's {"error": {…}}, an error that is only text, members at the top, a
// list of them, a validator's "detail", a page.
func (a *Answer) Fault() *Fault {
	body := a.Text()
	v, _ := Parse(body) // what is no JSON is taken as text
	f := FindFault(v)
	switch {
	case isPage(body):
		f.Message = "a web page" + pageTitle(body)
	case !f.Said():
		f.Message = string(body)
	}
	f.Status, f.RetryAfter = a.Status, a.RetryAfter
	switch {
	case a.Status >= 300 && a.Status < 400:
		f.Message = "the server sends us elsewhere; is the base URL right?"
		if to, err := url.Parse(a.Header.Get("Location")); err == nil && to.Host != "" {
			f.Message = fmt.Sprintf("the server sends us to %s://%s; is the base URL right?", to.Scheme, to.Host)
		}
	case a.Status == http.StatusNotFound && f.Code == "" && f.Type == "" && !saysModel.MatchString(f.Message):
		f.Message = strings.TrimPrefix(f.Message+"; is the base URL right?", "; ")
	}
	return f
}

// FindFault reads what a value says of a failure, if it says anything.
func FindFault(v Value) *Fault {
	f := &Fault{Body: v}
	f.fill(v)
	return f
}

// Said reports whether the server said anything.
func (f *Fault) Said() bool { return f.Message != "" || f.Code != "" || f.Type != "" }

// fill takes what it finds in a decoded body; what is found first counts.
func (f *Fault) fill(v Value) {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&f.Message, v.Text())
	if list, ok := v.List(); ok {
		for _, w := range list {
			f.fill(w)
		}
	}
	for _, name := range []string{"message", "msg", "error_msg", "error_description"} {
		set(&f.Message, v.At(name).Scalar())
	}
	for _, name := range []string{"code", "error_code", "status_code"} {
		set(&f.Code, v.At(name).Scalar())
	}
	if kind := v.At("type").Scalar(); kind != "error" { // which says no more than that it is one
		set(&f.Type, kind)
	}
	if param := v.At("param").Scalar(); param != "" {
		f.Params = append(f.Params, param)
	}
	if loc, _ := v.At("loc").List(); len(loc) > 0 { // a validator's place
		f.Params = append(f.Params, loc[len(loc)-1].Scalar())
	}
	for _, name := range []string{"error", "detail", "errors", "message"} {
		if inner := v.At(name); inner.IsSet() && (name != "message" || !inner.IsText()) {
			f.fill(inner)
		}
	}
	if raw := v.At("metadata", "raw").Scalar(); raw != "" { // a router's word on the provider behind it
		f.Message += ": " + raw
	}
}

// A Rule says what a fault means whose code or type matches Codes, or whose
// words match Words. Codes are matched as a whole, in small letters and without
// separators.
type Rule struct {
	Codes, Words *regexp.Regexp
	Status       []int // only with these; nil for any
	Client       bool  // only where the status says that the request was at fault
	Kind         llm.Kind
}

// Codes returns the pattern of the codes that are listed with bars between.
func Codes(list string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + list + `)$`) }

// kindFiltered is the kind of a prompt that the provider's content filter stopped,
// which is an outcome and no failure.
const kindFiltered llm.Kind = "filtered"

var (
	saysModel  = regexp.MustCompile(`(?i)not a valid model|model\b.{0,200}(does not exist|not found|is not available)|(unknown|no such|invalid) model`)
	saysQuota  = regexp.MustCompile(`(?i)\b(insufficient|not enough|out of|no|low)\b.{0,20}\b(balance|credits?|funds)\b|\b(balance|credits?) .{0,20}(too low|exhausted)|api usage limits?\b|\bper[- ]day\b|\bdaily (limit|quota)\b|\badd \d+ credits\b|exceeded your current quota|spend(ing)?[ _]limit`)
	saysPasses = regexp.MustCompile(`(?i)\bper[- ](min(ute)?|sec(ond)?)\b|try again in|retry in|after \d+ ?s`)
	codesQuota = Codes(`insufficientquota|insufficientbalance|insufficientcredits|billinghardlimitreached|billingnotactive|billingerror|exceededcurrentquotaerror|arrearage|allocationquota\.freetieronly|.*spendlimitexceeded|1113|1304|1308|1309|1310`)
)

// rules are what faults mean, by codes and words of servers of all protocols;
// the first that holds counts. The numbers are Z.ai's.
var rules = []Rule{
	{Codes: Codes(`contentfilter|contentpolicyviolation|responsibleaipolicyviolation|datainspectionfailed|1300|1301`), Kind: kindFiltered},
	{Words: regexp.MustCompile(`(?i)\bflagged\b|content (management |filtering )?policy|moderation`), Client: true, Kind: kindFiltered},
	{Codes: codesQuota, Kind: llm.KindQuota},
	{Words: saysQuota, Status: []int{http.StatusTooManyRequests}, Kind: llm.KindQuota},
	{Status: []int{http.StatusTooManyRequests}, Kind: llm.KindRateLimit},
	{Codes: Codes(`ratelimitexceeded|ratelimiterror|ratelimitreachederror|throttling|throttling\.ratequota|throttling\.allocationquota|requestsratelimited|1302|1303`), Kind: llm.KindRateLimit},
	{Words: regexp.MustCompile(`(?i)support image input`), Client: true, Kind: llm.KindBadRequest}, // of a model that is there
	{Codes: Codes(`modelnotfound|modelnotexist|modelnotsupported|invalidmodel|deploymentnotfound|1211`), Kind: llm.KindUnknownModel},
	{Codes: Codes(`invalidapikey|authenticationerror|invalidauthentication|permissiondenied|permissionerror|accessdenied|1000|1001|1002|1003|1004|1110|1111|1112|1120|1220`), Kind: llm.KindAuth},
	{Codes: Codes(`jsonvalidatefailed`), Kind: llm.KindMalformed}, // the model's output did not fit the schema
	{Codes: Codes(`overloadederror|serviceunavailable|serverbusy|internalservererror|servererror|1305`), Kind: llm.KindServer},
	// What we send is whole; it was cut on its way.
	{Words: regexp.MustCompile(`(?i)(not valid json|invalid json|parse).{0,80}(unexpected end|unexpected eof|eof while)|unexpected end of json`), Status: []int{http.StatusBadRequest}, Kind: llm.KindServer},
	{Words: regexp.MustCompile(`(?i)api[ _-]?key.*(not valid|invalid|incorrect)|(invalid|incorrect).*api[ _-]?key|organization has been disabled`), Client: true, Kind: llm.KindAuth},
	{Words: saysQuota, Client: true, Kind: llm.KindQuota},
	{Status: []int{http.StatusUnauthorized}, Kind: llm.KindAuth},
	{Words: saysModel, Client: true, Kind: llm.KindUnknownModel},
	{Status: []int{0}, Kind: llm.KindServer}, // an error that came as an answer

	{Status: []int{http.StatusForbidden}, Kind: llm.KindAuth},
	{Status: []int{http.StatusPaymentRequired}, Kind: llm.KindQuota},
	{Status: []int{http.StatusNotFound}, Kind: llm.KindUnknownModel},
	{Status: []int{http.StatusTooEarly}, Kind: llm.KindRateLimit},
	{Status: []int{http.StatusRequestTimeout}, Kind: llm.KindTimeout},
	{Status: []int{http.StatusConflict}, Kind: llm.KindServer},
}

// saysTooLarge are words on a request whose prompt and cap together exceed what
// the account may ask for in a minute: waiting does not help, a smaller cap does.
var saysTooLarge = regexp.MustCompile(`(?i)request too large`)

// Kind says what a failed call means to its caller, by the rules of a protocol
// before those of all. filtered is true where the content filter stopped the
// prompt. quotaIsRate is for servers that speak of a quota where they mean a
// limit by the minute.
func (f *Fault) Kind(quotaIsRate bool, own ...Rule) (kind llm.Kind, filtered bool) {
	status := f.whichStatus()
	switch {
	case status == http.StatusTooManyRequests && saysTooLarge.MatchString(f.Message):
		return llm.KindBadRequest, false
	case f.Means != "":
		return f.Means, false
	}
	passes := f.RetryAfter != 0 || saysPasses.MatchString(f.Message)
	for i, r := range append(slices.Clip(own), rules...) {
		switch {
		case !r.holds(f, status):
		case i >= len(own) && r.Kind == llm.KindQuota && status == http.StatusTooManyRequests && (quotaIsRate || r.Codes == nil && passes):
		default:
			return r.Kind, r.Kind == kindFiltered
		}
	}
	switch {
	case status >= 500:
		return llm.KindServer, false
	case status >= 300:
		return llm.KindBadRequest, false
	}
	return llm.KindMalformed, false
}

func (r *Rule) holds(f *Fault, status int) bool {
	if r.Status != nil && !slices.Contains(r.Status, status) ||
		r.Client && (status < 400 || status >= 500 || status == http.StatusTooManyRequests) {
		return false
	}
	coded := func(name string) bool {
		return name != "" && r.Codes.MatchString(separators.Replace(strings.ToLower(name)))
	}
	return r.Codes == nil && r.Words == nil || r.Codes != nil && (coded(f.Code) || coded(f.Type)) || r.Words != nil && r.Words.MatchString(f.Message)
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// Words with which servers refuse a parameter itself, not its value.
var (
	saysUnsupported = regexp.MustCompile(`(?i)unsupported|not (yet )?(support|permitted|allowed|available|accept)|n't (support|allow|accept)|` +
		`unavailable|unrecogni[sz]ed|unknown|unexpected|no such|deprecated|only the default|\bonly \S+ (is|are) (allowed|supported)|may only be|extra (inputs|fields)`)
	saysSchema = regexp.MustCompile(`(?i)response[_ ]format|json[_ ]?schema|structured[_ ]outputs?|output[_ ]format|guided[_ ](json|decoding)|\bgrammar\b|invalid schema`)
	saysBounds = regexp.MustCompile(`(?i)min_?items|max_?items|\benum\b|\bgrammar\b|invalid schema|too (many|much|large|complex|deep)|produces a constraint`)
	saysOneOf  = regexp.MustCompile("(?i)temperature.{0,2} and .{0,2}top_?p.{0,2} cannot both")
)

// Refuses reports whether a server refuses to take a parameter that it was
// sent. A value out of range is no refusal of the parameter: it is for the user
// to hear of.
func (f *Fault) Refuses(param string) bool {
	about := slices.Contains(f.Params, param) || len(f.Params) == 0 && hasWord(f.Message, param)
	return about && f.ofRequest() && (strings.HasPrefix(f.Code, "unsupported") || saysUnsupported.MatchString(f.Message))
}

// RefusesSchema reports whether a server refuses to write by a schema that it
// was sent in the parameter of that name, for whatever reason.
func (f *Fault) RefusesSchema(param string) bool {
	about := func(p string) bool { return strings.HasPrefix(p, param) }
	return f.ofRequest() && (slices.ContainsFunc(f.Params, about) || hasWord(f.Message, param) || saysSchema.MatchString(f.Message))
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

// hasWord reports whether a parameter's name is in a text as a word.
func hasWord(text, name string) bool {
	return regexp.MustCompile(`(?:^|[^A-Za-z0-9_])` + regexp.QuoteMeta(name) + `(?:[^A-Za-z0-9_]|$)`).MatchString(text)
}

// longestAsk bounds how long a server is taken to ask us to wait.
const longestAsk = 30 * 24 * time.Hour

// RetryAfter returns how long a server asks to wait: retry-after-ms in
// milliseconds, else Retry-After in seconds or as a date, which is compared
// with the server's own Date where it sends one, else with now. It is 0 when
// the server does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	asked := h.Get("Retry-After")
	if d, ok := parseWait(asked, time.Second); ok {
		return d
	}
	until, err := http.ParseTime(asked)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(longestAsk, max(0, until.Sub(now)))
}

func parseWait(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) {
		return 0, false
	}
	return time.Duration(min(float64(longestAsk), max(0, n*float64(unit)))), true
}

// Words with which servers ask to wait, and the pieces of a time in them.
var (
	saysWait  = regexp.MustCompile(`(?i)(?:try|retry|retrying|wait)(?: your request)?(?: again)?(?: in| after| for| about| at least)* ((?:[0-9.]+ ?(?:milliseconds?|ms|minutes?|mins?|seconds?|secs?|hours?|h|m|s),? ?(?:and )?)+)`)
	pieceTime = regexp.MustCompile(`(?i)([0-9.]+) ?(milliseconds?|ms|m|s|h)`)
)

// WaitInWords returns how long the words ask to wait, as in "try again in 1m26.4s";
// 0 when they do not say.
func (f *Fault) WaitInWords() time.Duration {
	m := saysWait.FindStringSubmatch(f.Message)
	if m == nil {
		return 0
	}
	var sum time.Duration
	for _, piece := range pieceTime.FindAllStringSubmatch(m[1], -1) {
		unit := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour}[strings.ToLower(piece[2])]
		if unit == 0 {
			unit = time.Millisecond
		}
		d, _ := parseWait(piece[1], unit)
		sum += d
	}
	return min(longestAsk, sum)
}
