package ollama

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"math/bits"
	"strconv"
	"sync"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// Tokens that the context has to hold besides the prompt.
const (
	templateTokens = 256 // the model's marks around the prompt
	leastWindow    = 4096
	leastPicture   = 2048 // a picture, for models that make the most of it
	patch          = 16   // side of what large pictures are cut into, in pixels
)

// A window is the size of the context that a model is asked for, in tokens: a
// power of two that holds every prompt so far with its reply. It only grows,
// because the server loads the model again for another size.
type window struct {
	mu   sync.Mutex
	size int
	// partial: the server's counts of tokens leave out what was cached. Prompts
	// of at most so many tokens as whole, by mostTokens, were seen to be read
	// whole by such a server.
	partial bool
	whole   int

	probing chan struct{} // holds one while a call finds that out
}

// hold makes the window large enough for a request, and returns its size.
func (w *window) hold(req *llm.Request) int {
	need := mostTokens(req) + templateTokens + outputCap(req)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size = max(w.size, leastWindow, 1<<bits.Len(uint(max(0, need-1))))
	return w.size
}

// countsPart reports whether the server's counts leave out what was cached, and
// whether a prompt like this one was seen to be read whole all the same.
func (w *window) countsPart(req *llm.Request) (partial, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.partial, w.partial && mostTokens(req) <= w.whole
}

// checkWhole returns an error when the server did not read the whole prompt,
// which was sent with a context of so many tokens.
//
// Servers of some versions count only the tokens that they did not find in their
// cache. A count that is too small then says nothing, and is told apart by
// asking once more with a prefix that no cache can hold. What the count
// leaves out is not known, so that the reply's input tokens are not either.
func (c *Client) checkWhole(ctx context.Context, req *llm.Request, reply *llm.Reply, size int) error {
	counted, told := reply.Usage.InputTokens, reply.Usage.CachedTokens != nil
	if counted == nil {
		return nil
	}
	filled := *counted == size || *counted == size-1 // a whole prompt leaves room for its reply
	if filled || told && !plausible(*counted, req) {
		return spent(c.cutError(req, *counted, size), reply)
	}
	if !plausible(*counted, req) {
		if err := c.probe(ctx, req, reply, size); err != nil {
			return spent(err, reply)
		}
	}
	if partial, _ := c.window.countsPart(req); partial && !told {
		reply.Usage.InputTokens = nil
	}
	return nil
}

// spent marks the error of an answer that came and does not count: it may be
// billed like any other, and so may the probe.
func spent(err error, reply *llm.Reply) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	with := *e
	with.Answered, with.Usage = true, reply.Usage
	if p := reply.Besides; p != nil {
		with.Usage.InputTokens = sum(with.Usage.InputTokens, p.InputTokens)
		with.Usage.OutputTokens = sum(with.Usage.OutputTokens, p.OutputTokens)
	}
	return &with
}

// sum adds two numbers of tokens; one that is not known makes it unknown.
func sum(a, b *int) *int {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// probe finds out whether the server cuts a prompt or only counts less of it,
// one call at a time and once for prompts of a size.
func (c *Client) probe(ctx context.Context, req *llm.Request, reply *llm.Reply, size int) error {
	w := &c.window
	select {
	case w.probing <- struct{}{}:
		defer func() { <-w.probing }()
	case <-ctx.Done():
		return &llm.Error{Kind: llm.KindCanceled, Model: c.name, Slot: req.Slot, Err: context.Cause(ctx)}
	}
	if _, whole := w.countsPart(req); whole {
		return nil
	}
	unnamed := *req
	unnamed.Trial = "" // it is not the call itself
	again, err := c.Call(ctx, &unnamed, func(req *llm.Request, b *provider.Body) { c.encodeProbe(req, b, size) })
	if err != nil {
		if !llm.Unbilled(err) {
			reply.Besides = &llm.Usage{}
		}
		return err
	}
	reply.Besides = &again.Usage
	if n := again.Usage.InputTokens; n != nil && !plausible(*n, req) {
		return c.cutError(req, *n, size)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial, w.whole = true, max(w.whole, mostTokens(req))
	return nil
}

// encodeProbe writes a request whose prompt begins as none before, and that
// wants one token of a reply.
func (c *Client) encodeProbe(req *llm.Request, b *provider.Body, size int) {
	fresh := *req
	fresh.Schema = nil
	fresh.Params = llm.Params{MaxTokens: new(1)}
	if t := req.Params.Thinking; t != nil {
		fresh.Params.Thinking = new(0)
	}
	fresh.Parts = append([]llm.Part{llm.Text(strconv.FormatInt(c.now().UnixNano(), 36) + "\n")}, req.Parts...)
	c.encode(&fresh, b, size)
}

func (c *Client) cutError(req *llm.Request, counted, size int) error {
	return c.Error(req, llm.KindBadRequest, fmt.Sprintf(
		"the server cut the prompt: it read %d tokens of at least %d, with num_ctx %d; take a model or a server with a longer context, or set num_ctx in the options of the extra body",
		counted, max(counted+1, leastTokens(req)), size))
}

// plausible reports whether so many tokens may be all of a prompt.
func plausible(counted int, req *llm.Request) bool {
	least := leastTokens(req)
	return least < 64 || counted >= least
}

// leastTokens returns a number of tokens that no tokenizer stays below: three
// quarters of the words, groups of three digits and runs of other signs, which
// tokenizers do not join. A picture may be one token, or none.
func leastTokens(req *llm.Request) int {
	n := 0
	for i := range req.Parts {
		llm.Runs(req.Parts[i].Text(), kindOf, func(kind int, text []rune) {
			switch kind {
			case ofLetters, ofSigns:
				n++
			case ofDigits:
				n += (len(text) + 2) / 3
			}
		})
	}
	return n * 3 / 4
}

// mostTokens returns a number of tokens that a prompt hardly exceeds: half the
// letters of each word, every digit and sign, every byte beyond ASCII.
func mostTokens(req *llm.Request) int {
	n := 0
	for i := range req.Parts {
		if p := &req.Parts[i]; p.IsImage() {
			n += pictureTokens(p.PNG())
			continue
		}
		llm.Runs(req.Parts[i].Text(), kindOf, func(kind int, text []rune) {
			ascii, beyond := 0, 0
			for _, r := range text {
				if r < 0x80 {
					ascii++
				} else {
					beyond += len(string(r))
				}
			}
			switch kind {
			case ofLetters:
				n += (ascii+1)/2 + beyond
			case ofSpace:
				n += ascii - 1 + beyond // one goes with what follows
			default:
				n += ascii + beyond
			}
		})
	}
	return n
}

func pictureTokens(file []byte) int {
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return leastPicture
	}
	across := func(pixels int) int { return (pixels + patch - 1) / patch }
	return max(leastPicture, across(config.Width)*across(config.Height))
}

// Kinds of characters.
const (
	ofLetters = iota
	ofDigits
	ofSpace
	ofSigns
)

func kindOf(r rune) int {
	switch {
	case unicode.IsLetter(r), unicode.IsMark(r):
		return ofLetters
	case unicode.IsDigit(r):
		return ofDigits
	case unicode.IsSpace(r):
		return ofSpace
	}
	return ofSigns
}
