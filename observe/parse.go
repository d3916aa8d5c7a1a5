package observe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
)

// ErrNoListing is wrapped by ParseListing's and ParseText's error for a text
// without a single row of a listing, ErrNoWhere by ParseWhere's for one without
// a position line.
var (
	ErrNoListing = errors.New("no listing of a lake in the text")
	ErrNoWhere   = errors.New("no line in the text says where the agent is")
)

// ParseText reads back what Text wrote, from anywhere in a longer text such as
// a prompt. The position line may be missing: then the scene has no agent.
func ParseText(text string) (Scene, error) {
	scene, err := ParseListing(text)
	if err != nil {
		return Scene{}, err
	}
	agent, goal, err := ParseWhere(text)
	if errors.Is(err, ErrNoWhere) {
		return scene, nil
	}
	if err == nil {
		err = scene.Place(agent, goal)
	}
	if err != nil {
		return Scene{}, err
	}
	return scene, nil
}

// ParseListing reads back what Listing wrote, from anywhere in a longer text.
// Lines that do not begin with "Row", a number and a colon are passed over. The
// others must be exactly the rows of one listing, in order: anything else in
// them is an error that says where. The scene has no agent yet.
func ParseListing(text string) (Scene, error) {
	var rows []string
	var letters []byte
	var unseen []lake.Pos
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		number, cells, ok := cutRow(line)
		if !ok {
			continue
		}
		if want := strconv.Itoa(len(rows)); number != want {
			return Scene{}, fmt.Errorf("listing: row %s stands where row %s belongs", number, want)
		}
		var err error
		if letters, err = appendLetters(letters[:0], len(rows), cells); err != nil {
			return Scene{}, err
		}
		for c, letter := range letters {
			if letter == unseenLetter {
				unseen = append(unseen, lake.Pos{Row: len(rows), Col: c})
				letters[c] = byte(lake.Frozen)
			}
		}
		rows = append(rows, string(letters))
	}
	if len(rows) == 0 {
		return Scene{}, fmt.Errorf("listing: %w", ErrNoListing)
	}
	rows = showCorners(rows, unseen)
	grid, err := lake.Parse(rows)
	if err != nil {
		return Scene{}, fmt.Errorf("listing: %w", err)
	}
	scene := Scene{Grid: grid, Goal: grid.Goal()}
	for _, p := range unseen {
		scene.hide(p)
	}
	return scene, nil
}

// cutRow splits a line of a listing into the row's number and its cells. It
// reports false for any other line.
func cutRow(line string) (number, cells string, ok bool) {
	rest, ok := strings.CutPrefix(line, rowPrefix)
	if !ok {
		return "", "", false
	}
	number, cells, ok = strings.Cut(rest, ":")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", "", false
	}
	return number, cells, true
}

// appendLetters appends the types of a row's cells, whose positions must count
// up from column 0.
func appendLetters(letters []byte, row int, cells string) ([]byte, error) {
	var start [16]byte
	for rest := cells; rest != ""; {
		p := lake.Pos{Row: row, Col: len(letters)}
		if row >= lake.MaxSide || p.Col >= lake.MaxSide {
			return nil, fmt.Errorf("listing: cell %v: %w: a side has at most %d cells", p, lake.ErrSize, lake.MaxSide)
		}
		want := appendCellStart(start[:0], p)
		if len(rest) <= len(want) || rest[:len(want)] != string(want) {
			return nil, fmt.Errorf("listing: row %d: want %q and a type, found %q", row, want, clip(rest))
		}
		letters = append(letters, rest[len(want)])
		rest = rest[len(want)+1:]
		if rest != "" && rest[0] != ' ' {
			return nil, fmt.Errorf("listing: row %d: %q follows cell %v", row, clip(rest), p)
		}
	}
	return letters, nil
}

// clip shortens text that an error quotes.
func clip(text string) string {
	const most = 24
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// showCorners writes start and goal into their corners where these are not
// seen, as a grid wants them.
func showCorners(rows []string, unseen []lake.Pos) []string {
	last := len(rows) - 1
	for _, p := range unseen {
		switch {
		case p == lake.Pos{}:
			rows[0] = string(rune(lake.Start)) + rows[0][1:]
		case p.Row == last && p.Col == len(rows[last])-1:
			rows[last] = rows[last][:p.Col] + string(rune(lake.Goal))
		}
	}
	return rows
}

// ParseWhere reads back what Where wrote, from anywhere in a longer text. Lines
// that do not begin with "Agent at (" are passed over; any that does must be a
// whole position line, and there must be one only.
func ParseWhere(text string) (agent, goal lake.Pos, err error) {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, agentPrefix+"(") {
			continue
		}
		if found {
			return lake.Pos{}, lake.Pos{}, fmt.Errorf("position line: there is a second one, %q", clip(line))
		}
		found = true
		var ok bool
		if agent, goal, ok = parseWhereLine(line); !ok {
			return lake.Pos{}, lake.Pos{}, fmt.Errorf("position line: want \"Agent at (row,column). Goal at (row,column).\", found %q", line)
		}
	}
	if !found {
		return lake.Pos{}, lake.Pos{}, fmt.Errorf("position line: %w", ErrNoWhere)
	}
	return agent, goal, nil
}

func parseWhereLine(line string) (agent, goal lake.Pos, ok bool) {
	line, ok = strings.CutPrefix(line, agentPrefix)
	if !ok {
		return agent, goal, false
	}
	if agent, line, ok = cutPos(line); !ok {
		return agent, goal, false
	}
	if line, ok = strings.CutPrefix(line, goalInfix); !ok {
		return agent, goal, false
	}
	goal, line, ok = cutPos(line)
	return agent, goal, ok && line == "."
}

// cutPos reads "(row,column)" at the start of a text, without signs or leading
// zeros, both below lake.MaxSide.
func cutPos(text string) (p lake.Pos, rest string, ok bool) {
	inside, rest, ok := strings.Cut(text, ")")
	if !ok || !strings.HasPrefix(inside, "(") {
		return p, "", false
	}
	row, col, ok := strings.Cut(inside[1:], ",")
	if !ok {
		return p, "", false
	}
	if p.Row, ok = coordinate(row); !ok {
		return p, "", false
	}
	p.Col, ok = coordinate(col)
	return p, rest, ok
}

func coordinate(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && n < lake.MaxSide && strconv.Itoa(n) == digits
}
