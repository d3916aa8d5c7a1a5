package llm

import "strings"

// fences returns the contents of the Markdown code fences in text, in order.
// A fence begins on a line of its own, so three backticks inside a line are
// text; one that is never closed reaches to the end of the text.
func fences(text string) []string {
	var contents []string
	var mark string // the open fence's run of backticks or tildes
	var start int
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		run, info := fenceLine(text[at:end])
		switch {
		case run == "":
		case mark == "":
			mark, start = run, end
		case info == "" && strings.HasPrefix(run, mark):
			contents = append(contents, text[start:at])
			mark = ""
		}
		at = end
	}
	if mark != "" {
		contents = append(contents, text[start:])
	}
	return contents
}

// fenceLine splits a line such as "```json" into its run of marks and the word
// behind it; run is empty when the line is no fence.
func fenceLine(line string) (run, info string) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return "", ""
	}
	info = strings.TrimLeft(line, line[:1])
	if strings.Contains(info, line[:1]) {
		return "", "" // code inside a line, such as ```x```
	}
	return line[:len(line)-len(info)], strings.TrimSpace(info)
}
