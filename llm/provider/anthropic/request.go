package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Parameters that a server may refuse, by their places in the body.
const (
	paramTokens      = "max_tokens"
	paramTemperature = "temperature"
	paramTopP        = "top_p"
	paramBudget      = "thinking.budget_tokens"
	paramAdaptive    = "thinking.type.adaptive"
	paramDisabled    = "thinking.type.disabled"
	paramSchema      = "output_config.format"
)

// Bounds of DefaultCap.
const (
	leastCap = 8192
	mostCap  = 20000
)

// DefaultCap returns the cap on output tokens of a request that sets none. The
// protocol wants one, but only what is written is charged, so it is generous:
// 8,192 tokens hold ten verdicts with reasons, at 60 to 110 tokens each, many
// times over, and the 64 of a whole store. Longer prompts have more entries: one
// token for two thirds of a byte then, since an entry of 52 bytes wants a
// verdict. Beyond 20,000 a reply would take longer than a request may (10
// minutes at 33 tokens a second), and be lost. A budget of thinking comes on
// top.
func DefaultCap(req *llm.Request) int {
	size := 0
	for i := range req.Parts {
		size += len(req.Parts[i].Text())
	}
	n := min(max(leastCap, size*3/2), mostCap)
	if t := req.Params.Thinking; t != nil {
		n += max(0, *t)
	}
	return n
}

// encode writes a request's body. sent names those of its parameters that the
// server may refuse and that we could leave out or ask for otherwise.
func (c *Client) encode(req *llm.Request) (sent []string, body []byte) {
	var members []provider.Member
	add := func(name, param string, value any) {
		if !c.learned.Refused(param) {
			sent = append(sent, param)
			members = append(members, provider.Member{Name: name, Value: provider.Compact(value)})
		}
	}
	p := &req.Params
	most := DefaultCap(req)
	if limit := int(c.limit.Load()); p.MaxTokens != nil {
		most = *p.MaxTokens
	} else if limit > 0 {
		most = min(most, limit)
	} else {
		sent = append(sent, paramTokens)
	}
	members = append(members, provider.Member{Name: paramTokens, Value: provider.Compact(most)})
	thinks := p.Thinking != nil && *p.Thinking > 0
	if t := p.Temperature; t != nil {
		if thinks && *t != 1 {
			c.learned.Refuse(llm.Change{Param: paramTemperature, Words: "with thinking the protocol takes no temperature but 1"})
		}
		add(paramTemperature, paramTemperature, *t)
	}
	if t := p.TopP; t != nil {
		if thinks && *t < 0.95 {
			c.learned.Refuse(llm.Change{Param: paramTopP, Words: "with thinking the protocol takes no top_p below 0.95"})
		}
		add(paramTopP, paramTopP, *t)
	}
	switch {
	case p.Thinking == nil:
	case !thinks:
		add("thinking", paramDisabled, map[string]any{"type": "disabled"})
	case !c.learned.Refused(paramBudget):
		add("thinking", paramBudget, enabled{"enabled", *p.Thinking})
	default:
		add("thinking", paramAdaptive, adaptive{"adaptive", "summarized"})
	}
	if p.Logprobs {
		c.learned.Refuse(llm.Change{Param: "logprobs", Words: "the protocol has none"})
	}
	members, sent = provider.Overlay(members, c.extra, sent)
	config := c.config
	if s := req.Schema; s != nil && !c.opts.Settings.NoSchema && !c.setsFormat && !c.learned.Refused(paramSchema) {
		ours := provider.Member{Name: "format", Value: provider.Compact(format{"json_schema", s.JSON})}
		config = append([]provider.Member{ours}, config...)
		sent = append(sent, paramSchema)
	}
	if len(config) > 0 {
		members = append(members, provider.Member{Name: "output_config", Value: provider.Object(config)})
	}
	var b bytes.Buffer
	b.WriteString(`{"model":`)
	b.Write(provider.Compact(c.opts.Model))
	b.WriteString(`,"messages":[{"role":"user","content":`)
	writeContent(&b, req)
	b.WriteString(`}]`)
	provider.WriteMembers(&b, members)
	b.WriteByte('}')
	return sent, b.Bytes()
}

