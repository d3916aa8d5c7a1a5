package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// A failure is an error as Google's services write it.
type failure struct {
	Message provider.Text `json:"message"`
	Status  provider.Text `json:"status"`
	Details []struct {
		Type       provider.Text            `json:"@type"`
		Reason     provider.Text            `json:"reason"`
		RetryDelay provider.Text            `json:"retryDelay"`
		Metadata   map[string]provider.Text `json:"metadata"`
		Violations []struct {
			QuotaID    provider.Text `json:"quotaId"`
			QuotaValue provider.Text `json:"quotaValue"`
		} `json:"violations"`
	} `json:"details"`
}

// readFault reads an answer whose status is not of success.
func readFault(a *provider.Answer) *provider.Fault {
	f := a.Fault()
	body := a.Text()
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 { // some gates answer with a list of one
		body = list[0]
	}
	var wrapped struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &wrapped) == nil && provider.IsSet(wrapped.Error) {
		tell(f, wrapped.Error)
	}
	return f
}

var (
	saysDaily  = regexp.MustCompile(`(?i)per[ _-]?day|daily|per[ _-]?month|monthly|spending (cap|limit)|credits? (is|are|has been|have been) (depleted|exhausted)`)
	saysNone   = regexp.MustCompile(`\blimit: 0\b`)
	saysQuota  = regexp.MustCompile(`(?i)exceeded your current quota`)
	saysNever  = regexp.MustCompile(`(?i)location is not supported|not available in your country|enable billing`)
	retryWords = regexp.MustCompile(`(?i)retry in ([0-9.]+(?:ns|us|ms|s|m|h)(?:[0-9.]+(?:ms|s|m))*)`)
)

// tell adds to a fault what an error of Google's says in its own ways.
func tell(f *provider.Fault, raw json.RawMessage) {
	var e failure
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		_ = json.Unmarshal(raw, &e) // what can be read is
	}
	status := string(e.Status)
	if status != "" && f.Status != 0 {
		f.Code = status
	}
	var ids []string
	reason := ""
	none := false
	for _, d := range e.Details {
		if d.Reason != "" {
			reason = string(d.Reason)
		}
		if wait, err := time.ParseDuration(string(d.RetryDelay)); err == nil && wait > 0 {
			f.RetryAfter = wait
		}
		if limit := d.Metadata["quota_limit"]; limit != "" {
			ids = append(ids, string(limit))
		}
		for _, v := range d.Violations {
			if v.QuotaID != "" {
				ids = append(ids, string(v.QuotaID))
			}
			none = none || v.QuotaValue == "0"
		}
	}
	if m := retryWords.FindStringSubmatch(f.Message); m != nil && f.RetryAfter == 0 {
		if wait, err := time.ParseDuration(m[1]); err == nil && wait > 0 {
			f.RetryAfter = wait
		}
	}
	limits := strings.Join(ids, ", ")
	if limits != "" { // the message says it late, behind links
		defer func() { f.Message = limits + ": " + f.Message }()
	}
	switch {
	case f.Status == http.StatusTooManyRequests || status == "RESOURCE_EXHAUSTED":
		f.Means = llm.KindRateLimit
		switch {
		case none, saysNone.MatchString(f.Message), saysDaily.MatchString(limits + " " + f.Message):
			f.Means = llm.KindQuota
		case saysQuota.MatchString(f.Message) && limits == "" && f.RetryAfter == 0:
			f.Means = llm.KindQuota // a limit that passes is named, with the time that it takes
		}
	case strings.HasPrefix(reason, "API_KEY_"), reason == "SERVICE_DISABLED", reason == "CONSUMER_SUSPENDED",
		status == "UNAUTHENTICATED", status == "PERMISSION_DENIED", saysNever.MatchString(f.Message):
		f.Means = llm.KindAuth
	case status == "NOT_FOUND":
		f.Means = llm.KindUnknownModel
	case status == "CANCELLED", status == "ABORTED", status == "UNAVAILABLE", status == "INTERNAL", status == "DEADLINE_EXCEEDED":
		f.Means = llm.KindServer
	}
}

// Words with which the server refuses a parameter.
var (
	saysSchema     = regexp.MustCompile(`(?i)response_?(json_?)?schema|response_?mime_?type|json mode|schema produces a constraint|\bschema\b.{0,60}(not supported|too (deep|complex|large|many))`)
	saysThinking   = regexp.MustCompile(`(?i)think`)
	saysMandatory  = regexp.MustCompile(`(?i)only works in thinking mode|budget 0 is invalid|budget \(?0\)? is invalid|budget to 0|can't be disabled|cannot be disabled`)
	saysNot        = regexp.MustCompile(`(?i)not (supported|enabled|allowed|available)|does not support|unknown name|cannot find field|doesn't support`)
	saysTemp       = regexp.MustCompile(`(?i)\btemperature\b`)
	saysTopP       = regexp.MustCompile(`(?i)\btop_?p\b`)
	saysLogprobs   = regexp.MustCompile(`(?i)logprobs`)
	saysResolution = regexp.MustCompile(`(?i)media_?resolution|media resolution`)
)

// refused returns which of the sent parameters a server refuses to take, ""
// when it refuses for another reason, such as a value out of range.
func refused(f *provider.Fault, sent []string, req *llm.Request) string {
	if f.Status != http.StatusBadRequest {
		return ""
	}
	for _, param := range sent {
		var is bool
		switch param {
		case paramSchema:
			is = saysSchema.MatchString(f.Message)
		case paramThinking:
			asked := req.Params.Thinking != nil && *req.Params.Thinking > 0
			is = saysThinking.MatchString(f.Message) && saysNot.MatchString(f.Message) || !asked && saysMandatory.MatchString(f.Message)
		case paramTemperature:
			is = saysTemp.MatchString(f.Message) && saysNot.MatchString(f.Message)
		case paramTopP:
			is = saysTopP.MatchString(f.Message) && saysNot.MatchString(f.Message)
		case paramLogprobs:
			is = saysLogprobs.MatchString(f.Message) && saysNot.MatchString(f.Message)
		case paramResolution:
			is = saysResolution.MatchString(f.Message) && saysNot.MatchString(f.Message)
		}
		if is {
			return param
		}
	}
	return ""
}
