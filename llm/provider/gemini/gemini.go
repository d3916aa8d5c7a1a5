// Package gemini speaks the generateContent protocol of Google's Gemini API: one
// POST a call, no streaming, the key in a header. Its errors tell a limit that
// passes within a minute from a quota that is gone for the day.
//
// It refuses to try a failed call again and to wait; the wrappers of llm do.
package gemini

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Options are what a client is made of; its URL is the base URL, with the
// version or without it.
type Options = provider.Options

// New returns a client for one model. It makes no request.
func New(o Options) (*provider.Model, error) {
	header := http.Header{}
	if o.Key != "" {
		header.Set("X-Goog-Api-Key", o.Key)
	}
	detail, noSchema := o.Settings.Detail, o.Settings.NoSchema
	o.URL = address(o.URL, o.Model)
	return provider.New(o, provider.Protocol{
		Header: header, Ours: []string{"model", "contents", "generationConfig.candidateCount"},
		Encode: func(req *llm.Request, b *provider.Body) { encode(req, b, detail, noSchema) },
		Read:   read, Explain: explain, Rules: rules, Refuses: refuses,
	})
}

// address returns where requests for a model go. A tuned model has another
// collection before its name than "models/".
func address(base, model string) string {
	base, query, found := strings.Cut(base, "?")
	if found {
		query = "?" + query
	}
	base = strings.TrimRight(base, "/")
	if i := strings.LastIndex(base, "/"); !strings.HasPrefix(base[i+1:], "v1") {
		base += "/v1beta"
	}
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	parts := strings.Split(model, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return base + "/" + strings.Join(parts, "/") + ":generateContent" + query
}

// Providers returns the provider that speaks this protocol.
func Providers() []provider.Provider {
	access := provider.Access{
		Credential: "GEMINI_API_KEY", Or: "GOOGLE_API_KEY", BaseURLVar: "GOOGLE_BASE_URL", BaseURL: "https://generativelanguage.googleapis.com/v1beta",
	}
	return []provider.Provider{provider.Of("google/", "Google Gemini", access, func(o provider.Options) (llm.Model, error) {
		return provider.Opened(New(o))
	})}
}

// topLogprobs is how many tokens a place are asked for: the most that a server
// grants.
const topLogprobs = 20

// encode writes a request's body.
func encode(req *llm.Request, b *provider.Body, detail string, noSchema bool) {
	b.Set("contents", []any{content{"user", parts(req.Parts)}})
	config := b.Object("generationConfig")
	if n := req.Params.MaxTokens; n != nil {
		config.Set("maxOutputTokens", *n) // thinking counts among them
	}
	if t := req.Params.Temperature; t != nil {
		config.Try("temperature", *t)
	}
	if p := req.Params.TopP; p != nil {
		config.Try("topP", *p)
	}
	if s := req.Schema; s != nil && !noSchema && config.Try("responseJsonSchema", b.Schema(s)) {
		config.Set("responseMimeType", "application/json")
	}
	if n := req.Params.Thinking; n != nil {
		// Thoughts cost nothing beyond the thinking that they sum up.
		config.Try("thinkingConfig", thinking{Budget: *n, Include: *n > 0})
	}
	if detail != "" && detail != "auto" {
		config.Try("mediaResolution", "MEDIA_RESOLUTION_"+strings.ToUpper(detail))
	}
	if req.Params.Logprobs && config.Try("responseLogprobs", true) {
		config.Set("logprobs", topLogprobs)
	}
}

type content struct {
	Role  string `json:"role"`
	Parts []any  `json:"parts"`
}

type thinking struct {
	Budget  int  `json:"thinkingBudget"`
	Include bool `json:"includeThoughts,omitempty"`
}

type textPart struct {
	Text string `json:"text"`
}

type imagePart struct {
	Inline inlineData `json:"inlineData"`
}

type inlineData struct {
	MimeType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

func parts(prompt []llm.Part) []any {
	out := []any{}
	for _, p := range provider.Texts(prompt) {
		if p.IsImage() {
			out = append(out, imagePart{inlineData{"image/png", p.PNG()}})
		} else {
			out = append(out, textPart{p.Text()})
		}
	}
	return out
}

// read reads a server's answer.
func read(_ *llm.Request, a *provider.Answer) (*llm.Reply, error) {
	r, err := a.Decode("generateContent response")
	if err != nil {
		return nil, err
	}
	if r.At("error").IsSet() {
		return nil, provider.ErrorMember(r)
	}
	reply := &llm.Reply{Usage: usage(r.At("usageMetadata")), Model: r.At("modelVersion").Text()}
	candidates, isList := r.At("candidates").List()
	if len(candidates) == 0 {
		switch {
		case r.At("promptFeedback", "blockReason").Text() != "":
			reply.Finish = llm.FinishContentFilter
			return reply, nil
		case r.At("candidates").IsSet() && !isList:
			return nil, provider.Malformed("an answer in JSON that is no generateContent response")
		}
		return nil, provider.Malformed("an answer without candidates")
	}
	first := candidates[0]
	given := false
	parts, _ := first.At("content", "parts").List()
	for _, p := range parts {
		switch {
		case !p.At("text").IsSet():
		case p.At("thought").IsTrue():
			reply.Reasoning += p.At("text").Text()
		default:
			given = true
			reply.Text += p.At("text").Text()
		}
	}
	reply.Booleans = tokens(first.At("logprobsResult")).Booleans(reply.Text)
	reply.Finish = finish(first.At("finishReason").Text())
	if !given && reply.Reasoning == "" && (reply.Finish == llm.FinishStop || reply.Finish == "") {
		return nil, provider.Malformed("a reply without content")
	}
	return reply, nil
}

// usage counts tokens. A count of none is left out by the server.
func usage(v provider.Value) llm.Usage {
	u := llm.Usage{InputTokens: v.At("promptTokenCount").Count(), CachedTokens: v.At("cachedContentTokenCount").Count(), ReasoningTokens: v.At("thoughtsTokenCount").Count()}
	written, total := v.At("candidatesTokenCount").Count(), v.At("totalTokenCount").Count() // the first without thoughts
	switch {
	case written != nil && u.ReasoningTokens != nil:
		u.OutputTokens = new(*written + *u.ReasoningTokens)
	case written != nil:
		u.OutputTokens = written
	case u.ReasoningTokens != nil:
		u.OutputTokens = u.ReasoningTokens
	case u.InputTokens != nil && total != nil:
		u.OutputTokens = new(max(0, *total-*u.InputTokens))
	}
	return u
}

// tokens reads the tokens of a reply: those that were chosen, and beside each
// the likeliest in its place.
func tokens(v provider.Value) provider.Tokens {
	choice := func(c provider.Value) provider.TokenChoice {
		return provider.TokenChoice{Text: c.At("token").Text(), Logprob: provider.Logprob(c.At("logProbability"))}
	}
	chosen, _ := v.At("chosenCandidates").List()
	tokens := make(provider.Tokens, len(chosen))
	for i, c := range chosen {
		tokens[i].TokenChoice = choice(c)
		top, _ := v.At("topCandidates", i, "candidates").List()
		for _, c := range top {
			tokens[i].Others = append(tokens[i].Others, choice(c))
		}
	}
	return tokens
}

// finish translates a server's word for why a reply ended.
func finish(word string) llm.Finish {
	switch word {
	case "STOP":
		return llm.FinishStop
	case "MAX_TOKENS", "CONTINUATION": // the second at a limit of one request's, after which another could go on
		return llm.FinishLength
	case "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "MODEL_ARMOR", "JAILBREAK",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return llm.FinishContentFilter
	case "FINISH_REASON_UNSPECIFIED":
		return ""
	}
	return llm.Finish(strings.ToLower(word))
}

// rules are what Google's words for failures mean.
var rules = []provider.Rule{
	{Words: regexp.MustCompile(`(?i)location is not supported|not available in your country|enable billing`), Kind: llm.KindAuth},
	{Codes: provider.Codes(`unauthenticated|permissiondenied`), Kind: llm.KindAuth},
	{Codes: provider.Codes(`notfound`), Kind: llm.KindUnknownModel},
	{Codes: provider.Codes(`cancelled|aborted|unavailable|internal|deadlineexceeded`), Kind: llm.KindServer},
}

var (
	saysDaily = regexp.MustCompile(`(?i)per[ _-]?day|daily|per[ _-]?month|monthly|spending (cap|limit)|credits? (is|are|has been|have been) (depleted|exhausted)`)
	saysNone  = regexp.MustCompile(`\blimit: 0\b`)
	saysQuota = regexp.MustCompile(`(?i)exceeded your current quota`)
)

// explain adds to a fault what Google's services say in details: the reason,
// which limit was met, and how long it lasts.
func explain(f *provider.Fault, req *llm.Request) {
	e := f.Body.At("error")
	if list, _ := f.Body.List(); len(list) > 0 { // some gates answer with a list of one
		e = list[0].At("error")
	}
	status := e.At("status").Text()
	if status != "" && f.Status != 0 {
		f.Code = status
	} else if status != "" {
		f.Type = status
	}
	var limits []string
	reason, none := "", false
	details, _ := e.At("details").List()
	for _, d := range details {
		if r := d.At("reason").Text(); r != "" {
			reason = r
		}
		if wait, err := time.ParseDuration(d.At("retryDelay").Text()); err == nil && wait > 0 {
			f.RetryAfter = wait
		}
		if limit := d.At("metadata", "quota_limit").Text(); limit != "" {
			limits = append(limits, limit)
		}
		violations, _ := d.At("violations").List()
		for _, v := range violations {
			if id := v.At("quotaId").Text(); id != "" {
				limits = append(limits, id)
			}
			none = none || v.At("quotaValue").Text() == "0"
		}
	}
	named := strings.Join(limits, ", ")
	switch {
	case f.Status == http.StatusTooManyRequests || status == "RESOURCE_EXHAUSTED":
		f.Means = llm.KindRateLimit
		if f.RetryAfter == 0 {
			f.RetryAfter = f.WaitInWords()
		}
		if none || saysNone.MatchString(f.Message) || saysDaily.MatchString(named+" "+f.Message) ||
			saysQuota.MatchString(f.Message) && named == "" && f.RetryAfter == 0 { // a limit that passes is named, with the time that it takes
			f.Means = llm.KindQuota
		}
	case strings.HasPrefix(reason, "API_KEY_"), reason == "SERVICE_DISABLED", reason == "CONSUMER_SUSPENDED":
		f.Means = llm.KindAuth
	}
	if named != "" { // the message says it late, behind links
		f.Message = named + ": " + f.Message
	}
	if n := req.Params.Thinking; n != nil && f.Status != 0 && strings.HasSuffix(f.Message, "contains an invalid argument.") {
		f.Message += fmt.Sprintf(" It may be the thinking budget of %d: models differ in what they take.", *n)
	}
}

// Words with which the server speaks of a parameter, and refuses it.
var (
	speaksOf = map[string]*regexp.Regexp{
		"responseJsonSchema": regexp.MustCompile(`(?i)response_?(json_?)?schema|response_?mime_?type|json mode|schema produces a constraint|\bschema\b.{0,60}(not supported|too (deep|complex|large|many))`),
		"thinkingConfig":     regexp.MustCompile(`(?i)think`),
		"temperature":        regexp.MustCompile(`(?i)\btemperature\b`),
		"topP":               regexp.MustCompile(`(?i)\btop_?p\b`),
		"responseLogprobs":   regexp.MustCompile(`(?i)logprobs`),
		"mediaResolution":    regexp.MustCompile(`(?i)media_?resolution|media resolution`),
	}
	saysNot       = regexp.MustCompile(`(?i)not (supported|enabled|allowed|available)|does not support|unknown name|cannot find field|doesn't support`)
	saysMandatory = regexp.MustCompile(`(?i)only works in thinking mode|budget 0 is invalid|budget \(?0\)? is invalid|budget to 0|can't be disabled|cannot be disabled`)
)

// refuses reports whether a server refuses to take a parameter, and not only its
// value.
func refuses(f *provider.Fault, param string, req *llm.Request) bool {
	if f.Status != http.StatusBadRequest {
		return false
	}
	if asks := req.Params.Thinking; param == "thinkingConfig" && (asks == nil || *asks <= 0) && saysMandatory.MatchString(f.Message) {
		return true
	}
	of := speaksOf[param]
	return of != nil && of.MatchString(f.Message) && (param == "responseJsonSchema" || saysNot.MatchString(f.Message))
}
