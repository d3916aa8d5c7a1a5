package llm_test

import (
	"testing"

	"github.com/spatialstale/spatialstale/llm"
)

func TestStripThinking(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
		found            bool
	}{
		{"none", " RIGHT <b>", " RIGHT <b>", false},
		{"a region", "<think>UP? no.</think>DOWN", "DOWN", true},
		{"empty region", "<think>\n\n</think>\n\nDOWN", "DOWN", true},
		{"any case, attributes, name space", `<Thinking mode="x">a</Thinking><seed:think>b</seed:think>DOWN`, "DOWN", true},
		{"other names", "<thought>a</thought><reasoning>b</reasoning><reflection>c</reflection><scratchpad>d</scratchpad>DOWN", "DOWN", true},
		{"Mistral", "[THINK]a[/THINK]DOWN", "DOWN", true},
		{"Kimi", "◁think▷a◁/think▷DOWN", "DOWN", true},
		{"OpenThinker", "<|begin_of_thought|>a<|end_of_thought|>DOWN", "DOWN", true},
		{"gpt-oss", "<|channel|>analysis<|message|>UP?<|end|><|start|>assistant<|channel|>final<|message|>DOWN", "DOWN", true},
		{"in the middle", "UP<think>no</think>DOWN", "UP\nDOWN", true},
		{"never closed", "DOWN <think>or UP", "DOWN", true},
		{"never opened", "UP? no.</think>DOWN", "DOWN", true},
		{"only thinking", "<think>Let me look at the row", "", true},
		{"nested", "<think>a<think>b</think>c</think>DOWN", "DOWN", true},
		{"named inside itself", "<think>I must not write <think> tags</think>DOWN", "DOWN", true},
		{"closed by another name", "<think>a</thinking>DOWN", "DOWN", true},
		{"no thinking tag", "<thinker>DOWN</thinker>", "<thinker>DOWN</thinker>", false},
		{"quoted in a valid value", `{"r":"</think>","action":"DOWN"}`, `{"r":"</think>","action":"DOWN"}`, false},
		{"quoted in a draft", `<think>{"r":"</think>"} so</think>DOWN`, "DOWN", true},
		{"quoted in a value cut off", `[{"r":"</think>"},{"r":"<think>","s`, `[{"r":"</think>"},{"r":"<think>","s`, false},
		{"inside a draft broken off", `<think>[{"r":"hm</think>[{"r":"x"}]`, `[{"r":"x"}]`, true},
		{"inside a draft broken off, then a word", `so {"r":"hm</think>DOWN`, "DOWN", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, found := llm.StripThinking(tc.text)
			if got != tc.want || found != tc.found {
				t.Errorf("got %q, %v; want %q, %v", got, found, tc.want, tc.found)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for text, want := range map[string]bool{
		"I'm sorry, but I cannot reliably determine the colour at those coordinates.": true,
		"I’m unable to\nview images.":                                                 true,
		"I CAN'T help with that.":                                                     true,
		"As an AI, I do not look at lakes.":                                           true,
		"抱歉，我无法判断。":                                                                   true,
		"":                                                                            false,
		"It was an airport.":                                                          false,
		"All entries look fine.":                                                      false,
		"<think>I cannot see it. Wait, I can.</think>ok.":                             false,
		"<think>hm</think>I cannot see it.":                                           true,
	} {
		if got := llm.Refuses(text); got != want {
			t.Errorf("Refuses(%q) = %v, want %v", text, got, want)
		}
	}
}
