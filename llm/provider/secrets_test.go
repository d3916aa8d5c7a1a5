package provider

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm"
)

func TestWords(t *testing.T) {
	req := &llm.Request{Parts: []llm.Part{
		llm.Text("Row 0: (0,0)=S (0,1)=F \"quoted\" …\nRow 1: (1,0)=F (1,1)=H\n"), llm.Text("Which way do you go from here?"),
	}}
	const key = "sk-proj-AbCdEfGhIjKlMnOp1234"
	for _, c := range []struct{ name, said, want string }{
		{"plain", "Rate limit reached.\n  Try again. ", "Rate limit reached. Try again."},
		{"key", "key " + key + " is wrong", "key [credential] is wrong"},
		{"key, twice", key + key, "[credential][credential]"},
		{"key in JSON", `{"Authorization":"Bearer ` + key + `"}`, `{"Authorization":"Bearer [credential]"}`},
		{"masked", "Incorrect API key provided: sk-pr***********1234. Find it", "Incorrect API key provided: [credential]. Find it"},
		{"masked end", "your key **********1234", "your key [credential]"},
		{"masked by dots", "your key: sk-...1234", "your key: [credential]"},
		{"beginning", "key sk-proj-AbCdEfG is short", "key [credential] is short"},
		{"other key", "model sk-other-model not found", "model sk-other-model not found"},
		{"prompt", "bad input: Row 0: (0,0)=S (0,1)=F!", "bad input: [prompt]!"},
		{"prompt over parts", "input: (1,0)=F (1,1)=H\nWhich way do you go", "input[prompt]"},
		{"prompt in JSON", `input: "(0,1)=F \"quoted\" …\nRow 1: (1,0)"`, `input: "[prompt]"`},
		{"prompt in ASCII", `input: '(0,1)=F \"quoted\" \u2026\nRow 1: (1,0)'`, `input: '[prompt]'`},
		{"picture", "bad url data:image/png;base64,iVBORw0KGgo/+AA== here", "bad url [data] here"},
		{"control characters", "a\x00b\x1b[31mc\u202ed", "ab[31mcd"},
		{"no text", "a\xff\xfeb", "ab"},
	} {
		if got := words(c.said, []string{key}, req); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := words(strings.Repeat("word ", 1000), nil, nil); utf8.RuneCountInString(got) != maxWords || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters: %s", utf8.RuneCountInString(got), got)
	}
	for _, short := range []struct{ secret, said, want string }{
		{"none", "none, none; nonesuch", "[credential], [credential]; nonesuch"},
		{"x", "x x xylophone x", "[credential] [credential] xylophone [credential]"},
	} {
		if got := words(short.said, []string{short.secret}, nil); got != short.want {
			t.Errorf("%q", got)
		}
	}
}

// Would fail if any way of echoing a key, or of wrapping it in words, let it
// through.
func TestNoSecretInWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9_.+/=" \\&%-]{8,60}`).Draw(t, "key")
		echo := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s },
			strconv.Quote,
			func(s string) string {
				b, _ := json.Marshal(map[string]string{"Authorization": "Bearer " + s})
				return string(b)
			},
			func(s string) string { return "Bearer " + s + "." },
		}).Draw(t, "echo")
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		got := words(before+echo(key)+after, []string{key}, nil)
		if clean := strings.Join(strings.Fields(key), " "); strings.Contains(got, clean) && !strings.Contains(hidden, clean) && !strings.Contains(before+after, clean) {
			t.Fatalf("%q shows %q", got, key)
		}
	})
}

// A key that a server echoes in a coded form is as good as the key.
func TestNoCodedSecretInWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9_.+/=&%-]{12,60}`).Draw(t, "key")
		code := rapid.SampledFrom([]func(string) string{
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
			func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte(":" + s)) },
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s + ":")) },
			func(s string) string { return hex.EncodeToString([]byte(s)) },
			func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte("Bearer " + s)) },
			func(s string) string { return base64.URLEncoding.EncodeToString([]byte("x" + s + "yz")) },
			func(s string) string { return eachByte(s, `\\u%04x`, "") },
			func(s string) string { return eachByte(s, "%%%02X", "") },
			func(s string) string { return eachByte(s, "&#%d;", "") },
			func(s string) string { return eachByte(s, "%02x", ":") },
			url.QueryEscape,
			func(s string) string {
				return regexp.MustCompile(`%[0-9A-F]{2}`).ReplaceAllStringFunc(url.QueryEscape(s), strings.ToLower)
			},
		}).Draw(t, "code")
		if got := words("you sent <"+code(key)+">", []string{key}, nil); strings.Contains(got, code(key)) || strings.Contains(got, "%2") {
			t.Fatalf("%q shows %q", got, code(key))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 8, 6, 10, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		ms, after, date string
		want            time.Duration
	}{
		{"", "", "", 0},
		{"", "30", "", 30 * time.Second},
		{"", "0.25", "", 250 * time.Millisecond},
		{"1500", "30", "", 1500 * time.Millisecond},
		{"x", "30", "", 30 * time.Second},
		{"", "-5", "", 0},
		{"", "NaN", "", 0},
		{"", "1e300", "", longestAsk},
		{"", "Inf", "", longestAsk},
		{"", "soon", "", 0},
		{"", date(90 * time.Second), "", 90 * time.Second},
		{"", date(90 * time.Second), date(60 * time.Second), 30 * time.Second}, // their clock is ahead
		{"", date(-time.Hour), "", 0},
		{"", date(1000 * 24 * time.Hour), "", longestAsk},
	} {
		h := http.Header{}
		for name, value := range map[string]string{"retry-after-ms": c.ms, "Retry-After": c.after, "Date": c.date} {
			if value != "" {
				h.Set(name, value)
			}
		}
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%v: %v, want %v", h, got, c.want)
		}
	}
}
