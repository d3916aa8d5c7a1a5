package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A Text is a string of an answer, or empty where something else stands, so
// that a server's oddity does not spoil a reply that was paid for.
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = Text(s)
	}
	return nil
}

// A Count is a number of tokens in an answer; N is nil where nothing stands that
// can be one.
type Count struct{ N *int }

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	var f float64
	if bytes.Equal(b, []byte("null")) || json.Unmarshal(b, &f) != nil || f != math.Trunc(f) || f < 0 || f > 1e9 {
		return nil
	}
	n := int(f)
	c.N = &n
	return nil
}

// IsSet reports whether a member is there and not null.
func IsSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// A Malformed says what is wrong with an answer that cannot be read.
type Malformed string

// Error returns the text.
func (m Malformed) Error() string { return string(m) }

// Text returns the body without a byte order mark and the white space around
// it.
func (a *Answer) Text() []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(a.Body, []byte("\ufeff")))
}

// Unreadable says what an answer is that could not be decoded, where err is the
// decoder's and name what was awaited, such as "completion".
func (a *Answer) Unreadable(name string, err error) Malformed {
	body := a.Text()
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	switch {
	case len(body) == 0:
		return "an empty answer"
	case isPage(body):
		return Malformed("a web page in place of an answer" + pageTitle(body))
	case kind == "text/event-stream", bytes.HasPrefix(body, []byte("data:")), bytes.HasPrefix(body, []byte("event:")):
		return "a stream in place of an answer"
	case !utf8.Valid(body):
		return Malformed(fmt.Sprintf("an answer that is no text, of type %q", kind))
	}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return Malformed("an answer in JSON that is no " + name)
	}
	return Malformed(fmt.Sprintf("an answer that is not readable as JSON: %v", err))
}

func isPage(body []byte) bool {
	head := bytes.ToLower(body[:min(len(body), 200)])
	return bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html")) || bytes.HasPrefix(head, []byte("<head"))
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// pageTitle returns ", titled …" for a page that has a title.
func pageTitle(body []byte) string {
	m := title.FindSubmatch(body[:min(len(body), 4096)])
	if m == nil {
		return ""
	}
	return fmt.Sprintf(", titled %q", strings.TrimSpace(html.UnescapeString(string(m[1]))))
}
