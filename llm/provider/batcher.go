package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A batcher makes batches of the calls of one model. A call is found again by
// its id in the last batch that has it, of this session or an earlier one, until
// its result is handed out: the same call asked after that is asked again.
type batcher struct {
	all     *Batching
	model   string
	client  *Client
	service BatchService
	calls   int // the most of a batch
	bytes   int

	mu      sync.Mutex
	where   map[string]*batch // by the ids of calls
	held    map[string]int    // of these, how many are of earlier sessions, by slotID
	waiting []*batchCall      // for the next batch
	size    int               // of these, in bytes
	timer   *time.Timer
	told    bool // people know that batches go on by themselves
	open    int  // batches under way
	serial  bool // the account takes no more than one at a time
}

// A batchCall is a call that somebody waits for.
type batchCall struct {
	BatchCall
	req    *llm.Request
	sent   bool // it may have reached the provider
	left   bool // nobody waits any more
	done   chan struct{}
	answer *Answer
	err    error
}

// A batch is one under way.
type batch struct {
	Submission
	past     bool // it was noted, and may have been submitted
	earlier  bool // by an earlier session
	followed bool
	calls    map[string]*batchCall   // those that are waited for
	kept     map[string]*BatchResult // those that nobody has asked for yet
}

// slotID identifies a request by its place in the run, callID also by its body.
func slotID(req *llm.Request) string {
	sum := sha256.Sum256([]byte(req.Trial + "\x00" + req.Slot))
	return hex.EncodeToString(sum[:16])
}

func callID(req *llm.Request, body []byte) string {
	sum := sha256.Sum256(body)
	return slotID(req) + "-" + hex.EncodeToString(sum[:8])
}

func slotOf(call string) string { return strings.SplitN(call, "-", 2)[0] }

func numberOf(calls int) string {
	if calls == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", calls)
}

// aroundCall is the most bytes that a batch has around the body of a call.
const aroundCall = 200

func newBatcher(all *Batching, model string, client *Client, service BatchService) *batcher {
	k := &batcher{all: all, model: model, client: client, service: service, where: map[string]*batch{}, held: map[string]int{}}
	k.calls, k.bytes = service.Limits()
	if all.opts.Most > 0 {
		k.calls = min(k.calls, all.opts.Most)
	}
	all.batchers[model] = k
	return k
}

// recall takes in a batch of an earlier session.
func (k *batcher) recall(s *Submission) {
	b := &batch{Submission: *s, past: true, earlier: true, calls: map[string]*batchCall{}, kept: map[string]*BatchResult{}}
	for _, id := range s.Calls {
		if k.where[id] == nil {
			k.held[slotOf(id)]++
		}
		k.where[id] = b
	}
}

