package audit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// flags are what a text is known by as hostile before anybody reads it. They
// judge nothing: an entry with a flag is audited like any other, but its batch
// is the first to be taken apart when the check fails. No more of a text is read
// than may be audited.
func flags(text string, most int) (out []string) {
	text = text[:min(len(text), most)]
	if instructs(text) {
		out = append(out, FlagInstructions)
	}
	if strings.ContainsFunc(normalLines(text), func(r rune) bool { return hidden(r) && r != '\n' && r != '\t' && r != '\ufeff' }) {
		out = append(out, FlagHidden)
	}
	return out
}

// instructs reports whether a text reads like instructions to the model that
// audits it. A note may well tell its agent what to do; these are words that
// turn a reader away from its own task, or speak of the audit itself.
func instructs(text string) bool {
	text = strings.ToLower(strings.Join(strings.Fields(llm.Fold(text)), " "))
	for _, i := range instructions {
		if containsAny(text, i.words) && i.pattern.MatchString(text) {
			return true
		}
	}
	return false
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// An instruction is a pattern, and words of which one is in all that it matches:
// looking for them is fifty times as fast, and few entries have any.
type instruction struct {
	words   []string
	pattern *regexp.Regexp
}

var instructions = []instruction{
	// Turning away from earlier instructions, in the languages most spoken.
	{[]string{"ignore", "disregard", "forget", "override", "bypass"},
		regexp.MustCompile(`\b(ignore|disregard|forget|override|bypass)\b.{0,40}\b(instruction|prompt|rule|guideline|context|above|previous|prior|system)`)},
	{[]string{"ignor", "oubliez", "olvida", "vergiss"},
		regexp.MustCompile(`\b(ignora|ignorez|oubliez|olvida|vergiss|ignoriere|ignorar)\b.{0,40}\b(instruc|anweisung|instrução|regra|consigne|anterior|précédent|vorherig)`)},
	{[]string{"игнорируй", "забудь", "忽略", "无视", "無視", "تجاهل"},
		regexp.MustCompile(`(игнорируй|забудь).{0,40}(инструкц|указани|правил)|(忽略|无视|無視).{0,20}(指令|指示|提示|规则|規則)|(تجاهل).{0,40}(التعليمات|الأوامر)`)},
	// Speaking of verdicts.
	{[]string{"valid", "stale", "not_covered", "current", "outdated", "up to date", "verdict"},
		regexp.MustCompile(`\b(mark|judge|label|report|treat|classify|answer|return|output|set)\b.{0,40}\b(all|every|each|any|other|this)\b.{0,40}\b(valid|stale|not_covered|current|outdated|up to date|is_stale|verdict)`)},
	{[]string{"is_stale", "memory_id", "judgments"},
		regexp.MustCompile(`"?(is_stale|memory_id|judgments)"?\s*:`)},
	// Roles of a chat, and marks between them.
	{[]string{"system", "assistant", "developer"},
		regexp.MustCompile(`(^|[.!?;] |["'\[(<])(system|assistant|developer)\s*(prompt|message)?\s*:\s*\S+\s+\S`)},
	{[]string{"im_start", "im_end", "system", "start_header_id", "endoftext", "eot_id", "channel", "message", "inst]", "<<sys>>", "###"},
		regexp.MustCompile(`<\|?/?(im_start|im_end|system|start_header_id|endoftext|eot_id|channel|message)\b|\[/?inst\]|<<sys>>|### ?(system|instruction)`)},
	{[]string{"you are now", "new instruction", "as an ai", "end of", "do not"},
		regexp.MustCompile(`\byou are now\b|\bnew instructions?\b|\bas an ai\b|\bend of (the )?(memory|entries|observation|data)\b|\bdo not (audit|flag|remove)\b`)},
}
