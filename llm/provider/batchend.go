package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// resultsKept is how long providers keep results at least; one that knows nothing
// of a younger batch is hardly the one that has it.
const resultsKept = 28 * 24 * time.Hour

// await waits for the end of a batch of that id, and hands out its results. Mine
// is false where it turns out to be another than b, whose id is not known.
func (k *batcher) await(b *batch, id string) (mine bool, err error) {
	for {
		var state BatchState
		err := k.patiently(func() (err error) {
			state, err = k.service.State(k.all.quit, id)
			return err
		})
		switch {
		case err == nil && state.Failed != nil:
			return true, k.failed(b, &state)
		case err == nil && state.Ended:
			err = k.patiently(func() (err error) {
				mine, err = k.handOut(b, &state)
				return err
			})
		}
		var no *BatchRefused
		switch {
		case errors.As(err, &no) && (no.Answer.Status == http.StatusNotFound || no.Answer.Status == http.StatusGone):
			if b.ID == "" {
				return false, nil
			}
			if k.all.opts.Now().Sub(b.At) < resultsKept {
				return true, k.client.Error(&llm.Request{}, llm.KindUnknownModel, fmt.Sprintf(
					"%s knows no batch %s, which was submitted and is paid for; give the key and the address that it was submitted with, or, if it is gone, put {\"batch\":%d,\"dropped\":true} on a line of its own at the end of the file of batches",
					k.client.Endpoint(), id, b.Batch))
			}
			return true, k.again(b, fmt.Sprintf("%s: the batch %s is no longer at the provider; its calls are asked again", k.model, id))
		case err != nil || state.Ended:
			return mine, err
		case !k.sleep(k.all.opts.Poll):
			return true, errLater
		}
	}
}

// find lists the batches of the provider's that may be b.
func (k *batcher) find(b *batch) (ids []string, err error) {
	err = k.patiently(func() (err error) {
		ids, err = k.service.Find(k.all.quit, &b.Submission)
		return err
	})
	var no *BatchRefused
	if errors.As(err, &no) {
		return nil, k.client.Error(&llm.Request{}, llm.KindBadRequest, fmt.Sprintf(
			"nobody knows whether the batch %d of %v was submitted, and the server does not list its batches (status %d); look there, and if there is none, put {\"batch\":%[1]d,\"dropped\":true} on a line of its own at the end of the file of batches",
			b.Batch, b.At.Format(time.DateTime), no.Answer.Status))
	}
	return slices.DeleteFunc(ids, k.all.known), err
}

// patiently asks until there is an answer: a batch takes a day, and an outage
// less.
func (k *batcher) patiently(ask func() error) error {
	for told := false; ; told = true {
		err := ask()
		var no *BatchRefused
		switch {
		case err == nil, errors.Is(err, llm.ErrJournal), llm.KindOf(err).Fatal():
			return err
		case k.all.quit.Err() != nil:
			return errLater
		case errors.As(err, &no) && no.Answer.Status/100 != 5 && no.Answer.Status != http.StatusTooManyRequests && no.Answer.Status != http.StatusRequestTimeout:
			return err
		}
		if !told {
			k.all.opts.Tell(fmt.Sprintf("%s: the batches cannot be asked about now (%v); trying again every %v", k.model, err, k.all.opts.Poll))
		}
		if !k.sleep(k.all.opts.Poll) {
			return errLater
		}
	}
}

// sleep waits, and returns false when Close comes first.
func (k *batcher) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-k.all.quit.Done():
		return false
	}
}

var errOther = errors.New("the batch is another")

// failed ends a batch that the provider does not take as a whole.
func (k *batcher) failed(b *batch, state *BatchState) error {
	n := len(b.Calls)
	if !state.TooMuch || n == 1 {
		return k.refused(b, &BatchRefused{state.Failed})
	}
	k.mu.Lock()
	k.serial, k.calls = true, min(k.calls, (n+1)/2)
	most := k.calls
	k.mu.Unlock()
	return k.again(b, fmt.Sprintf("%s: the account takes no batch of %s now; from here on one batch after another, of %d at most", k.model, numberOf(n), most))
}

// handOut hands out the results of a batch that has ended.
func (k *batcher) handOut(b *batch, state *BatchState) (mine bool, err error) {
	isOurs := make(map[string]bool, len(b.Calls))
	for _, id := range b.Calls {
		isOurs[id] = true
	}
	answered := 0
	err = k.service.Results(k.all.quit, state, func(r BatchResult) error {
		switch {
		case !isOurs[r.ID] && b.ID == "":
			return errOther
		case !isOurs[r.ID]:
			return nil
		case b.ID == "":
			b.ID = state.ID
			if err := k.all.note(b.Submission); err != nil {
				return err
			}
		}
		if !r.failed() {
			answered++
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.deliver(b, &r)
		return nil
	})
	switch {
	case errors.Is(err, errOther):
		return false, nil
	case err != nil:
		return true, err
	case b.ID == "": // it has no result at all, so that it may be any
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range b.calls {
		k.deliver(b, &BatchResult{ID: id, Kind: llm.KindServer, Words: "the batch ended without a word on this call"})
	}
	text := fmt.Sprintf("%s: the batch %s ended with answers to %d of %s", k.model, b.ID, answered, numberOf(len(b.Calls)))
	if answered < len(b.Calls) {
		text += "; what expired or failed is asked again"
	}
	k.all.opts.Tell(text)
	return true, nil
}

// deliver hands a result to whoever waits for it. The caller holds the lock.
func (k *batcher) deliver(b *batch, r *BatchResult) {
	c := b.calls[r.ID]
	if c == nil {
		if b.earlier && k.where[r.ID] == b {
			b.kept[r.ID] = r
		}
		return
	}
	delete(b.calls, r.ID)
	k.forget(b, r.ID)
	switch {
	case b.earlier && r.failed() && k.held[slotOf(r.ID)] == 0: // the last try of an earlier session may go better now
		c.sent = false
		k.collect(c)
		return
	case r.Answer != nil:
		r.Answer.Batch = b.ID
		c.answer = r.Answer
	default:
		c.err = k.client.Error(c.req, r.Kind, r.Words)
	}
	close(c.done)
}

// forget has a call be asked again the next time. The caller holds the lock.
func (k *batcher) forget(b *batch, id string) {
	if k.where[id] != b {
		return
	}
	delete(k.where, id)
	if b.earlier {
		k.held[slotOf(id)]--
	}
}

// drop ends a batch that comes to nothing.
func (k *batcher) drop(b *batch) error {
	b.Dropped = true
	if err := k.all.note(b.Submission); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range b.Calls {
		k.forget(b, id)
	}
	return nil
}

// refused ends a batch that was not submitted, or is not worked on.
func (k *batcher) refused(b *batch, cause error) error {
	var no *BatchRefused
	if errors.As(cause, &no) && slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, no.Answer.Status) {
		cause = k.client.Error(&llm.Request{}, llm.KindUnknownModel,
			fmt.Sprintf("the server at %s has no interface for batches (status %d); run the study without --batch-api", k.client.Endpoint(), no.Answer.Status))
	}
	return cmp.Or(k.drop(b), cause)
}

// again asks the calls of a batch in others.
func (k *batcher) again(b *batch, why string) error {
	if err := k.drop(b); err != nil {
		return err
	}
	if why != "" {
		k.all.opts.Tell(why)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, c := range b.calls {
		delete(b.calls, id)
		c.sent = false
		k.collect(c)
	}
	return nil
}
