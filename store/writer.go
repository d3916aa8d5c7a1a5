package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// Options say how a Writer works. The zero value is right for a run of any
// size.
type Options struct {
	// Queue is how many calls and trials may wait to be written before Call
	// and Trial wait too; 0 means 4096. It bounds the memory that a slow disk
	// can cost.
	Queue int
	// CommitCount and CommitAfter say when what was written becomes durable
	// and visible to readers: after that many calls and trials (0 means 8192)
	// or that long after the first of them (0 means 250 ms), whichever comes
	// first.
	CommitCount int
	CommitAfter time.Duration
	// Sync makes every commit wait until the disk has it, so that not even a
	// power cut takes back what DurableCall has promised. Without it a crash of
	// the program loses nothing committed, a power cut at most the latest
	// commits.
	Sync bool
}

func (o Options) withDefaults() (Options, error) {
	if o.Queue < 0 || o.CommitCount < 0 || o.CommitAfter < 0 {
		return o, fmt.Errorf("store options must not be negative: %+v", o)
	}
	if o.Queue == 0 {
		o.Queue = 4096
	}
	if o.CommitCount == 0 {
		o.CommitCount = 8192
	}
	if o.CommitAfter == 0 {
		o.CommitAfter = 250 * time.Millisecond
	}
	return o, nil
}

// A Writer adds what happens to a run. Its methods may be used by many
// goroutines at once; none of them waits for the disk, except DurableCall, Flush
// and Close.
//
// The first error in writing is final: nothing more is written, and every
// method reports it from then on. That the run's files have been moved, deleted
// or replaced is such an error.
type Writer struct {
	plan *outline

	queue   chan message
	done    chan struct{} // closed when the last has been written
	failure atomic.Pointer[error]

	mu     sync.RWMutex // held for reading while something is put into queue
	closed bool

	dir  string
	lock *runLock

	manifestMu sync.Mutex
	manifest   record.Manifest

	// Of a resumed run: what had happened before.
	ended  []bool          // by ordinal
	begun  map[string]bool // trials that have calls and no end; not changed
	pastMu sync.Mutex
	past   map[string]map[string]*record.Call // their calls, by trial and slot
}

// A message is what one method hands to the committer: a call, a trial's end or
// a new manifest, and in any case the wish to hear when it is committed.
type message struct {
	ordinal  int
	key      string // of the trial
	call     *record.Call
	sums     callSums
	result   *resultRow
	manifest []byte
	flushed  chan error
}

// An outline is what a Writer keeps of the plan: enough to find a trial's place
// and to notice one that is not the planned one. The plan itself is in the
// database; of a large study it would take most of the memory.
type outline struct {
	ordinals  map[string]int32
	checksums []int64 // of the specs, by ordinal
}

func newOutline(plan iter.Seq[record.Spec]) (*outline, error) {
	o := &outline{ordinals: map[string]int32{}}
	for spec := range plan {
		if first, twice := o.ordinals[spec.Key]; twice {
			return nil, fmt.Errorf("the plan has trial %q twice, as number %d and %d", spec.Key, first, len(o.checksums))
		}
		o.ordinals[spec.Key] = int32(len(o.checksums))
		o.checksums = append(o.checksums, checksum(specFields(&spec)))
	}
	return o, nil
}

// place returns a trial's place in the plan.
func (o *outline) place(key string) (int, error) {
	ordinal, ok := o.ordinals[key]
	if !ok {
		return 0, fmt.Errorf("%w: %q", ErrNotPlanned, key)
	}
	return int(ordinal), nil
}

// ErrClosed is reported by the methods of a Writer that has been closed.
var ErrClosed = errors.New("the run's store has been closed")

func startWriter(c *committer, plan *outline, opts Options) *Writer {
	w := &Writer{
		plan:  plan,
		queue: make(chan message, opts.Queue),
		done:  make(chan struct{}),
	}
	go func() {
		defer close(w.done)
		c.work(w.queue, opts, func(err error) { w.failure.CompareAndSwap(nil, &err) })
	}()
	return w
}

