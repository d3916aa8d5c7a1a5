// Package llm is the one door to language and vision-language models: the
// Model interface, the request and the reply, typed errors, and the reading of
// JSON out of replies. Wrappers around a Model (journal, limit, retry, replay)
// are Models themselves.
//
// It knows nothing of lakes, memories or studies, and no provider's wire
// format; those live in packages of their own.
package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// A Model answers requests. Implementations are safe for concurrent use,
// return promptly when ctx ends, and return an error of type *Error when there
// is no reply to read. A refusal, a truncation or a content filter is a reply,
// not an error.
type Model interface {
	Generate(ctx context.Context, req *Request) (*Reply, error)
}

// A Request is one call, named by its caller: Trial and Slot together identify
// it, so that a finished call can be found again and is never paid for twice.
type Request struct {
	Trial   string // key of the trial the call belongs to
	Slot    string // place within the trial, such as "window0/batch3" or "step17"
	Purpose string // what the call is for: "audit", "step", "transcribe" or "remember"
	Parts   []Part // the prompt; unchanging parts come first
	// Shared are numbers of leading parts with which calls to come will begin as
	// well, in rising order: those of the whole run, of the same window or
	// episode. A protocol with a prompt cache marks where they end. They are no
	// part of what is asked.
	Shared []int
	Schema *Schema
	Params Params
	// Answer is how many output tokens a full answer takes, amply counted and
	// without thinking; 0 where the caller does not know. See Capped.
	Answer int
	// Batch asks in a batch of the provider's, whose answer costs less and may take
	// a day; the client makes the batches. See provider.Batching.
	Batch bool
	// Done reports whether an answer that still grows holds all that is wanted:
	// a client that streams may stop there (FinishDone). It is called with all
	// of the text so far, by one goroutine at a time, and takes time for what is
	// new in it only. Nil where only the end of a reply tells.
	Done func(text string) bool
}

// Params are sampling parameters. A nil field is not sent: the provider's
// default applies.
type Params struct {
	Temperature *float64 `json:"temperature,omitempty" yaml:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty" yaml:"top_p,omitempty"`
	MaxTokens   *int     `json:"max_tokens,omitempty" yaml:"max_tokens,omitempty"` // cap on output tokens
	// Thinking is the budget of thinking in tokens, where a protocol has one; 0
	// asks for none.
	Thinking *int `json:"thinking,omitempty" yaml:"thinking,omitempty"`
	// Logprobs asks for the probabilities behind a reply's booleans.
	Logprobs bool `json:"logprobs,omitempty" yaml:"logprobs,omitempty"`
}

// A Schema is the JSON Schema that a reply should follow.
type Schema struct {
	Name string          // a short identifier, as providers ask for one
	JSON json.RawMessage // the schema itself
	// Bounded is the schema with bounds on lists, and of the values that fit, for
	// servers that take them; empty for none.
	Bounded json.RawMessage
}

// Sent returns the schema as it is sent first: with its bounds, if it has any.
func (s *Schema) Sent() json.RawMessage {
	if len(s.Bounded) > 0 {
		return s.Bounded
	}
	return s.JSON
}

// PromptSum identifies the exact content of the prompt: SHA-256 over the sums
// of its parts in order.
func (r *Request) PromptSum() [32]byte {
	buf := make([]byte, 0, 8*sha256.Size)
	for i := range r.Parts {
		buf = append(buf, r.Parts[i].sum[:]...)
	}
	return sha256.Sum256(buf)
}

// A Part is an immutable piece of a prompt: text or a PNG. Build one with Text
// or Image and use it in as many requests as wanted; its sum is computed once.
type Part struct {
	text string
	png  []byte
	raw  []byte // the text's bytes or the PNG, for the record
	sum  [32]byte

	width, height int // of an image
}

// Text returns a text part. Its sum is the SHA-256 of its bytes.
func Text(s string) Part {
	raw := []byte(s)
	return Part{text: s, raw: raw, sum: sha256.Sum256(raw)}
}

// Image returns an image part for img, already encoded as the PNG file data.
// Its sum is that of the pixels (see PixelSum), because encoders differ
// between releases.
func Image(img image.Image, data []byte) Part {
	b := img.Bounds()
	return Part{png: data, raw: data, sum: PixelSum(img), width: b.Dx(), height: b.Dy()}
}

// PNG returns an image part for a PNG file.
func PNG(data []byte) (Part, error) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return Part{}, fmt.Errorf("image part: not a readable PNG: %w", err)
	}
	return Image(img, data), nil
}

