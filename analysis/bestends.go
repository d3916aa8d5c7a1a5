package analysis

import "math"

// noteBest says what is marked.
const noteBest = "Bold, or * in text: the best success and death of a model and regime, ties to the last digit shown too. Oracle knows the truth and does not compete."

// markBestEnds marks in a table of episodes the best of each part of it: of the
// strategies that a model walked with under the same regime, wording and size.
// Values that people are shown alike tie. It returns whether any is marked.
func markBestEnds(t *Table, groups []*episodeGroup) bool {
	any := false
	for i := range t.Columns {
		sign := 0.0
		switch t.Columns[i].Key {
		case "success":
			sign = 1
		case "death":
			sign = -1
		default:
			continue
		}
		shownAs := func(c *Cell) float64 {
			return sign * math.Round(*c.Value*math.Pow10(t.Columns[i].Decimals))
		}
		best := make(map[setting]float64)
		competing := make(map[setting]int)
		competes := func(r int) (setting, *Cell, bool) {
			c := &t.Rows[r][i]
			return bare(groups[r].setting), c, c.Value != nil && groups[r].strategy != "oracle"
		}
		for r := range t.Rows {
			if part, c, ok := competes(r); ok {
				if v := shownAs(c); competing[part] == 0 || v > best[part] {
					best[part] = v
				}
				competing[part]++
			}
		}
		for r := range t.Rows {
			if part, c, ok := competes(r); ok && competing[part] > 1 && shownAs(c) == best[part] {
				c.Best, any = true, true
			}
		}
	}
	return any
}
