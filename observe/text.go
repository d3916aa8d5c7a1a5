package observe

import (
	"strconv"

	"github.com/spatialstale/spatialstale/lake"
)

// unseenLetter stands in a listing for the type of a cell that is not seen.
const unseenLetter = '?'

// Text returns the state in words: Listing, then Where.
func (s *State) Text() string {
	scene := s.Scene()
	return string(appendWhere(scene.appendListing(nil), s.Agent, scene.Goal))
}

// Listing returns the cells' types, a line a row, each ended by a newline:
// "Row 0: (0,0)=S (0,1)=F …". A cell that is not seen has "?" for its type. The
// agent's position leaves no mark on it.
func (s *State) Listing() string {
	scene := s.Scene()
	return string(scene.appendListing(nil))
}

// Where returns the position line, "Agent at (3,4). Goal at (7,7).", ended by a
// newline.
func (s *State) Where() string {
	return string(appendWhere(nil, s.Agent, s.Grid.Goal()))
}

func (s *Scene) appendListing(out []byte) []byte {
	if out == nil {
		const longestCell = len(" (63,63)=F")
		out = make([]byte, 0, s.Grid.NumCells()*longestCell+s.Grid.NumRows()*len("Row 63:\n")+len("Agent at (63,63). Goal at (63,63).\n"))
	}
	for r := range s.Grid.NumRows() {
		out = appendRowStart(out, r)
		for c := range s.Grid.NumCols() {
			p := lake.Pos{Row: r, Col: c}
			out = appendCellStart(out, p)
			if s.Sees(p) {
				out = append(out, byte(s.Grid.At(p)))
			} else {
				out = append(out, unseenLetter)
			}
		}
		out = append(out, '\n')
	}
	return out
}

// appendRowStart appends what a row's line begins with.
func appendRowStart(out []byte, r int) []byte {
	out = append(out, rowPrefix...)
	out = strconv.AppendInt(out, int64(r), 10)
	return append(out, ':')
}

// appendCellStart appends what stands before a cell's type.
func appendCellStart(out []byte, p lake.Pos) []byte {
	out = append(out, ' ')
	out = appendPos(out, p)
	return append(out, '=')
}

func appendWhere(out []byte, agent, goal lake.Pos) []byte {
	out = append(out, agentPrefix...)
	out = appendPos(out, agent)
	out = append(out, goalInfix...)
	out = appendPos(out, goal)
	return append(out, ".\n"...)
}

func appendPos(out []byte, p lake.Pos) []byte {
	out = append(out, '(')
	out = strconv.AppendInt(out, int64(p.Row), 10)
	out = append(out, ',')
	out = strconv.AppendInt(out, int64(p.Col), 10)
	return append(out, ')')
}

const (
	rowPrefix   = "Row "
	agentPrefix = "Agent at "
	goalInfix   = ". Goal at "
)
