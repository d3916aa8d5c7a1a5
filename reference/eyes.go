package reference

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/observe"
)

const claimDanger = "DANGER"

// A prompt is what an agent has read.
type prompt struct {
	audit      bool // judgments are asked for, not an action
	scores     bool // judgments with a score in place of a verdict
	transcript bool // the grid is to be written down
	vision     bool // the lake was shown as a picture
	scene      observe.Scene
	goal       lake.Pos
	entries    []entry
	problem    string // what could not be read, in words; empty when all was
}

// An entry is a memory line as read.
type entry struct {
	id    string
	claim string
	pos   lake.Pos
}

// glimpse is what one part of a prompt holds.
type glimpse struct {
	scene     *observe.Scene // a listing or a picture
	vision    bool
	where     bool // agent and goal, in words
	agent     lake.Pos
	goal      lake.Pos
	entries   []entry
	judgments bool // the word that asks for an audit
	scores    bool // the word that asks for scores
	rows      bool // the word that asks to write down the grid
	problem   string
}

// eyes read parts and remember what they saw, because the same listing, picture
// or memory stands in many prompts. They are safe for concurrent use.
type eyes struct {
	mu   sync.RWMutex
	seen map[[32]byte]*glimpse
}

// sharedEyes serve all controls of a process: what a part says is the same for
// every reader.
var sharedEyes = &eyes{seen: map[[32]byte]*glimpse{}}

// maxSeen bounds what eyes remember; beyond it they start anew.
const maxSeen = 1024

// read gathers a prompt from its parts.
func (e *eyes) read(parts []llm.Part) *prompt {
	p := &prompt{}
	var at *glimpse
	found := false
	for i := range parts {
		g := e.look(&parts[i])
		if g.problem != "" {
			p.problem = g.problem
			return p
		}
		if g.scene != nil {
			p.scene, p.vision, found = *g.scene, g.vision, true
		}
		if g.where {
			at = g
		}
		if p.entries == nil {
			p.entries = slices.Clip(g.entries) // mostly all there are; a part's own list stays as it is
		} else {
			p.entries = append(p.entries, g.entries...)
		}
		p.audit = p.audit || g.judgments
		p.scores = p.scores || g.scores
		p.transcript = p.transcript || g.rows
	}
	if !found {
		p.problem = "I cannot find an observation of the lake in what you sent."
		return p
	}
	p.goal = p.scene.Grid.Goal()
	if at != nil {
		p.scene.Agent, p.scene.HasAgent, p.goal = at.agent, true, at.goal
	}
	switch {
	case p.audit && len(p.entries) == 0:
		p.problem = "I cannot find a memory entry to judge in what you sent."
	case !p.audit && !p.transcript && !(p.scene.HasAgent && p.scene.Grid.Contains(p.scene.Agent)):
		p.problem = "I cannot see where the agent is."
	}
	return p
}

// look reads one part, or remembers it. Short texts are read again: they are
// mostly the step's own line, and remembering those would crowd out the rest.
func (e *eyes) look(part *llm.Part) *glimpse {
	const short = 200 // bytes
	if !part.IsImage() && len(part.Text()) < short {
		return readText(part.Text())
	}
	sum := part.Sum()
	e.mu.RLock()
	g := e.seen[sum]
	e.mu.RUnlock()
	if g != nil {
		return g
	}
	if part.IsImage() {
		g = readPicture(part.PNG())
	} else {
		g = readText(part.Text())
	}
	e.mu.Lock()
	if len(e.seen) >= maxSeen {
		clear(e.seen)
	}
	e.seen[sum] = g
	e.mu.Unlock()
	return g
}

func readPicture(data []byte) *glimpse {
	scene, err := observe.DecodePNG(data)
	if err != nil {
		return &glimpse{problem: "I cannot make out the picture: " + err.Error() + "."}
	}
	return &glimpse{scene: &scene, vision: true}
}

func readText(text string) *glimpse {
	g := &glimpse{judgments: strings.Contains(text, `"judgments"`), scores: strings.Contains(text, `"score"`), rows: strings.Contains(text, `{"rows":`)}
	listed := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "Row "):
			listed = true
		case strings.HasPrefix(line, "Agent at "):
			agent, goal, err := observe.ParseWhere(line)
			if err == nil {
				g.where, g.agent, g.goal = true, agent, goal
			}
		default:
			if entry, ok := readEntry(line); ok {
				g.entries = append(g.entries, entry)
			}
		}
	}
	if listed {
		scene, err := observe.ParseListing(text)
		if err != nil {
			g.problem = "I cannot read the listing: " + err.Error() + "."
			return g
		}
		g.scene = &scene
	}
	return g
}

// readEntry reads a memory line, "[mem_021] SAFE at (2,5): …". One that says
// something else has no claim, and no cell of the lake.
func readEntry(line string) (entry, bool) {
	if e, ok := readClaim(line); ok {
		return e, true
	}
	id, _, ok := strings.Cut(line, "] ")
	return entry{id: strings.TrimPrefix(id, "["), pos: lake.Pos{Row: -1, Col: -1}}, ok && strings.HasPrefix(id, "[mem_")
}

func readClaim(line string) (entry, bool) {
	id, rest, ok := strings.Cut(line, "] ")
	if !ok || !strings.HasPrefix(id, "[") {
		return entry{}, false
	}
	claim, rest, ok := strings.Cut(rest, " at (")
	if !ok || claim != "SAFE" && claim != claimDanger {
		return entry{}, false
	}
	place, _, ok := strings.Cut(rest, ")")
	if !ok {
		return entry{}, false
	}
	row, col, ok := strings.Cut(place, ",")
	if !ok {
		return entry{}, false
	}
	r, err1 := strconv.Atoi(row)
	c, err2 := strconv.Atoi(col)
	if err1 != nil || err2 != nil {
		return entry{}, false
	}
	return entry{id: id[1:], claim: claim, pos: lake.Pos{Row: r, Col: c}}, true
}
