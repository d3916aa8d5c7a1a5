package llm_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

func joined(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text())
	}
	return b.String()
}

func TestTemplateParts(t *testing.T) {
	template, err := llm.ParseTemplate("Look:\n{{observation}}\nEntries:\n{{entries}}\n{{context}}", "context", "observation", "entries")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		fill map[string][]llm.Part
		want []string
	}{
		{"every place", map[string][]llm.Part{
			"observation": {llm.Text("a\n"), llm.Text("b\n")}, "entries": {llm.Text("c\n")}, "context": {llm.Text("d")},
		}, []string{"Look:\n", "a\n", "b\n", "Entries:\n", "c\n", "d"}},
		{"nothing", nil, []string{"Look:\n", "Entries:\n"}},
		{"empty text", map[string][]llm.Part{"entries": {llm.Text("")}}, []string{"Look:\n", "Entries:\n"}},
		{"places in what fills a place", map[string][]llm.Part{"entries": {llm.Text("{{observation}}")}}, []string{"Look:\n", "Entries:\n", "{{observation}}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parts := template.Parts(tc.fill)
			if len(parts) != len(tc.want) {
				t.Fatalf("%d parts, want %d: %q", len(parts), len(tc.want), joined(parts))
			}
			for i := range parts {
				if parts[i].Text() != tc.want[i] {
					t.Errorf("part %d is %q, want %q", i, parts[i].Text(), tc.want[i])
				}
			}
		})
	}
}

func TestTemplateKeepsImages(t *testing.T) {
	template, err := llm.ParseTemplate("a{{observation}}b", "observation")
	if err != nil {
		t.Fatal(err)
	}
	img := checker()
	parts := template.Parts(map[string][]llm.Part{"observation": {llm.Image(img, []byte("png"))}})
	if len(parts) != 3 || !parts[1].IsImage() || string(parts[1].PNG()) != "png" {
		t.Errorf("the image is not the second of three parts: %v", parts)
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, tc := range []struct{ name, text, say string }{
		{"unknown place", "{{observation}}{{memory}}", "{{memory}} is not a place"},
		{"twice", "{{observation}} {{observation}}", "{{observation}} is there twice"},
		{"missing", "nothing here", "{{observation}} is missing"},
		{"other spelling", "{{ observation }}", "{{observation}} is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := llm.ParseTemplate(tc.text, "observation")
			if err == nil || !strings.Contains(err.Error(), tc.say) {
				t.Errorf("error %v, want one that says %q", err, tc.say)
			}
		})
	}
}

// Whatever the file's own text is, it must come out unchanged around the fill.
func TestTemplateKeepsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringMatching(`[a-z {}\n]{0,20}`).Filter(func(s string) bool { return !strings.Contains(s, "{{") && !strings.HasSuffix(s, "{") })
		before, after, fill := piece.Draw(t, "before"), piece.Draw(t, "after"), piece.Draw(t, "fill")
		template, err := llm.ParseTemplate(before+"{{x}}\n"+after, "x")
		if err != nil {
			t.Fatal(err)
		}
		got := joined(template.Parts(map[string][]llm.Part{"x": {llm.Text(fill)}}))
		if want := before + fill + after; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// Would fail if a prompt cache were told of more than stays the same, or of less.
func TestTemplateUntil(t *testing.T) {
	template, err := llm.ParseTemplate("{{context}}\nLook:\n{{observation}}\nEntries:\n{{entries}}\nAnswer.", "context", "observation", "entries")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a\n", "b\n"}), 0, 3)
		fill := map[string][]llm.Part{}
		for _, place := range []string{"context", "observation", "entries"} {
			for _, text := range texts.Draw(t, place) {
				fill[place] = append(fill[place], llm.Text(text))
			}
		}
		for place, behind := range map[string]string{"observation": "Look:\n", "entries": "Entries:\n"} {
			parts := template.Parts(fill)
			n := template.Until(fill, "entries", place)
			if n < 1 || parts[n-1].Text() != behind {
				t.Fatalf("%d of %q until %s", n, joined(parts), place)
			}
		}
		if n := template.Until(fill); n != len(template.Parts(fill)) {
			t.Fatalf("%d parts, want all %d", n, len(template.Parts(fill)))
		}
		if n := template.Until(fill, "context"); n != 0 {
			t.Fatalf("%d parts before the first place", n)
		}
	})
}
