package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// listedInstances bounds the hashes of instances that a page lists, valueRoom
// the characters of one of a study's values, such as its seeds, and sentRoom
// those of a prompt as it was sent.
const (
	listedInstances = 1_000
	valueRoom       = 4_000
	sentRoom        = 1 << 14
)

// An htmlRun is what a page says of how a run was made.
type htmlRun struct {
	Name, Made, Program string
	Study               []setting
	Models              []htmlModel
	Prompts             []htmlPrompt
	Sent                []htmlSent
	SentLeft            string // why there are none
	Instances           []setting
	InstancesLeft       int
}

// A setting is a name and its value, in words.
type setting struct{ Name, Value string }

type htmlModel struct {
	Name    string
	Control bool
	Facts   []setting
}

type htmlPrompt struct {
	Name, Sum, Text string
	Lost            bool // the text is not at hand
}

type htmlSent struct {
	About, Trial, Slot, Reply string
	Parts                     []htmlPart
}

type htmlPart struct {
	Text  string
	Image template.URL
}

func htmlRunOf(r *PageRun) (htmlRun, error) {
	m := &r.Manifest
	out := htmlRun{
		Name: clean(r.Name), Made: m.Created.UTC().Format("2 January 2006, 15:04 UTC"),
		Program: clean(fmt.Sprintf("spatialstale %s, %s", m.Program, m.Go)),
	}
	var err error
	if out.Study, err = flatten(m.Study); err != nil {
		return out, fmt.Errorf("run %s: the study in its manifest: %w", r.Name, err)
	}
	for i := range out.Study {
		out.Study[i].Value = words(out.Study[i].Value, valueRoom)
	}
	for i := range m.Models {
		info := htmlModel{Name: clean(m.Models[i].Name), Control: m.Models[i].Control}
		raw, err := json.Marshal(m.Models[i])
		if err != nil {
			return out, err
		}
		facts, err := flatten(raw)
		if err != nil {
			return out, err
		}
		for _, f := range facts {
			if f.Name != "name" && f.Name != "control" && f.Value != "" && f.Value != dash {
				info.Facts = append(info.Facts, f)
			}
		}
		out.Models = append(out.Models, info)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Prompts)) {
		text, ok := r.Prompts[name]
		out.Prompts = append(out.Prompts, htmlPrompt{Name: clean(name), Sum: clean(m.Prompts[name]), Text: words(text, 1<<16), Lost: !ok})
	}
	for i := range r.Sent {
		out.Sent = append(out.Sent, htmlSentOf(&r.Sent[i]))
	}
	names := slices.Sorted(maps.Keys(m.Instances))
	if n := len(names) - listedInstances; n > 0 {
		names, out.InstancesLeft = names[:listedInstances], n
	}
	for _, name := range names {
		out.Instances = append(out.Instances, setting{clean(name), clean(m.Instances[name])})
	}
	return out, nil
}

func htmlSentOf(s *SentPrompt) htmlSent {
	out := htmlSent{About: clean(s.About), Trial: clean(s.Trial), Slot: clean(s.Slot), Reply: words(s.Reply, replyRoom)}
	for _, p := range s.Parts {
		if p.Kind == record.PartPNG {
			out.Parts = append(out.Parts, htmlPart{Image: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(p.Data))})
		} else if n := len(out.Parts); n > 0 && out.Parts[n-1].Image == "" {
			out.Parts[n-1].Text += words(string(p.Data), sentRoom)
		} else {
			out.Parts = append(out.Parts, htmlPart{Text: words(string(p.Data), sentRoom)})
		}
	}
	return out
}

// flatten lists what a JSON object holds, in its order, by the paths of its
// keys. A list of plain values is one value, as is each object in a list.
func flatten(raw json.RawMessage) ([]setting, error) {
	var out []setting
	var walk func(prefix string, raw json.RawMessage) error
	walk = func(prefix string, raw json.RawMessage) error {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] != '{' {
			value, err := plain(raw)
			out = append(out, setting{clean(prefix), value})
			return err
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		if _, err := dec.Token(); err != nil {
			return err
		}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				return err
			}
			if err := walk(strings.TrimPrefix(prefix+"."+fmt.Sprint(key), "."), value); err != nil {
				return err
			}
		}
		return nil
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	return out, walk("", raw)
}

// plain writes a JSON value that is no object for people.
func plain(raw json.RawMessage) (string, error) {
	if string(raw) == "null" {
		return dash, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err == nil {
		var parts []string
		between := ", "
		for _, one := range list {
			var text string
			if json.Unmarshal(one, &text) != nil {
				text = string(one)
			}
			if facts, err := flatten(one); err == nil && bytes.HasPrefix(bytes.TrimSpace(one), []byte("{")) {
				var inner []string
				for _, f := range facts {
					inner = append(inner, f.Name+" "+f.Value)
				}
				text, between = strings.Join(inner, ", "), "; "
			}
			parts = append(parts, text)
		}
		return clean(strings.Join(parts, between)), nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return clean(text), nil
	}
	return clean(string(raw)), nil
}
