package provider

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
)

// Bounds of what is kept of a server's words.
const (
	maxHeard = 2000 // bytes that are looked at
	maxWords = 300  // characters that are kept
)

// echoed is the length in bytes from which on a piece of a server's words that
// is also in the prompt is taken for an echo of it.
const echoed = 16

// words returns what a server said, fit for an error: one line of at most 300
// characters, without secrets and without what the prompt holds. Servers echo
// both.
func words(said string, secrets []string, req *llm.Request) string {
	said = strings.ToValidUTF8(said[:min(len(said), maxHeard)], "")
	for _, secret := range secrets {
		said = hideSecret(said, secret)
	}
	said = dataURL.ReplaceAllString(said, "[data]")
	said = longRun.ReplaceAllString(said, "[data]")
	if req != nil {
		said = hideEcho(said, req)
	}
	said = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, said)
	said = strings.Join(strings.Fields(said), " ")
	if runes := []rune(said); len(runes) > maxWords {
		said = string(runes[:maxWords-1]) + "…"
	}
	return said
}

var (
	dataURL = regexp.MustCompile(`data:[a-z]+/[a-z.+-]+;base64,[A-Za-z0-9+/=_\\-]*`)
	longRun = regexp.MustCompile(`[A-Za-z0-9+/=_-]{120,}`)
	tokens  = regexp.MustCompile(`[A-Za-z0-9_\-.*…•]{7,}[A-Za-z0-9_\-*…•]`)
)

const hidden = "[credential]"

// hideSecret takes a secret out of a text: as it is, as it is escaped, and as
// servers show it in part, such as "sk-ab***xyz".
func hideSecret(text, secret string) string {
	if secret == "" {
		return text
	}
	if len(secret) < 8 {
		// Hardly a secret, and it may be part of a word. Twice, because two that
		// are side by side share what is between them.
		alone := regexp.MustCompile(`(^|[^A-Za-z0-9])` + regexp.QuoteMeta(secret) + `($|[^A-Za-z0-9])`)
		for range 2 {
			text = alone.ReplaceAllString(text, "${1}"+hidden+"${2}")
		}
		return text
	}
	for _, form := range formsOf(secret) {
		text = strings.ReplaceAll(text, form, hidden)
	}
	return tokens.ReplaceAllStringFunc(text, func(token string) string {
		masked := strings.ContainsAny(token, "*…•") || strings.Contains(token, "..")
		head, tail := commonPrefix(token, secret), commonSuffix(token, secret)
		if head >= 8 || tail >= 8 || masked && (head >= 2 || tail >= 2) {
			return hidden
		}
		return token
	})
}

// formsOf returns a secret as it is and as servers may encode it, the longer of
// two forms first where one begins the other.
func formsOf(secret string) []string {
	forms := []string{secret, inner(string(Compact(secret))), inner(strconv.Quote(secret))}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		forms = append(forms, escaped, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	for _, format := range []string{"%%%02x", "%%%02X", `\u%04x`, `\u%04X`, `\\u%04x`, `\\u%04X`, `\x%02x`, "&#%d;", "&#x%x;", "&#x%X;"} {
		forms = append(forms, eachByte(secret, format, ""))
	}
	for _, plain := range []string{secret, ":" + secret, secret + ":"} { // a user or a password left out
		for _, b := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, b.EncodeToString([]byte(plain)))
		}
	}
	forms = append(forms, inBase64(secret)...)
	for _, format := range []string{"%02x", "%02X"} {
		for _, between := range []string{"", ":", " ", "-"} {
			forms = append(forms, eachByte(secret, format, between))
		}
	}
	return forms
}

func eachByte(s, format, between string) string {
	all := make([]string, len(s))
	for i := range len(s) {
		all[i] = fmt.Sprintf(format, s[i])
	}
	return strings.Join(all, between)
}

// inBase64 returns what a secret becomes in the middle of a longer text in
// base64, such as that of "Bearer KEY": the characters that are its alone, for
// each place at which it can begin.
func inBase64(secret string) []string {
	var forms []string
	for before := range 3 {
		text := append(make([]byte, before), secret...)
		from, to := (before*8+5)/6, len(text)*8/6
		for _, b := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if from < to {
				forms = append(forms, b.EncodeToString(text)[from:to])
			}
		}
	}
	return forms
}

// maxName bounds the names that are kept of a server, in characters.
const maxName = 200

// nameOf returns a name that a server gives to something, fit to be shown: one
// line, without what would steer a terminal.
func nameOf(said string) string {
	said = strings.ToValidUTF8(said[:min(len(said), 4*maxName)], "")
	var name []rune
	for _, r := range said {
		if unicode.IsPrint(r) && len(name) < maxName {
			name = append(name, r)
		}
	}
	return string(name)
}

// keyLength is the length in bytes from which on a secret is taken for a key
// that no model writes by chance.
const keyLength = 20

// hideWhole returns what takes keys out of the text of answers. A shorter secret,
// such as the EMPTY of a local server, may be a word that belongs there.
func hideWhole(secrets []string) *strings.Replacer {
	var pairs []string
	for _, secret := range secrets {
		if len(secret) < keyLength {
			continue
		}
		for _, form := range formsOf(secret) {
			pairs = append(pairs, form, hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// hideEcho takes out of a text what is also in the prompt, as it is or
// escaped as a string of JSON or of a program.
func hideEcho(text string, req *llm.Request) string {
	var all strings.Builder
	for i := range req.Parts {
		all.WriteString(req.Parts[i].Text())
	}
	prompt := all.String()
	forms := []string{prompt, string(Compact(prompt)), strconv.QuoteToASCII(prompt)}
	echo := make([]bool, len(text))
	for i := 0; i+echoed <= len(text); i++ {
		for _, form := range forms {
			if strings.Contains(form, text[i:i+echoed]) {
				for j := i; j < i+echoed; j++ {
					echo[j] = true
				}
				break
			}
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !echo[i]:
			out.WriteByte(text[i])
		case i == 0 || !echo[i-1]:
			out.WriteString("[prompt]")
		}
	}
	return strings.ToValidUTF8(out.String(), "")
}

// inner takes the quotes off.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
