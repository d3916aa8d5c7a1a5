package export

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The documentation lists each file's fields in their order, and its examples
// are lines that the golden files hold.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile("(?m)^## `([a-z]+\\.jsonl)`$").Split(string(text), -1)[1:]
	if len(sections) != len(allNames) {
		t.Fatalf("%d sections for %d files", len(sections), len(allNames))
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| [a-z ]+ \\| .+ \\|$")
	for i, name := range allNames {
		// The causes of death have a table of their own behind that of the trials.
		section, _, _ := strings.Cut(sections[i], "\n### ")
		var listed []string
		for _, m := range row.FindAllStringSubmatch(section, -1) {
			listed = append(listed, m[1])
		}
		if d := cmp.Diff(fields[name], listed); d != "" {
			t.Errorf("%s: fields (-written +documented):\n%s", name, d)
		}
		golden, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		examples := 0
		for line := range strings.Lines(section) {
			example, indented := strings.CutPrefix(line, "    {")
			if !indented {
				continue
			}
			examples++
			begin, end, _ := strings.Cut("{"+strings.TrimSuffix(example, "\n"), "…")
			if !slices.ContainsFunc(strings.Split(string(golden), "\n"), func(l string) bool {
				return strings.HasPrefix(l, begin) && strings.HasSuffix(l, end)
			}) {
				t.Errorf("%s: its example is no line of the golden file: %s", name, line)
			}
		}
		if examples == 0 {
			t.Errorf("%s: no example", name)
		}
	}
}

// Every cause that a record can hold is explained.
func TestDocumentedCauses(t *testing.T) {
	text, err := os.ReadFile("../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../record/record.go")
	if err != nil {
		t.Fatal(err)
	}
	causes := regexp.MustCompile(`(?m)^\tCause\w+\s+= "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(causes) == 0 {
		t.Fatal("no causes found in record.go")
	}
	for _, c := range causes {
		if !strings.Contains(string(text), "\n| `"+c[1]+"` | ") {
			t.Errorf("the cause %q is not explained", c[1])
		}
	}
}
