package judge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
)

// An item is a judgment to be written.
type item struct {
	id     string
	stale  bool
	reason string
}

func (it item) object() string {
	reason, _ := json.Marshal(it.reason)
	return fmt.Sprintf(`{"memory_id": %q, "is_stale": %t, "confidence": 0.9, "reasoning": %s}`, it.id, it.stale, reason)
}

func objects(items []item) []string {
	out := make([]string, len(items))
	for i := range items {
		out[i] = items[i].object()
	}
	return out
}

func list(items []item) string { return "[" + strings.Join(objects(items), ",\n ") + "]" }

func rewritten(items []item, change func(*item)) []item {
	out := append([]item(nil), items...)
	for i := range out {
		change(&out[i])
	}
	return out
}

// opposite is what a model thinks before it looks again.
func opposite(items []item) []item { return rewritten(items, func(it *item) { it.stale = !it.stale }) }

// plainReason takes the quotes out of the reasons, for clothes that cannot
// carry every string.
func plainReason(items []item) []item {
	return rewritten(items, func(it *item) {
		it.reason = strings.Trim(strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(it.reason), ",:")
	})
}

// clothes are the ways in which models dress one and the same answer.
var clothes = map[string]func(items []item) string{
	"array":      list,
	"object":     func(items []item) string { return `{"judgments": ` + list(items) + `}` },
	"other key":  func(items []item) string { return `{"n": 3, "results": ` + list(items) + `}` },
	"fence":      func(items []item) string { return "Here:\n```json\n" + list(items) + "\n```\nLet me know!" },
	"open fence": func(items []item) string { return "```\n" + list(items) },
	"prose": func(items []item) string {
		return "The entry [mem_001] {see row 3}: " + list(items) + "\nThat's [all]."
	},
	"thinking": func(items []item) string { return "<think>" + list(opposite(items)) + "?</think>\n" + list(items) },
	"template's thinking": func(items []item) string {
		return "so " + list(opposite(items)) + "?</think>" + list(items)
	},
	"draft":        func(items []item) string { return "First " + list(opposite(items)) + ", no:\n" + list(items) },
	"broken draft": func(items []item) string { return "First " + list(opposite(items))[1:] + ", no:\n" + list(items) },
	"lines":        func(items []item) string { return strings.Join(objects(items), "\n") },
	"fenced lines": func(items []item) string {
		return "```jsonl\n" + strings.Join(objects(items), "\n") + "\n```"
	},
	"keyed": func(items []item) string {
		var members []string
		for _, it := range items {
			members = append(members, fmt.Sprintf("%q: %t", it.id, it.stale))
		}
		return "{" + strings.Join(members, ", ") + "}"
	},
	"keyed objects": func(items []item) string {
		var members []string
		for _, it := range items {
			members = append(members, fmt.Sprintf("%q: %s", it.id, it.object()))
		}
		return "{" + strings.Join(members, ", ") + "}"
	},
	"trailing commas": func(items []item) string {
		return "[" + strings.Join(objects(items), ",\n")[:] + ",\n]"
	},
	"comments":       func(items []item) string { return "[ // judged\n" + strings.Join(objects(items), ", # next\n") + "]" },
	"missing commas": func(items []item) string { return "[" + strings.Join(objects(items), "\n") + "]" },
	"Python": func(items []item) string {
		return strings.NewReplacer(`"`, "'", ": true", ": True", ": false", ": False").Replace(list(plainReason(items)))
	},
	"curly quotes": func(items []item) string {
		text, open := list(plainReason(items)), false
		return strings.Map(func(r rune) rune {
			if r != '"' {
				return r
			}
			open = !open
			if open {
				return '“'
			}
			return '”'
		}, text)
	},
	"words": func(items []item) string {
		return strings.NewReplacer(": true", `: "Yes"`, ": false", `: "valid"`).Replace(list(items))
	},
	"digits": func(items []item) string {
		return strings.NewReplacer(": true", `: 1`, ": false", `: 0`).Replace(list(items))
	},
	"short ids": func(items []item) string {
		return list(rewritten(items, func(it *item) { it.id = strings.TrimLeft(strings.TrimPrefix(it.id, "mem_"), "0") }))
	},
	"bracket ids": func(items []item) string {
		return list(rewritten(items, func(it *item) { it.id = "[" + strings.ToUpper(it.id) + "]" }))
	},
	"twice": func(items []item) string { return list(append(items[:len(items):len(items)], items...)) },
	"a stranger": func(items []item) string {
		return list(append(items[:len(items):len(items)], item{id: "mem_999", stale: true}))
	},
	"bracket forgotten": func(items []item) string { return strings.TrimSuffix(list(items), "]") },
	"cut off":           func(items []item) string { return strings.TrimSuffix(list(items), "]") + `, {"memory_id": "mem_0` },
	"as a string":       func(items []item) string { return strings.ReplaceAll(list(plainReason(items)), `"`, `\"`) },
}

