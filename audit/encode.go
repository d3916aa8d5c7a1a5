package audit

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	"image/png"
	"maps"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
)

//go:embed prompts/audit.txt
var promptText string

// prompt returns the template that a judge.Auditor fills.
func prompt(policy Policy) string {
	correction, proposal := "", ""
	if policy == Correct {
		correction = `, "correction": "…"`
		proposal = "; correction is what a stale entry should say instead, as the observation shows it, and empty for any other entry"
	}
	return strings.NewReplacer("{{correction}}", correction, "{{proposal}}", proposal).Replace(promptText)
}

// Bounds on a picture: nothing that a model takes is larger.
const (
	maxImageBytes  = 20 << 20
	maxImagePixels = 50_000_000
)

// decoding holds as many pictures as are decoded at once, whoever audits: each
// takes eight bytes a pixel while it is, and a processor.
var decoding = make(chan struct{}, runtime.GOMAXPROCS(0))

// picture reads an image file, whose size in pixels is known before it is
// decoded. A file that is no PNG is made one.
func picture(ctx context.Context, file []byte) (llm.Part, error) {
	if len(file) > maxImageBytes {
		return llm.Part{}, fmt.Errorf("a picture of %d MB; the most is %d MB", len(file)>>20, maxImageBytes>>20)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return llm.Part{}, errors.New("a picture that is not a readable PNG, JPEG or GIF file")
	}
	if c.Width*c.Height > maxImagePixels {
		return llm.Part{}, fmt.Errorf("a picture of %d×%d pixels; the most is %d million", c.Width, c.Height, maxImagePixels/1_000_000)
	}
	select {
	case decoding <- struct{}{}:
		defer func() { <-decoding }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // also where both came at once
		return llm.Part{}, fmt.Errorf("a picture that was not read: %w", context.Cause(ctx))
	}
	img, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return llm.Part{}, fmt.Errorf("a picture that is not a readable %s file: %w", strings.ToUpper(format), err)
	}
	if format == "png" {
		return llm.Image(img, file), nil
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return llm.Part{}, err
	}
	return llm.Image(img, out.Bytes()), nil
}

func pictures(ctx context.Context, files [][]byte) ([]llm.Part, error) {
	var parts []llm.Part
	for _, file := range files {
		p, err := picture(ctx, file)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// quote writes a text as a JSON string in which every character is seen: those
// that are not printed, or change how others are, are escaped.
func quote(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(strings.ToValidUTF8(text, "\uFFFD")); err != nil {
		panic("audit: " + err.Error()) // a string can always be written
	}
	return visible(strings.TrimSuffix(b.String(), "\n"))
}

// visible escapes what is not seen, in the way of JSON.
func visible(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden reports whether a character is not seen, or changes how others are:
// control and format characters, among them those that turn the direction of
// writing, and tags. What joins letters in many scripts is none.
func hidden(r rune) bool {
	switch r {
	case '\u200c', '\u200d': // joiners
		return false
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// seen is an observation as it is put into prompts.
type seen struct {
	parts []llm.Part // without the line of the check
	text  bool       // there is text
}

// observe reads an observation.
func observe(ctx context.Context, o *Observation) (seen, error) {
	var b strings.Builder
	for line := range strings.Lines(normalLines(o.Text)) {
		b.WriteString("| " + visible(strings.TrimRight(line, "\n")) + "\n")
	}
	said := Facts(o.Text)
	for _, key := range slices.Sorted(maps.Keys(o.Facts)) {
		if said[factKey(key)] == o.Facts[key] { // the text has it
			continue
		}
		b.WriteString("| " + visible(oneLine.Replace(key+": "+o.Facts[key])) + "\n")
	}
	images, err := pictures(ctx, o.Images)
	if err != nil {
		return seen{}, fmt.Errorf("audit: the observation has %w", err)
	}
	if strings.TrimSpace(o.Text) == "" && len(o.Facts) == 0 && len(images) == 0 {
		return seen{}, errors.New("audit: the observation is empty; there is nothing to hold the memory against")
	}
	s := seen{parts: images}
	if b.Len() > 0 {
		s.parts, s.text = append(s.parts, llm.Text(b.String())), true
	}
	return s, nil
}

// normalLines makes every line break that a reader may see one.
func normalLines(text string) string {
	return lineBreaks.Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

var (
	lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	oneLine    = strings.NewReplacer("\r", " ", "\n", " ")
)

// with returns the parts of an observation with one more line.
func (s *seen) with(line string) []llm.Part {
	return append(slices.Clip(s.parts), llm.Text("| "+line+"\n"))
}

// writeEntries writes entries, each a line: its id, and its text as a JSON
// string. Pictures follow their line.
func writeEntries(entries []judge.Entry) []llm.Part {
	var parts []llm.Part
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, llm.Text(b.String()))
			b.Reset()
		}
	}
	for i := range entries {
		b.WriteString("[" + entries[i].ID + "]")
		for _, p := range entries[i].Parts {
			if !p.IsImage() {
				b.WriteString(" " + p.Text())
			}
		}
		b.WriteByte('\n')
		for _, p := range entries[i].Parts {
			if p.IsImage() {
				flush()
				parts = append(parts, p)
			}
		}
	}
	flush()
	return parts
}
