package llm

import (
	"regexp"
	"strings"
)

// What a mark tells of the text around it.
const (
	opens  = iota + 1 // behind it the model thinks
	closes            // it stops thinking; before it, it thought, if nothing opened that: many chat templates write the opening mark themselves
	final             // the answer begins, whatever was said before
	pauses            // a message ends, and perhaps the answer is still to come
	ends              // the model's turn ends; what it writes behind it is another's
)

// marks are the marks that models put around what they think and say, in small
// letters. A tag's attributes and name space are left out, and the channels of
// gpt-oss and Gemma have their name behind them.
var marks = map[string]int{
	// DeepSeek, Qwen, GLM, Seed and many more
	"<think>": opens, "<thinking>": opens, "<thought>": opens, "<thoughts>": opens, "<reasoning>": opens, "<reflection>": opens, "<scratchpad>": opens,
	"</think>": closes, "</thinking>": closes, "</thought>": closes, "</thoughts>": closes, "</reasoning>": closes, "</reflection>": closes, "</scratchpad>": closes,
	"[think]": opens, "[/think]": closes, // Mistral
	"◁think▷": opens, "◁/think▷": closes, // Kimi
	"<|begin_of_thought|>": opens, "<|end_of_thought|>": closes, // OpenThinker
	"<|start_thinking|>": opens, "<|end_thinking|>": closes, // Cohere
	"<|think|>": opens, "<|/think|>": closes, "<|thinking|>": opens, "<|/thinking|>": closes,
	"<unused94>": opens, "<unused95>": closes, // MedGemma
	// gpt-oss and Gemma
	"<|channel|>analysis": opens, "<|channel|>thought": opens, "<|channel>analysis": opens, "<|channel>thought": opens,
	"<|channel|>final": final, "<|channel|>commentary": final, "<|channel>final": final, "<channel|>": closes,
	"assistantfinal": final,  // gpt-oss, where a server drops the tokens and keeps their words
	"<|end|>":        pauses, // gpt-oss between its channels, Phi at its end

	"<|im_end|>": ends, "<|endoftext|>": ends, "<|return|>": ends, "<|call|>": ends, // Qwen, gpt-oss
	"<|eot_id|>": ends, "<|eom_id|>": ends, "<|end_of_text|>": ends, "</s>": ends, "[inst]": ends, // Llama, Mistral
	"<end_of_turn>": ends, "<turn|>": ends, "<eos>": ends, // Gemma
	"<|user|>": ends, "<|observation|>": ends, "<|endofassistant|>": ends, "<|end_of_turn_token|>": ends, "<|im_user|>": ends, // GLM, Kimi, Cohere
	"<｜end▁of▁sentence｜>": ends, "<｜user｜>": ends, // DeepSeek
}

// maxMark bounds the length of a mark, in bytes.
const maxMark = 256

// markAt returns the end of the mark at i and what it means; 0 when there is
// none.
func markAt(text string, i int) (end, means int) {
	rest := text[i:min(len(text), i+maxMark)]
	n := 0
	switch {
	case rest[0] == '<':
		n = strings.IndexByte(rest, '>') + 1
	case rest[0] == '[':
		n = strings.IndexByte(rest, ']') + 1
	case rest[0] == "◁"[0] && strings.HasPrefix(rest, "◁"):
		n = strings.Index(rest, "▷") + len("▷")
	case rest[0] == 'a' && strings.HasPrefix(rest, "assistantfinal"):
		n = len("assistantfinal")
	}
	if n <= 0 {
		return 0, 0
	}
	name := strings.ToLower(rest[:n])
	if m := tag.FindStringSubmatch(name); m != nil {
		name = m[1] + m[2] + ">"
	}
	if name == "<|channel|>" || name == "<|channel>" {
		m := channel.FindStringSubmatchIndex(rest[n:])
		if m == nil {
			return 0, 0
		}
		name += strings.ToLower(rest[n+m[2] : n+m[3]])
		n += m[1]
	}
	if means, ok := marks[name]; ok {
		return i + n, means
	}
	return 0, 0
}