// Call hands over a finished call of a planned trial that has not ended. The
// call must not be changed afterwards. It waits only while the queue is full;
// ctx ends that wait.
//
// Two images with equal sums are the same picture, so only the first one's
// file is kept.
func (w *Writer) Call(ctx context.Context, call *record.Call) error {
	return w.call(ctx, call, nil)
}

// DurableCall is Call for an answer that was paid for: it waits until the call
// is committed, together with what others hand over in the meantime. When ctx
// ends the wait, the call is kept all the same.
func (w *Writer) DurableCall(ctx context.Context, call *record.Call) error {
	committed := make(chan error, 1)
	if err := w.call(ctx, call, committed); err != nil {
		return err
	}
	return wait(ctx, committed)
}

func wait(ctx context.Context, committed <-chan error) error {
	select {
	case err := <-committed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Writer) call(ctx context.Context, call *record.Call, committed chan error) error {
	ordinal, err := w.plan.place(call.Trial)
	if err != nil {
		return fmt.Errorf("recording call %s: %w", call.Slot, err)
	}
	for i := range call.Prompt {
		if call.Prompt[i].Sum == [32]byte{} {
			return fmt.Errorf("recording call %s of trial %s: part %d of its prompt has no sum", call.Slot, call.Trial, i)
		}
	}
	return w.hand(ctx, message{ordinal: ordinal, key: call.Trial, call: call, sums: newCallSums(call), flushed: committed})
}

// Trial hands over a trial that has ended, finished or failed. Its calls are
// committed with it or before it. The trial may be changed afterwards.
func (w *Writer) Trial(ctx context.Context, t *record.Trial) error {
	ordinal, err := w.plan.place(t.Key)
	if err != nil {
		return fmt.Errorf("recording a trial: %w", err)
	}
	if w.plan.checksums[ordinal] != checksum(specFields(&t.Spec)) {
		return fmt.Errorf("recording trial %s: it is not the one that was planned under this key: %+v", t.Key, t.Spec)
	}
	row, err := newResultRow(t)
	if err != nil {
		return fmt.Errorf("recording trial %s: %w", t.Key, err)
	}
	w.forget(t.Key)
	return w.hand(ctx, message{ordinal: ordinal, key: t.Key, result: row})
}

// Models replaces what the manifest says of the run's models, by what has shown
// since. It is committed before any call that is handed over later.
func (w *Writer) Models(ctx context.Context, models []record.ModelInfo) error {
	w.manifestMu.Lock() // so that the latest stays
	defer w.manifestMu.Unlock()
	w.manifest.Models = models
	text, err := manifestJSON(w.manifest)
	if err != nil {
		return err
	}
	return w.hand(ctx, message{manifest: text})
}

// Flush waits until everything handed over before is committed.
func (w *Writer) Flush(ctx context.Context) error {
	m := message{flushed: make(chan error, 1)}
	if err := w.hand(ctx, m); err != nil {
		return err
	}
	return wait(ctx, m.flushed)
}

// Close commits what was handed over and closes the run. It returns the first
// error in writing, if there was one; a second Close returns the same.
func (w *Writer) Close() error {
	w.mu.Lock()
	first := !w.closed
	if first {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.done
	if first && w.lock != nil {
		if err := w.lock.Close(); err != nil {
			w.failure.CompareAndSwap(nil, &err)
		}
	}
	return w.failed()
}

func (w *Writer) failed() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (w *Writer) hand(ctx context.Context, m message) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.failed(); err != nil {
		return err
	}
	if w.closed {
		return ErrClosed
	}
	select {
	case w.queue <- m: // even when ctx has ended: what has happened is kept
		return nil
	default:
	}
	select {
	case w.queue <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
