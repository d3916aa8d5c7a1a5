package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A BatchService is a provider's interface for batches as its protocol has it.
// An error of its methods is a *BatchRefused where the server answered that it
// will not, and else an *llm.Error.
type BatchService interface {
	// Limits are the most calls that a batch may have, and the most bytes.
	Limits() (calls, bytes int)
	// Upload sends ahead what a batch needs, and returns what it is called; "" and
	// no request where nothing goes ahead. It may be done again.
	Upload(ctx context.Context, calls []BatchCall) (file string, err error)
	// Create submits a batch and returns its id.
	Create(ctx context.Context, file string, calls []BatchCall) (id string, err error)
	// Find lists the batches that may be this one, whose id was never heard.
	Find(ctx context.Context, b *Submission) (ids []string, err error)
	// State says how far a batch is.
	State(ctx context.Context, id string) (BatchState, error)
	// Results hands over what became of the calls of a batch that has ended, in
	// any order. Those it leaves out have no answer.
	Results(ctx context.Context, s *BatchState, yield func(BatchResult) error) error
}

// A BatchCall is a call within a batch: its id, of letters, digits and -, and the
// body of its request.
type BatchCall struct {
	ID   string
	Body []byte
}

// A Submission is what is noted of a batch before it is submitted.
type Submission struct {
	Batch int       `json:"batch"` // its number in the run, from 1
	Model string    `json:"model,omitempty"`
	At    time.Time `json:"at,omitzero"`
	Calls []string  `json:"calls,omitempty"` // their ids
	// What is noted after: the file that was uploaded, the provider's id of the
	// batch, and that it came to nothing.
	File    string `json:"file,omitempty"`
	ID      string `json:"id,omitempty"`
	Dropped bool   `json:"dropped,omitempty"`
}

// A BatchState is how far a batch is.
type BatchState struct {
	ID     string
	Ended  bool
	Failed *Answer // the batch was refused as a whole, in the words of this answer
	// TooMuch says of a refusal that the account may not have so much in batches
	// at once.
	TooMuch bool
	Files   []string // which hold the results, where a protocol has such
}

// A BatchResult is what became of a call: an answer as a request of its own
// would have had, or a kind of failure with words on it.
type BatchResult struct {
	ID     string
	Answer *Answer
	Kind   llm.Kind
	Words  string
}

func (r *BatchResult) failed() bool { return r.Answer == nil || r.Answer.Status/100 != 2 }

// A BatchRefused is an answer without success.
type BatchRefused struct{ Answer *Answer }

// Error says what the status was.
func (r *BatchRefused) Error() string { return fmt.Sprintf("status %d", r.Answer.Status) }

// BatchOptions say how batches are made.
type BatchOptions struct {
	// Linger is how long to wait for a further call before those that are there go
	// into a batch; 0 stands for 5 s.
	Linger time.Duration
	// Poll is how often a batch is asked whether it has ended; 0 for a minute.
	Poll time.Duration
	// Settle is how long a submission whose answer was lost may take to be seen at
	// the provider; 0 for two minutes. After that it counts as never made.
	Settle time.Duration
	// Most is the most calls of a batch; 0 for as many as the provider takes.
	Most int
	// Now tells the time; nil for the machine's clock.
	Now func() time.Time
	// Tell tells people what happens; nil for nobody.
	Tell func(text string)
}

// A Batching makes batches of the calls of a run's models that ask for it
// (llm.Request.Batch). What it submits it notes in a file before, and the
// provider's id after, so that a batch is collected by whoever opens the file
// next, however the program ended.
type Batching struct {
	opts BatchOptions

	mu       sync.Mutex
	log      *os.File
	batches  []*Submission // by their numbers, from 1
	batchers map[string]*batcher
	ctx      context.Context // of requests that must come to their end
	quit     context.Context // of all others
	end      context.CancelFunc
	working  sync.WaitGroup
}

// DefaultLinger is the default of BatchOptions.Linger.
const DefaultLinger = 5 * time.Second