// IsImage reports whether the part is an image.
func (p *Part) IsImage() bool { return p.png != nil }

// Text returns the text, empty for an image.
func (p *Part) Text() string { return p.text }

// PNG returns the PNG file, nil for a text. It must not be changed.
func (p *Part) PNG() []byte { return p.png }

// Size returns an image's width and height in pixels, 0 for a text.
func (p *Part) Size() (width, height int) { return p.width, p.height }

// Sum returns the SHA-256 that identifies the part's content.
func (p *Part) Sum() [32]byte { return p.sum }

// Record returns the part as plain data. Its bytes must not be changed.
func (p *Part) Record() record.Part {
	kind := record.PartText
	if p.IsImage() {
		kind = record.PartPNG
	}
	return record.Part{Sum: p.sum, Kind: kind, Data: p.raw}
}

// PixelSum identifies an image by what it shows: SHA-256 over "pixels", its
// width and height as big-endian 32-bit numbers, and its pixels row by row as
// 8-bit non-premultiplied R, G, B, A.
func PixelSum(img image.Image) [32]byte {
	b := img.Bounds()
	head := append(make([]byte, 0, 14), "pixels"...)
	head = binary.BigEndian.AppendUint32(head, uint32(b.Dx()))
	head = binary.BigEndian.AppendUint32(head, uint32(b.Dy()))
	h := sha256.New()
	h.Write(head)
	row := make([]byte, 0, 4*b.Dx())
	paletted, _ := img.(*image.Paletted)
	var quads [256][4]byte
	if paletted != nil {
		for i, c := range paletted.Palette {
			quads[i] = quad(c)
		}
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row = row[:0]
		if paletted != nil {
			pix := paletted.Pix[paletted.PixOffset(b.Min.X, y):]
			for _, i := range pix[:b.Dx()] {
				row = append(row, quads[i][:]...)
			}
		} else {
			for x := b.Min.X; x < b.Max.X; x++ {
				q := quad(img.At(x, y))
				row = append(row, q[:]...)
			}
		}
		h.Write(row)
	}
	return [32]byte(h.Sum(nil))
}

func quad(c color.Color) [4]byte {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return [4]byte{n.R, n.G, n.B, n.A}
}

// A Finish says why a reply ended.
type Finish string

// The finish reasons that matter to a reader of replies. Any other value is a
// provider's own word, kept as it came.
const (
	FinishStop          Finish = "stop"
	FinishLength        Finish = "length" // cut at the output cap
	FinishContentFilter Finish = "content_filter"
	FinishRefusal       Finish = "refusal" // the provider says that the model declined

	// Ends that a client made of a reply that it streamed.
	FinishDone    Finish = "done"    // all that was asked for had been said (Request.Done)
	FinishRepeats Finish = "repeats" // the text only repeated itself (Repeats)
)

// A Reply is what a model answered.
type Reply struct {
	Text      string
	Reasoning string // thinking that came apart from the text
	Finish    Finish
	Usage     Usage
	Model     string // the name that the server reported, if any
	// Booleans are the JSON booleans in Text with the probabilities behind
	// them, in the order in which they are there; only where they were asked
	// for and the server gives them.
	Booleans []record.Boolean
	// Timings are the server's own measures of the call, where it gives them.
	Timings *record.Timings `json:",omitempty"`
	// Besides is what a further request took without which the answer could not
	// be told from a wrong one; nil when there was none.
	Besides *Usage `json:",omitempty"`
	// Took is how long a call took that was made before; 0 for one of now.
	Took time.Duration
	// Batch is the provider's name of the batch that the answer came in; empty for
	// a call of its own.
	Batch string `json:",omitempty"`
}

// AnsweredInReasoning reports whether the text is the model's reasoning: some
// servers take a whole answer for thinking. A client that finds no text and an
// answer in the reasoning makes it the text as well, and so a stored call still
// tells; the reading then has RepairReasoning.
func (r *Reply) AnsweredInReasoning() bool { return r.Text != "" && r.Text == r.Reasoning }

// Usage counts tokens; nil means that the server did not say.
type Usage struct {
	InputTokens      *int // all of the prompt, also what was read from or written to a cache
	CachedTokens     *int // of these, read from the provider's cache
	CacheWriteTokens *int // of these, written to it
	OutputTokens     *int // all that was written, thinking as well
	ReasoningTokens  *int // of these, thinking
}