type enabled struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type adaptive struct {
	Type    string `json:"type"`
	Display string `json:"display"` // else some models keep their thinking to themselves
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// A block is a piece of the prompt as it is sent: a picture, or neighbouring
// texts joined.
type block struct {
	text string
	png  []byte
	mark bool // the cache keeps the prompt up to its end
}

// maxMarks is how many marks the protocol takes.
const maxMarks = 4

// blocks cuts the prompt where pictures stand and where shared parts end. The
// server takes no block of white space alone; it goes to the text before it, or
// is left out beside pictures.
func blocks(req *llm.Request) []block {
	var all []block
	joins := false // the next text belongs to the last block
	ends := slices.Compact(slices.Sorted(slices.Values(req.Shared)))
	ends = ends[max(0, len(ends)-maxMarks):]
	for i := range req.Parts {
		p := &req.Parts[i]
		switch {
		case p.IsImage():
			all, joins = append(all, block{png: p.PNG()}), false
		case joins, len(all) > 0 && all[len(all)-1].png == nil && blank(p.Text()):
			all[len(all)-1].text += p.Text()
		default:
			all, joins = append(all, block{text: p.Text()}), true
		}
		last := &all[len(all)-1]
		whole := last.png != nil || !blank(last.text)
		if whole && i+1 < len(req.Parts) && slices.Contains(ends, i+1) {
			last.mark, joins = true, false
		}
	}
	return slices.DeleteFunc(all, func(b block) bool { return b.png == nil && blank(b.text) })
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func writeContent(b *bytes.Buffer, req *llm.Request) {
	b.WriteByte('[')
	for i, block := range blocks(req) {
		if i > 0 {
			b.WriteByte(',')
		}
		if block.png != nil {
			b.WriteString(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`)
			b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), block.png))
			b.WriteString(`"}`)
		} else {
			b.WriteString(`{"type":"text","text":`)
			b.Write(provider.Compact(block.text))
		}
		if block.mark {
			b.WriteString(`,"cache_control":{"type":"ephemeral"}`)
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
}

// refused returns which of the sent parameters a server refuses to take. Words
// on the temperature name thinking, and those on thinking name output_config:
// the order in which they are sent is the one in which they are looked for.
func refused(f *provider.Fault, sent []string) string {
	for _, param := range sent {
		var is bool
		switch param {
		case paramTokens:
			is = f.Status == http.StatusBadRequest && lowestCap(f.Message) > 0
		case paramTemperature:
			is = f.Refuses(param)
		case paramTopP:
			is = f.Refuses(param) || f.Status == http.StatusBadRequest && saysOneOf.MatchString(f.Message)
		case paramSchema:
			is = f.RefusesSchema(paramSchema) || f.Refuses("output_config")
		default:
			is = f.Refuses("thinking") || f.Refuses("budget_tokens")
		}
		if is {
			return param
		}
	}
	return ""
}

var (
	saysOneOf = regexp.MustCompile("(?i)temperature.{0,2} and .{0,2}top_p.{0,2} cannot both")
	saysCap   = regexp.MustCompile(`max_tokens: \d{1,9} > (\d{1,9})\b`)
)

// lowestCap returns the most output tokens that a model writes, out of words
// that refuse our default for it; 0 when they do not say.
func lowestCap(words string) int {
	m := saysCap.FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // of at most nine digits
	return n
}

// change learns that the server refuses a parameter that it was sent. Another
// call may have learned the same meanwhile.
func (c *Client) change(param, words string) bool {
	change := llm.Change{Param: param, Words: words}
	switch param {
	case paramTokens:
		limit := lowestCap(words)
		if limit == 0 {
			return false // it is not among what is kept of the words
		}
		c.limit.CompareAndSwap(0, int64(limit))
		change.Instead = strconv.Itoa(limit)
	case paramBudget:
		change.Instead = paramAdaptive
	}
	c.learned.Refuse(change)
	return true
}