// takes reports whether a request is asked in a batch, or may be answered by one
// already. A nil batcher takes none.
func (k *batcher) takes(req *llm.Request, body []byte) bool {
	if k == nil || req.Batch {
		return k != nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.where[callID(req, body)] != nil
}

// post waits for the answer to a call.
func (k *batcher) post(ctx context.Context, req *llm.Request, body []byte) (*Answer, error) {
	c := &batchCall{BatchCall: BatchCall{callID(req, body), body}, req: req, done: make(chan struct{})}
	k.mu.Lock()
	if b := k.where[c.ID]; b == nil {
		k.collect(c)
	} else {
		c.sent = true
		b.calls[c.ID] = c
		if r := b.kept[c.ID]; r != nil {
			delete(b.kept, c.ID)
			k.deliver(b, r)
		} else if !b.followed {
			k.follow(b)
		}
	}
	k.mu.Unlock()
	var cause error
	quit := llm.Quit(ctx)
	select {
	case <-c.done:
		return c.answer, c.err
	case <-quit.Done():
		cause = context.Cause(quit)
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c.left = true
	e := k.client.Error(req, llm.KindCanceled, "its batch goes on at the provider")
	if e.Err = cause; !c.sent {
		e.Message, e.Unreached = "", true
	}
	return nil, e
}

// collect takes a call for the next batch. The caller holds the lock.
func (k *batcher) collect(c *batchCall) {
	n := len(c.Body) + aroundCall
	if k.size+n > k.bytes {
		k.flush()
	}
	k.waiting, k.size = append(k.waiting, c), k.size+n
	switch {
	case len(k.waiting) >= k.calls:
		k.flush()
	case k.timer == nil:
		k.timer = time.AfterFunc(k.all.opts.Linger, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.flush()
		})
	default:
		k.timer.Reset(k.all.opts.Linger)
	}
}

// flush begins batches of the calls that wait; where only one may be under way,
// the others begin when that has ended. The caller holds the lock.
func (k *batcher) flush() {
	for len(k.waiting) > 0 && !(k.serial && k.open > 0) {
		k.flushOne()
	}
}

func (k *batcher) flushOne() {
	b := &batch{calls: map[string]*batchCall{}}
	b.Model, b.At = k.model, k.all.opts.Now().UTC()
	for len(k.waiting) > 0 && len(b.Calls) < k.calls {
		c := k.waiting[0]
		k.waiting, k.size = k.waiting[1:], k.size-len(c.Body)-aroundCall
		if !c.left {
			b.Calls, b.calls[c.ID], k.where[c.ID] = append(b.Calls, c.ID), c, b
		}
	}
	if len(b.Calls) > 0 {
		k.follow(b)
	}
}

// follow brings a batch to its end, beside others. The caller holds the lock.
func (k *batcher) follow(b *batch) {
	b.followed = true
	k.open++
	k.all.working.Go(func() {
		err := k.bring(b)
		k.mu.Lock()
		defer k.mu.Unlock()
		for id, c := range b.calls {
			var no *BatchRefused
			switch {
			case err == nil: // it was asked for when the results had been read
				k.forget(b, id)
				k.collect(c)
				continue
			case errors.As(err, &no): // as if each had been refused
				c.answer = no.Answer
			default:
				c.err = k.failure(c.req, err)
			}
			close(c.done)
		}
		clear(b.calls)
		b.followed = false
		if k.open--; k.serial {
			k.flush()
		}
	})
}

// errLater is the end of following a batch that goes on.
var errLater = errors.New("the batch goes on at the provider")

// failure is an error for the call of req.
func (k *batcher) failure(req *llm.Request, err error) error {
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		mine := *e
		mine.Slot = req.Slot
		return &mine
	case errors.Is(err, errLater):
		e := k.client.Error(req, llm.KindCanceled, "")
		e.Err = err
		return e
	}
	return err
}

// bring submits a batch, waits for its end and hands out its results. Calls that
// are left have no result, because of the error if there is one.
func (k *batcher) bring(b *batch) error {
	if !b.past {
		if err := k.submit(b); err != nil {
			return err
		}
	} else if b.earlier && !k.sleep(k.all.opts.Linger) { // until all that it has is asked for
		return errLater
	}
	if b.ID != "" {
		_, err := k.await(b, b.ID)
		return err
	}
	for began := time.Now(); ; { // what was cut off may still be on its way there
		late := time.Since(began) >= k.all.opts.Settle
		ids, err := k.find(b)
		if err != nil {
			return err
		}
		for _, id := range ids {
			mine, err := k.await(b, id)
			if mine || err != nil {
				return err
			}
		}
		if late {
			return k.again(b, "")
		}
		if !k.sleep(min(k.all.opts.Poll, k.all.opts.Settle)) {
			return errLater
		}
	}
}

// submit submits a batch. One that may have been submitted, though nobody heard
// its id, is left to find.
func (k *batcher) submit(b *batch) error {
	calls := make([]BatchCall, 0, len(b.Calls))
	k.mu.Lock()
	for _, id := range b.Calls {
		calls = append(calls, b.calls[id].BatchCall)
	}
	k.mu.Unlock()
	if err := k.all.begin(&b.Submission); err != nil {
		return err
	}
	file, err := k.service.Upload(k.all.ctx, calls)
	if err == nil && file != "" {
		b.File = file
		err = k.all.note(b.Submission)
	}
	if err == nil && k.all.quit.Err() != nil {
		err = errLater
	}
	if err != nil {
		return k.refused(b, err)
	}
	k.mu.Lock()
	for _, c := range b.calls {
		c.sent = true
	}
	k.mu.Unlock()
	b.ID, err = k.service.Create(k.all.ctx, file, calls)
	var no *BatchRefused
	switch {
	case err == nil:
		text := fmt.Sprintf("%s: a batch of %s is submitted (%s)", k.model, numberOf(len(calls)), b.ID)
		if err := k.all.note(b.Submission); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.told {
			k.told = true
			text += "; it goes on at the provider, and is paid for, also when this program ends, and resume collects it"
		}
		k.all.opts.Tell(text)
		return nil
	case errors.As(err, &no) && (no.Answer.Status < 500 || no.Answer.Status == http.StatusNotImplemented):
		return k.refused(b, err)
	}
	b.past = true
	return nil
}
