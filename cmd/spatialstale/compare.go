package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/results"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

type compareCmd struct {
	A      string   `arg:"" name:"a" type:"run" help:"Run folder, or latest."`
	B      string   `arg:"" name:"b" type:"run" help:"Run folder that is compared with it; differences are B less A."`
	Pair   []string `sep:"none" placeholder:"A=B" help:"Compare this model of A with that of B; repeat for several. Models of one name are compared unless this says otherwise."`
	Format string   `enum:"text,md,json,html" default:"text" help:"Form of the tables: text, md, json or html; json has the differences of every seed, html is one page for the browser."`
}

// Run shows two runs side by side, paired by seed. It changes nothing in them.
func (c *compareCmd) Run(e *env) error {
	a, manifestA, err := readAlone(c.A)
	if err != nil {
		return err
	}
	b, manifestB, err := readAlone(c.B)
	if err != nil {
		return err
	}
	differences, err := c.differences(&manifestA, &manifestB)
	if err != nil {
		return err
	}
	models, err := c.pairs(&manifestA, &manifestB)
	if err != nil {
		return usageError{err}
	}
	tables := analysis.Compare(a, b, differences, models, c.Format == "json")
	if n := differentLakes(manifestA.Instances, manifestB.Instances); n > 0 {
		tables[0].Warnings = append(tables[0].Warnings, fmt.Sprintf("The runs do not walk the same lakes: %s that both have by seed, size and regime are not the same in A and B. A pair is then of two lakes, and no better than two runs apart.", count(n, "lake")))
	}
	if c.Format == "html" {
		return report.HTML(e.stdout, &report.Page{Summary: analysis.Summary{Title: c.A + " and " + c.B + ", compared"}, Tables: tables})
	}
	return printTables(e.stdout, tables, c.Format)
}

// pairs returns the models of B that --pair sets against those of A. Names may
// hold an equals sign themselves.
func (c *compareCmd) pairs(a, b *record.Manifest) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range c.Pair {
		var found [][2]string
		for _, of := range a.Models {
			for _, with := range b.Models {
				if text == of.Name+"="+with.Name {
					found = append(found, [2]string{of.Name, with.Name})
				}
			}
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("--pair %s: write it as A=B with a model of each run; A has %s; B has %s", text, modelList(a), modelList(b))
		}
		of, with := found[0][0], found[0][1]
		if _, ok := out[of]; ok {
			return nil, fmt.Errorf("--pair: %s is paired twice", of)
		}
		for _, other := range out {
			if other == with {
				return nil, fmt.Errorf("--pair: %s is paired twice", with)
			}
		}
		out[of] = with
	}
	return out, nil
}

func modelList(m *record.Manifest) string {
	names := make([]string, len(m.Models))
	for i := range m.Models {
		names[i] = m.Models[i].Name
	}
	return strings.Join(names, ", ")
}

// readAlone reads one run.
func readAlone(dir string) (*analysis.Frame, record.Manifest, error) {
	stored, err := store.Open(dir)
	if err != nil {
		return nil, record.Manifest{}, err
	}
	manifest := stored.Manifest()
	if err := stored.Close(); err != nil {
		return nil, manifest, err
	}
	frame, err := results.Read([]string{dir}, "", nil)
	return frame, manifest, err
}

// differences says in words what the two runs are, and in what their studies,
// prompts and programs differ.
func (c *compareCmd) differences(a, b *record.Manifest) ([]analysis.Difference, error) {
	out := []analysis.Difference{{What: "run folder", A: c.A, B: c.B}}
	differ := func(what, a, b string) {
		if a != b {
			out = append(out, analysis.Difference{What: what, A: a, B: b})
		}
	}
	studyA, errA := run.StudyOf(a, c.A)
	studyB, errB := run.StudyOf(b, c.B)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	settingsA, settingsB := studyA.Settings(), studyB.Settings()
	for _, key := range bothKeys(settingsA, settingsB) {
		if rawA, rawB := settingsA[key], settingsB[key]; rawA != rawB {
			wordsA, wordsB := valueWords(key, rawA), valueWords(key, rawB)
			if wordsA == wordsB {
				wordsB += ", not the same"
			}
			differ(settingWords(key), wordsA, wordsB)
		}
	}
	for _, name := range bothKeys(a.Prompts, b.Prompts) {
		differ("prompt "+name, sumWords(a.Prompts[name]), sumWords(b.Prompts[name]))
	}
	differ("program", a.Program, b.Program)
	differ("built with", a.Go, b.Go)
	return out, nil
}

func bothKeys(a, b map[string]string) []string {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	return slices.Sorted(maps.Keys(keys))
}

// settingWords is a setting's name as a study file has it.
func settingWords(key string) string {
	if key == "name" {
		return "study"
	}
	return strings.TrimPrefix(key, "params.")
}

// manySeeds is how many seeds are counted rather than named.
const manySeeds = 10

// valueWords writes a setting's value for people.
func valueWords(key, value string) string {
	if value == "" {
		if strings.HasPrefix(key, "params.") {
			return "the provider's default"
		}
		if head, _, _ := strings.Cut(key, "."); slices.Contains([]string{"contrasts", "family", "equivalence", "bootstrap"}, head) {
			return "not declared"
		}
		return "none"
	}
	var strategies []study.Strategy
	if strings.HasSuffix(key, ".strategies") || strings.HasSuffix(key, ".detectors") {
		if json.Unmarshal([]byte(value), &strategies) == nil {
			words := make([]string, len(strategies))
			for i := range strategies {
				words[i] = strategyWords(&strategies[i])
			}
			return strings.Join(words, ", ")
		}
	}
	var list []any
	switch err := json.Unmarshal([]byte(value), &list); {
	case err != nil:
		return strings.Trim(value, `"`)
	case key == "seeds" && len(list) > manySeeds:
		return count(len(list), "seed")
	}
	words := make([]string, len(list))
	for i := range list {
		words[i] = fmt.Sprint(list[i])
	}
	return strings.Join(words, ", ")
}

// strategyWords names a strategy, and says what it is when it is not what its
// name stands for.
func strategyWords(s *study.Strategy) string {
	known := append(slices.Clone(study.Strategies), study.Score)
	if slices.Contains(known, *s) {
		return s.Name
	}
	words := []string{"memory " + string(s.Memory), "auditor " + string(s.Auditor)}
	if s.Batch > 0 {
		words = append(words, fmt.Sprintf("batch %d", s.Batch))
	}
	if s.When != "" {
		words = append(words, string(s.When))
	}
	if s.Policy != "" {
		words = append(words, string(s.Policy))
	}
	return s.Name + " (" + strings.Join(words, ", ") + ")"
}

// sumWords is a prompt's hash, short.
func sumWords(sum string) string {
	if sum == "" {
		return "none"
	}
	return "SHA-256 " + sum[:min(12, len(sum))] + "…"
}

// differentLakes counts the instances that both runs have and that are not the
// same.
func differentLakes(a, b map[string]string) int {
	n := 0
	for name, sum := range a {
		if other, ok := b[name]; ok && other != sum {
			n++
		}
	}
	return n
}