// The same judgments must be read from every dress, in any order, with any of
// them left out: who wins the table must not depend on a model's punctuation.
func TestParseSeesThroughClothes(t *testing.T) {
	reasons := []string{"", "ok", "now a hole", `says "SAFE at (2,5)", and it is`, "it's [mem_003] {x}", "reads ```(2,4)=F``` here", "a </think> b", "冰 \\ud83d \n", "is_stale: false, at first", `"memory_id": "mem_001"`}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "asked")
		asked := make([]string, n)
		all := make([]item, n)
		for i := range asked {
			asked[i] = fmt.Sprintf("mem_%03d", 9*i+1)
			all[i] = item{asked[i], rapid.Bool().Draw(t, "stale"), rapid.SampledFrom(reasons).Draw(t, "reason")}
		}
		items := rapid.Permutation(all).Draw(t, "order")
		items = items[:rapid.IntRange(1, n).Draw(t, "given")]
		want := make([]string, n)
		for i := range want {
			want[i] = U
			for _, it := range items {
				if it.id == asked[i] {
					want[i] = map[bool]string{true: S, false: V}[it.stale]
				}
			}
		}
		for name, dress := range clothes {
			text := dress(items)
			verdicts, parsed := judge.Parse(asked, &llm.Reply{Text: text, Finish: llm.FinishStop})
			if diff := cmp.Diff(want, statuses(verdicts)); diff != "" {
				t.Fatalf("%s: %s\nreply:\n%s\nverdicts (-want +got):\n%s", name, parsed.Outcome, text, diff)
			}
			if stranger := name == "a stranger"; stranger != (parsed.UnknownIDs == 1) || parsed.UnknownIDs > 1 {
				t.Fatalf("%s: %d unknown ids", name, parsed.UnknownIDs)
			}
		}
	})
}

// Wherever a model drafts, what it only thought or quoted is no verdict: of
// entries that it calls valid in every answer, none is ever stale.
func TestParseNeverReadsADraft(t *testing.T) {
	before := []string{
		"<think>@</think>", "<thinking>\n@\n</thinking>", "@</think>", "[THINK]@[/THINK]", "◁think▷@◁/think▷", "<|begin_of_thought|>@<|end_of_thought|>",
		"<|channel|>analysis<|message|>@<|end|><|start|>assistant<|channel|>final<|message|>", "<|channel>thought\n@<channel|>", "analysis@assistantfinal", "<think>@<think>@</think>",
	}
	behind := []string{"<think>@", "<|im_end|>\n<|im_start|>user\n@", "<end_of_turn>\n@", "</s>@", "<|endoftext|>@", "<｜end▁of▁sentence｜>@", "<reflection>@</reflection>", "<|end|><|start|>user@"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "asked")
		asked, items := make([]string, n), make([]item, n)
		for i := range asked {
			asked[i] = fmt.Sprintf("mem_%03d", 9*i+1)
			reason, _ := json.Marshal(list(opposite(items[:i])))
			items[i] = item{asked[i], false, rapid.SampledFrom([]string{"", "ok", string(reason), "<think>", "</think>"}).Draw(t, "reason")}
		}
		names := slices.Sorted(maps.Keys(clothes))
		dress := func(label string, items []item) string {
			return clothes[rapid.SampledFrom(names).Draw(t, label)](items)
		}
		stale := plainReason(opposite(items))
		text := dress("answer", items)
		if rapid.Bool().Draw(t, "before") {
			mark := rapid.SampledFrom(before).Draw(t, "mark before")
			text = strings.ReplaceAll(mark, "@", list(stale)) + text
		}
		if rapid.Bool().Draw(t, "behind") {
			mark := rapid.SampledFrom(behind).Draw(t, "mark behind")
			text += strings.ReplaceAll(mark, "@", list(stale))
		}
		verdicts, _ := judge.Parse(asked, &llm.Reply{Text: text, Finish: llm.FinishStop})
		for i, v := range verdicts {
			if v.ID != asked[i] || v.Status == S {
				t.Fatalf("%s is %s in\n%s", v.ID, v.Status, text)
			}
		}
		// Nor when only the draft was written before the reply was cut.
		cut := strings.ReplaceAll(rapid.SampledFrom([]string{"<think>@", "<|channel|>analysis<|message|>@", "<|channel>thought\nDraft: @", "[THINK]@", "<|channel|>analysis<|message|>@<|end|>"}).Draw(t, "cut"), "@", list(stale))
		verdicts, _ = judge.Parse(asked, &llm.Reply{Text: cut[:rapid.IntRange(12, len(cut)).Draw(t, "length")], Finish: llm.FinishLength})
		for _, v := range verdicts {
			if v.Status != U {
				t.Fatalf("%s is %s in\n%s", v.ID, v.Status, cut)
			}
		}
	})
}

// A reply that ends anywhere must give no verdict but those of the whole reply.
func TestParseCutAnywhere(t *testing.T) {
	asked := []string{"mem_001", "mem_002", "mem_010"}
	items := []item{{"mem_001", true, `says "x", [y`}, {"mem_002", false, "it's {ok"}, {"mem_010", true, ""}}
	for name, dress := range clothes {
		if strings.Contains(name, "draft") || name == "thinking" || name == "template's thinking" {
			continue // an answer that is cut away leaves the draft as the last word
		}
		text := dress(items)
		whole, _ := judge.Parse(asked, &llm.Reply{Text: text})
		for cut := range text {
			verdicts, parsed := judge.Parse(asked, &llm.Reply{Text: text[:cut], Finish: llm.FinishLength})
			for i := range verdicts {
				if verdicts[i].Status != U && verdicts[i].Status != whole[i].Status {
					t.Errorf("%s: %s is %s in %q", name, asked[i], verdicts[i].Status, text[:cut])
				}
			}
			if parsed.Outcome != judge.Truncated {
				t.Errorf("%s: outcome %s", name, parsed.Outcome)
			}
		}
	}
}