var (
	tag     = regexp.MustCompile(`^(</?)(?:[a-z]+:)?([a-z]+)(?:\s[^<>]*)?>$`)
	channel = regexp.MustCompile(`^\s*(\w+)(?:[^<>]*(?:<\|constrain\|>[^<>]*)?<\|message\|>)?`)
)

// outsideThinking returns the pieces of a reply's text in which the model does
// not think, in order, and whether it did in others. A mark inside a string of a
// JSON value is none.
func outsideThinking(text string) (pieces []string, found bool) {
	const talking, thinking, paused = 0, 1, 2
	state, from := talking, 0
	// keep takes what was said up to a mark, if anything was, and the mark.
	keep := func(start, end int) {
		if state == talking && strings.TrimSpace(text[from:start]) != "" {
			pieces = append(pieces, text[from:end])
		}
	}
	work := workFor(text)
	inString := false // the text ends in a string, which may have broken off where it stops thinking
	for i := 0; i < len(text); {
		if c := text[i]; (c == '{' || c == '[') && work > 0 && !inString {
			p, _, ok := parse(text, i, true)
			work -= p.work
			if inString = p.cut && p.quote >= 0; inString {
				i = p.quote
			} else if ok {
				i = p.at
				continue
			}
		}
		end, means := markAt(text, i)
		if end == 0 || inString && means == opens {
			i++
			continue
		}
		inString = false
		switch means {
		case opens:
			keep(i, i)
			state, found = thinking, true
		case closes:
			if state == talking {
				pieces = nil
			}
			if state != paused {
				state, from, found = talking, end, true
			}
		case final:
			pieces, state, from, found = nil, talking, end, true
		case pauses:
			keep(i, end)
			state = paused
		case ends:
			if keep(i, end); state == thinking || len(pieces) > 0 {
				return pieces, found
			}
		}
		i = end
	}
	keep(len(text), len(text))
	return pieces, found
}

// StripThinking returns what a model says in a text, without the regions in
// which it thinks aloud and without special tokens; of a text that boxes its
// answer, what stands in the last box. A region that is never closed swallows
// everything behind it; a closing mark without an opening one, everything before
// it. found reports whether there was a region; the pieces left are joined by
// newlines.
func StripThinking(text string) (rest string, found bool) {
	pieces, found := outsideThinking(text)
	rest = strings.Join(pieces, "\n")
	if boxes := box.FindAllStringSubmatch(rest, -1); boxes != nil {
		last := boxes[len(boxes)-1]
		rest = last[1] + last[2]
	}
	rest = strings.TrimSpace(token.ReplaceAllString(rest, ""))
	if !found && rest == strings.TrimSpace(text) {
		return text, false
	}
	return rest, found
}

var (
	box   = regexp.MustCompile(`(?s)<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|$)|\\boxed\{\s*(?:\\text\w*\{)?([^{}]*)\}`)
	token = regexp.MustCompile(`(?i)</?s>|\[/?inst\]|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>(?:model)?|<\|[a-z_0-9]+\|?>(?:assistant|model)?|<[a-z_]+\|>|<｜[^<>｜]*｜>`)
)

// fences returns the contents of the Markdown code fences in text, in order.
// A fence begins on a line of its own, so three backticks inside a line are
// text; one that is never closed reaches to the end of the text.
func fences(text string) []string {
	var contents []string
	opener, start := "", 0 // the open fence's run of backticks or tildes
	for _, m := range fenceLine.FindAllStringSubmatchIndex(text, -1) {
		run, info := text[m[2]:m[3]], text[m[4]:m[5]]
		switch {
		case opener == "" && !strings.Contains(info, run[:1]): // else it is code inside a line, such as ```x```
			opener, start = run, min(len(text), m[1]+1)
		case opener != "" && info == "" && strings.HasPrefix(run, opener):
			contents = append(contents, text[start:m[0]])
			opener = ""
		}
	}
	if opener != "" {
		contents = append(contents, text[start:])
	}
	return contents
}

var fenceLine = regexp.MustCompile("(?m)^[ \\t]*(```+|~~~+)[ \\t]*(.*?)[ \\t\\r]*$")

// Fold writes full-width forms and curly quotes as the ASCII characters that
// they stand for.
func Fold(text string) string { return strings.Map(folded, text) }
