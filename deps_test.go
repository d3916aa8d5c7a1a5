// Package spatialstale holds the rules of the repository as tests.
package spatialstale

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/spatialstale/spatialstale"

// mayImport says which of our packages each package may import, besides
// record. The data flows one way: seed, instance, memory, observation, audit,
// navigation, record, store, analysis, report.
var mayImport = map[string][]string{
	"lake":                   {},
	"record":                 {},
	"stats":                  {},
	"instance":               {"lake"},
	"memory":                 {"lake", "instance"},
	"observe":                {"lake"},
	"llm":                    {},
	"llm/provider":           {"llm"},
	"llm/provider/chat":      {"llm", "llm/provider"},
	"llm/provider/gemini":    {"llm", "llm/provider"},
	"llm/provider/anthropic": {"llm", "llm/provider"},
	"llm/provider/ollama":    {"llm", "llm/provider"},
	"llm/price":              {"llm"},
	"llm/llmtest":            {"llm", "llm/provider", "reference"},
	"reference":              {"lake", "observe", "llm"}, // never instance or memory: a control cannot know the truth
	"llm/models":             {"llm", "llm/price", "llm/provider", "llm/provider/chat", "llm/provider/anthropic", "llm/provider/gemini", "llm/provider/ollama"},
	"audit/judge":            {"llm"},                              // knows nothing of lakes
	"audit":                  {"llm", "llm/models", "audit/judge"}, // knows nothing of trials either
	"audit/audittest":        {"llm"},
	"audit/provenance":       {"audit", "llm/price"},
	"serve":                  {"audit", "audit/provenance", "llm", "llm/price"},
	"audit/shape":            {"audit"},
	"audit/check":            {"audit", "llm", "stats"},
	"navigate":               {"lake", "observe", "memory", "llm"},
	"method":                 {"navigate", "llm", "audit/judge"},
	"gym":                    {"lake", "instance", "memory", "observe", "navigate"},
	"study":                  {"lake", "instance", "memory", "observe", "llm", "audit/judge", "navigate"},
	"run": {"lake", "instance", "memory", "observe", "llm", "llm/price", "llm/provider", "llm/models",
		"reference", "audit/judge", "method", "navigate", "study", "store"},
	"store":            {},
	"export":           {"store", "observe", "lake"},
	"analysis":         {"lake", "stats"},
	"report":           {"lake", "observe", "analysis", "stats", "report/figure"},
	"report/figure":    {"lake", "observe", "analysis", "stats"},
	"examples/agent":   {"audit"},
	"results":          {"llm/price", "study", "run", "analysis", "report"},
	"play":             {"lake", "memory", "observe", "llm", "study", "run", "store"},
	"view":             {"store", "run", "results", "report", "play", "lake", "study"},
	"cmd/spatialstale": {"*"},
}

// TestImports fails on an import that runs against the flow, and on a package
// that the table does not know.
func TestImports(t *testing.T) {
	imports := listImports(t)
	for pkg, list := range imports {
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("package %s is not in the table of deps_test.go", pkg)
			continue
		}
		for _, imp := range list {
			name, ours := strings.CutPrefix(imp, module+"/")
			if !ours || slices.Contains(allowed, "*") {
				continue
			}
			if name != "record" && !slices.Contains(allowed, name) || pkg == "record" {
				t.Errorf("%s may not import %s", pkg, name)
			}
		}
	}
	for pkg := range mayImport {
		if _, ok := imports[pkg]; !ok {
			t.Errorf("the table names %s, which is no package", pkg)
		}
	}
}

// TestControlsCannotKnow fails if a control could reach the truth through any
// chain of imports.
func TestControlsCannotKnow(t *testing.T) {
	imports := listImports(t)
	var reach func(pkg string, path []string)
	reach = func(pkg string, path []string) {
		path = append(path, pkg)
		if pkg == "instance" || pkg == "memory" {
			t.Errorf("reference reaches the truth: %s", strings.Join(path, " imports "))
			return
		}
		for _, imp := range imports[pkg] {
			if name, ours := strings.CutPrefix(imp, module+"/"); ours {
				reach(name, path)
			}
		}
	}
	reach("reference", nil)
}

// TestNoCgo fails if a dependency of the command needs a C compiler.
func TestNoCgo(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if .CgoFiles}}{{if not .Standard}}{{.ImportPath}}{{end}}{{end}}", "./cmd/spatialstale")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if found := strings.Fields(string(out)); len(found) > 0 {
		t.Errorf("these packages need cgo: %v", found)
	}
}

// listImports returns the imports of each package's own files, tests left out.
func listImports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	imports := map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			GoFiles    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return imports
		} else if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(p.ImportPath, module+"/"); ok && len(p.GoFiles) > 0 {
			imports[name] = p.Imports
		}
	}
}
