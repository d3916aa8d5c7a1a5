package report

import "strings"

// wrap breaks text into lines of at most width terminal cells, at spaces where
// it can; a word longer than half a line is broken behind punctuation, and one
// longer than a line anywhere.
func wrap(text string, width int) []string {
	width = max(width, 2) // the widest character
	var lines []string
	line, free := "", width
	for _, word := range strings.Fields(text) {
		if line != "" {
			if need := 1 + widthOf(word); need <= free {
				line += " " + word
				free -= need
				continue
			}
			if widthOf(word) > width/2 && free > 1 {
				if n, nice := breakAt(word, free-1); nice {
					line, word = line+" "+word[:n], word[n:]
				}
			}
			lines = append(lines, line)
			line, free = "", width
		}
		for widthOf(word) > width {
			n, _ := breakAt(word, width)
			lines = append(lines, word[:n])
			word = word[n:]
		}
		line, free = word, width-widthOf(word)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// breakAt returns how many bytes of a long word fit into width, at least one
// character, and whether they end behind punctuation, as it prefers.
func breakAt(word string, width int) (n int, nice bool) {
	fits, behind := 0, 0
	used := 0
	for i, r := range word {
		used += cellWidth.RuneWidth(r)
		end := i + len(string(r))
		if used > width && fits > 0 {
			break
		}
		fits = end
		if strings.ContainsRune("/?&,;:", r) {
			behind = end
		}
	}
	if behind > fits/2 {
		return behind, true
	}
	return fits, false
}