// NewBatching returns a Batching, to be opened before the first call.
func NewBatching(o BatchOptions) *Batching {
	if o.Linger <= 0 {
		o.Linger = DefaultLinger
	}
	if o.Poll <= 0 {
		o.Poll = time.Minute
	}
	if o.Settle <= 0 {
		o.Settle = 2 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	return &Batching{opts: o, batchers: map[string]*batcher{}}
}

// Open goes on with the batches that are noted in a file, which is made where it
// is not there. Until Close, ctx ends requests in their midst.
func (g *Batching) Open(ctx context.Context, path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	whole, err := g.read(file, path)
	if err == nil { // what a killed program left of a line
		err = errors.Join(file.Truncate(whole), syncFolder(filepath.Dir(path)))
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	g.log, g.ctx = file, ctx
	g.quit, g.end = context.WithCancel(ctx)
	for _, s := range g.batches {
		if k := g.batchers[s.Model]; k != nil && !s.Dropped {
			k.recall(s)
		}
	}
	return nil
}

// read reads the notes, and returns where their last whole line ends.
func (g *Batching) read(r io.Reader, path string) (whole int64, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return 0, err
		}
		whole += int64(len(line))
		var s Submission
		if err := json.Unmarshal(line, &s); err != nil || s.Batch < 1 || s.Batch > len(g.batches)+1 {
			return 0, fmt.Errorf("%s:%d: this is no note of a batch; the file says which answers are still to be collected, so put it back as it was", path, n)
		}
		if s.Batch > len(g.batches) {
			g.batches = append(g.batches, &s)
			continue
		}
		known := g.batches[s.Batch-1]
		if s.File != "" {
			known.File = s.File
		}
		if s.ID != "" {
			known.ID = s.ID
		}
		known.Dropped = known.Dropped || s.Dropped
	}
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some systems cannot; the file itself is synced
	return d.Close()
}

// begin numbers a submission and notes it.
func (g *Batching) begin(s *Submission) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Batch = len(g.batches) + 1
	noted := *s
	g.batches = append(g.batches, &noted)
	return g.write(s)
}

// note notes more of a submission.
func (g *Batching) note(s Submission) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.batches[s.Batch-1]
	known.File, known.ID, known.Dropped = s.File, s.ID, s.Dropped
	return g.write(&Submission{Batch: s.Batch, File: s.File, ID: s.ID, Dropped: s.Dropped})
}

// write writes a line that is safe when it returns.
func (g *Batching) write(s *Submission) error {
	line, err := json.Marshal(s)
	if err == nil {
		_, err = g.log.Write(append(bytes.TrimSpace(line), '\n'))
	}
	if err == nil {
		err = g.log.Sync()
	}
	if err != nil {
		return fmt.Errorf("%w: which batches were submitted cannot be kept: %w", llm.ErrJournal, err)
	}
	return nil
}

// known reports whether a batch of the provider's is one that is noted.
func (g *Batching) known(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.batches {
		if s.ID == id {
			return true
		}
	}
	return false
}

// Takes reports whether a model's calls can be asked in batches. A nil Batching
// takes none.
func (g *Batching) Takes(model string) bool { return g != nil && g.batchers[model] != nil }

// Held reports whether a batch of an earlier session may still have the answer to
// a model's request.
func (g *Batching) Held(model string, req *llm.Request) bool {
	if !g.Takes(model) {
		return false
	}
	k := g.batchers[model]
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held[slotID(req)] > 0
}

// Submitted reports whether batches are under way.
func (g *Batching) Submitted() bool {
	if g == nil {
		return false
	}
	for _, k := range g.batchers {
		k.mu.Lock()
		open := k.open
		k.mu.Unlock()
		if open > 0 {
			return true
		}
	}
	return false
}

// Close leaves the batches to the provider. A submission that is under way comes
// to its end.
func (g *Batching) Close() error {
	if g == nil || g.log == nil {
		return nil
	}
	g.end()
	g.working.Wait()
	return g.log.Close()
}
