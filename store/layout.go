package store

import (
	"fmt"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// layoutVersion is the version of the layouts below, the first value of every
// packed record. A later version adds its fields under `if c.version >= 2`, so
// that older records stay readable; testdata/v1 holds a run to see that they
// do.
const layoutVersion = 3

// encode writes a record with its walk and returns bytes that hold until the
// coder's next reset.
func encode[T any](c *coder, v *T, walk func(*coder, *T)) []byte {
	c.reset()
	c.uint(&c.version)
	walk(c, v)
	return c.buf
}

// decode reads into v, which must be zero, what encode wrote.
func decode[T any](data []byte, v *T, walk func(*coder, *T)) error {
	c := coder{reading: true, buf: data}
	c.uint(&c.version)
	if c.version > layoutVersion {
		return fmt.Errorf("record layout %d: %w", c.version, ErrNewer)
	}
	walk(&c, v)
	if len(c.buf) > 0 || c.version == 0 {
		c.fail()
	}
	return c.err
}

// trial walks over a trial but for its Spec, which stands in the plan.
func (c *coder) trial(t *record.Trial) {
	c.int(&t.Version)
	c.text(&t.Outcome)
	c.text(&t.Error)
	c.counts(&t.Counts)
	list(c, &t.Windows, (*coder).window)
	list(c, &t.Steps, (*coder).step)
	optional(c, &t.Death, (*coder).death)
}

func (c *coder) counts(n *record.Counts) {
	c.int(&n.TP)
	c.int(&n.FP)
	c.int(&n.FN)
	c.int(&n.TN)
	c.int(&n.Unanswered)
}

func (c *coder) window(w *record.Window) {
	c.int(&w.Index)
	c.int(&w.Step)
	list(c, &w.Visible, (*coder).text)
	list(c, &w.Judgments, (*coder).judgment)
	list(c, &w.Replies, (*coder).parsed)
}

func (c *coder) judgment(j *record.Judgment) {
	c.text(&j.MemoryID)
	c.pos(&j.Pos)
	c.text(&j.Claim)
	c.flag(&j.Truth)
	c.text(&j.Verdict)
	c.fraction(&j.Score)
	c.fraction(&j.Confidence)
	c.text(&j.Reason)
	list(c, &j.Repairs, (*coder).text)
	if c.version >= 2 {
		c.fraction(&j.StaleLogprob)
		c.fraction(&j.ValidLogprob)
	}
}

func (c *coder) parsed(p *record.Parsed) {
	c.text(&p.Slot)
	c.text(&p.Outcome)
	list(c, &p.Repairs, (*coder).text)
	c.int(&p.UnknownIDs)
}

func (c *coder) step(s *record.Step) {
	c.int(&s.T)
	c.pos(&s.Pos)
	c.text(&s.Action)
	c.pos(&s.Next)
	c.text(&s.Cell)
	c.flag(&s.Fallback)
	list(c, &s.Event, (*coder).flip)
	list(c, &s.Dropped, (*coder).flip)
	c.text(&s.Memory)
	list(c, &s.Removed, (*coder).text)
	list(c, &s.Visible, (*coder).text)
	c.text(&s.Reply)
}

func (c *coder) death(d *record.DeathRecord) {
	c.pos(&d.Pos)
	optional(c, &d.MemoryID, (*coder).text)
	c.text(&d.Cause)
}

func (c *coder) pos(p *record.Pos) {
	c.int(&p[0])
	c.int(&p[1])
}

func (c *coder) flip(f *record.Flip) {
	c.pos(&f.Pos)
	c.text(&f.To)
}

func (c *coder) instance(in *record.Instance) {
	c.int(&in.Seed)
	c.text(&in.Regime)
	list(c, &in.Rows, (*coder).text)
	list(c, &in.RowsAfter, (*coder).text)
	list(c, &in.Events, (*coder).event)
	list(c, &in.Memory, (*coder).entry)
}

func (c *coder) event(e *record.Event) {
	c.int(&e.Step)
	list(c, &e.Flips, (*coder).flip)
}

func (c *coder) entry(e *record.MemoryEntry) {
	c.text(&e.ID)
	c.pos(&e.Pos)
	c.text(&e.Claim)
	c.text(&e.Text)
	c.flag(&e.Visited)
}

// A storedCall is a record.Call as it stands in the calls table: its texts and
// pictures are numbers of blobs, its trial is the row's.
type storedCall struct {
	slot      string
	purpose   string
	model     string
	prompt    []uint64
	promptSum *[32]byte // nil when it is that of the prompt's parts, as it should be
	reply     uint64
	reasoning uint64 // 0 when there was none
	finish    string
	server    string
	input     *int
	output    *int
	latency   time.Duration

	// since layout 2
	cached     *int
	cacheWrite *int
	thought    *int
	booleans   []record.Boolean

	timings *record.Timings // since layout 3
}

func (c *coder) calls(rows *[]storedCall) { list(c, rows, (*coder).call) }

func (c *coder) call(k *storedCall) {
	c.text(&k.slot)
	c.text(&k.purpose)
	c.text(&k.model)
	list(c, &k.prompt, (*coder).uint)
	optional(c, &k.promptSum, (*coder).sum)
	c.uint(&k.reply)
	c.uint(&k.reasoning)
	c.text(&k.finish)
	c.text(&k.server)
	optional(c, &k.input, (*coder).int)
	optional(c, &k.output, (*coder).int)
	c.int64((*int64)(&k.latency))
	if c.version >= 2 {
		optional(c, &k.cached, (*coder).int)
		optional(c, &k.cacheWrite, (*coder).int)
		optional(c, &k.thought, (*coder).int)
		list(c, &k.booleans, (*coder).boolean)
	}
	if c.version >= 3 {
		optional(c, &k.timings, (*coder).timings)
	}
}

func (c *coder) timings(t *record.Timings) {
	c.int(&t.PromptTokens)
	c.int(&t.OutputTokens)
	c.int64((*int64)(&t.Prompt))
	c.int64((*int64)(&t.Output))
	c.int64((*int64)(&t.Load))
}

func (c *coder) boolean(b *record.Boolean) {
	c.int(&b.At)
	c.fraction(&b.True)
	c.fraction(&b.False)
}
