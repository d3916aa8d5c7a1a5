package llm_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
		{"Cohere", "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>DOWN<|END_RESPONSE|>", "DOWN", true},
		{"tokens for thinking", "<|thinking|>UP?<|/thinking|>DOWN", "DOWN", true},
		{"MedGemma", "<unused94>thought\nUP?<unused95>DOWN", "DOWN", true},
		{"Gemma's channels", "<|channel>thought\nUP?\n<channel|>DOWN<turn|>", "DOWN", true},
		{"Gemma's channels, cut", "<|channel>thought\nUP?", "", true},
		{"gpt-oss, ended while thinking", "<|channel|>analysis<|message|>UP?<|end|>", "", true},
		{"gpt-oss, opened by the template", "UP?<|end|><|start|>assistant<|channel|>final<|message|>DOWN<|return|>", "DOWN", true},
		{"gpt-oss, an answer in JSON", "<|channel|>final <|constrain|>json<|message|>{}", "{}", true},
		{"gpt-oss without its tokens", "analysisUP?assistantfinalDOWN", "DOWN", true},
		{"the end of a turn", "DOWN<|im_end|>", "DOWN", false},
		{"another turn", "DOWN<|im_end|>\n<|im_start|>user\nUP<|im_end|>\n<|im_start|>assistant\nUP", "DOWN", false},
		{"another turn, and thinking in it", "DOWN<|eot_id|>UP</think>UP", "DOWN", false},
		{"the end of a turn while thinking", "<think>UP<|im_end|>UP", "", true},
		{"the beginning of a turn", "<|im_start|>assistant\nDOWN", "DOWN", false},
		{"an end and nothing before it", "<|im_end|>DOWN", "DOWN", false},
		{"Phi's end", "DOWN<|end|>", "DOWN", false},
		{"Llama's instruction", "[INST] Which way? [/INST]", "Which way?", false},
		{"a box", "UP is a hole: <|begin_of_box|>DOWN<|end_of_box|>", "DOWN", false},
		{"a box, cut", "<|begin_of_box|>DOWN", "DOWN", false},
		{"a box of TeX", `UP is a hole: $\boxed{\text{DOWN}}$`, "DOWN", false},
		{"two boxes", `\boxed{UP} no, \boxed{DOWN}`, "DOWN", false},
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

// FuzzStripThinking would fail on a panic, and on words that were not there.
func FuzzStripThinking(f *testing.F) {
	f.Add("<think>UP</think>DOWN<|im_end|>")
	f.Add(`{"r":"<|channel|>`)
	f.Add("<|channel|>final [<|end|>◁think▷")
	f.Fuzz(func(t *testing.T, text string) {
		rest, found := llm.StripThinking(text)
		if len(rest) > len(text)+strings.Count(text, ">") { // pieces are joined by a line break
			t.Fatalf("%q of %q", rest, text)
		}
		if !found && !strings.ContainsAny(text, "<[\\") && rest != text {
			t.Fatalf("%q has no mark, but gave %q", text, rest)
		}
		for _, word := range strings.Fields(rest) {
			if !strings.Contains(text, word) && !strings.ContainsAny(text, "<[\\") {
				t.Fatalf("%q is not in %q", word, text)
			}
		}
		llm.Refuses(text)
	})
}

// Marks are found wherever they stand, and what they enclose is gone.
func TestStripThinkingAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.StringMatching(`[A-Za-z ,.]{0,20}`)
		before, thought, behind := said.Draw(t, "before"), said.Draw(t, "thought"), said.Draw(t, "behind")
		mark := rapid.SampledFrom([][2]string{
			{"<think>", "</think>"}, {"<Thinking>", "</Thinking>"}, {"[THINK]", "[/THINK]"}, {"◁think▷", "◁/think▷"},
			{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"<|channel>thought\n", "<channel|>"},
		}).Draw(t, "mark")
		got, found := llm.StripThinking(before + mark[0] + thought + mark[1] + behind)
		want := strings.Fields(before + " " + behind)
		if !found || !slices.Equal(strings.Fields(got), want) {
			t.Fatalf("%q, %v; want the words %q", got, found, want)
		}
	})
}
