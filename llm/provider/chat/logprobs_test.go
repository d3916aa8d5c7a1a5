package chat

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// tokenJSON writes a token as OpenAI, llama.cpp and vLLM do. The others come as
// text and logarithm in turns.
func tokenJSON(text string, p float64, others ...any) string {
	var top []string
	for i := 0; i < len(others); i += 2 {
		top = append(top, fmt.Sprintf(`{"token":%s,"logprob":%v,"bytes":%s}`, quoted(others[i].(string)), others[i+1], bytesOf(others[i].(string))))
	}
	return fmt.Sprintf(`{"token":%s,"logprob":%v,"bytes":%s,"top_logprobs":[%s]}`, quoted(text), p, bytesOf(text), strings.Join(top, ","))
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func bytesOf(s string) string {
	numbers := make([]string, len(s))
	for i := range len(s) {
		numbers[i] = fmt.Sprint(s[i])
	}
	return "[" + strings.Join(numbers, ",") + "]"
}

func contentJSON(tokens ...string) string { return `{"content":[` + strings.Join(tokens, ",") + `]}` }

func plain(text string) string { return tokenJSON(text, -0.1, text, -0.1) }

func parse(t interface{ Fatal(...any) }, logprobs string) provider.Tokens {
	v, err := provider.Parse([]byte(logprobs))
	if err != nil {
		t.Fatal(err, logprobs)
	}
	return tokens(v)
}

func show(booleans []record.Boolean) string {
	var b strings.Builder
	for _, x := range booleans {
		fmt.Fprintf(&b, "%d", x.At)
		for _, p := range []*float64{x.True, x.False} {
			if p == nil {
				b.WriteString(" -")
			} else {
				fmt.Fprintf(&b, " %.3f", *p)
			}
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// Would fail if a boolean were given the probabilities of another token, if
// spellings of one boolean were not added up, or if a server's odd shape broke
// the reader.
func TestBooleans(t *testing.T) {
	head := plain(`{"is_stale":`)
	ln := math.Log
	for _, c := range []struct{ name, text, logprobs, want string }{
		{"a token with a space", `{"is_stale": true}`, contentJSON(head, tokenJSON(" true", ln(0.75), " true", ln(0.75), " false", ln(0.25)), plain("}")), "13 -0.288 -1.386"},
		{"with what follows", `{"is_stale":true}`, contentJSON(head, tokenJSON("true}", ln(0.5), "true}", ln(0.5), "false", ln(0.25), "false}", ln(0.25))), "12 -0.693 -0.693"},
		{"spellings are added up", `{"is_stale": false}`, contentJSON(head, tokenJSON(" false", ln(0.5), " false", ln(0.5), " False", ln(0.125), "\nfalse", ln(0.125), " true", ln(0.2), " \"", ln(0.05)), plain("}")), "13 -1.609 -0.288"},
		{"in several tokens", `{"is_stale": true}`, contentJSON(head, plain(" "), tokenJSON("tr", ln(0.5), "tr", ln(0.5), "f", ln(0.25)), tokenJSON("ue", -0.001, "ue", -0.001, "false", -7), plain("}")), "13 -0.693 -1.386"},
		{"not among the likeliest", `{"is_stale": true}`, contentJSON(head, tokenJSON(" true", ln(0.25), " false", ln(0.5)), plain("}")), "13 -1.386 -0.693"},
		{"one of the two", `{"is_stale": true}`, contentJSON(head, tokenJSON(" true", -0.001, " true", -0.001, " null", -8), plain("}")), "13 -0.001 -"},
		{"no alternatives", `{"is_stale": true}`, contentJSON(head, tokenJSON(" true", -0.001), plain("}")), "13 -0.001 -"},
		{"Python's", `{'is_stale': True}`, contentJSON(plain(`{'is_stale':`), tokenJSON(" True", ln(0.5), " True", ln(0.5), " False", ln(0.5)), plain("}")), "13 -0.693 -0.693"},
		{"two", `[{"a":true},{"a":false}]`, contentJSON(plain(`[{"a":`), tokenJSON("true", -0.5, "false", -1), plain(`},{"a":`), tokenJSON("false", -0.25, "true", -2), plain(`}]`)), "6 -0.500 -1.000; 17 -2.000 -0.250"},
		{"words that only look like it", `true: {"a": "true", "b": truer, "c": untrue}`, contentJSON(plain(`true: {"a": "true", "b": truer, "c": untrue}`)), ""},
		{"another word as alternative", `{"is_stale": true}`, contentJSON(head, tokenJSON(" true", ln(0.5), " true", ln(0.5), " truely", ln(0.25), " falsely", ln(0.125), " ", -3), plain("}")), "13 -0.693 -"},
		{"thinking and an end mark beside the text", `{"is_stale": true}`, contentJSON(plain("so it is_stale: true"), plain("</think>\n"), head, tokenJSON(" true", -0.5, " false", -1), plain("}"), plain("<eos>")), "13 -0.500 -1.000"},
		{"the text twice", `a: true`, contentJSON(plain("a: true"), plain("</think>"), plain("a: true")), ""},
		{"not the text", `{"is_stale": true}`, contentJSON(plain("something else: true")), ""},
		{"half a character each", `{"é": true}`, contentJSON(plain("{\""), `{"token":"\ufffd","bytes":[195],"logprob":-1}`, `{"token":"\ufffd","bytes":[169],"logprob":-1}`, plain(`":`), tokenJSON(" true", -0.5, " false", -1), plain("}")), "7 -0.500 -1.000"},
		{"without bytes", `{"a": true}`, `{"content":[{"token":"{\"a\":","logprob":-1,"bytes":null},{"token":" true","logprob":-0.5,"top_logprobs":[{"token":" false","logprob":-1}]},{"token":"}","logprob":0}]}`, "6 -0.500 -1.000"},
		{"likeliest as an object", `{"a": true}`, `{"content":[{"token":"{\"a\":"},{"token":" true","logprob":-0.5,"top_logprobs":{" true":-0.5," false":-1}},{"token":"}"}]}`, "6 -0.500 -1.000"},
		{"lists side by side", `{"a": true}`, `{"tokens":["{\"a\":"," true","}"],"token_logprobs":[null,-0.5,-1],"top_logprobs":[null,{" true":-0.5," false":-1},{}],"text_offset":[0,5,10]}`, "6 -0.500 -1.000"},
		{"lists of different lengths", `{"a": true}`, `{"tokens":["{\"a\":"," true","}"],"token_logprobs":[-1,-0.5]}`, "6 -0.500 -"},
		{"no probability", `{"a": true}`, `{"content":[{"token":"{\"a\":"},{"token":" true","logprob":-9999,"top_logprobs":[{"token":" false","logprob":null}]},{"token":"}"}]}`, ""},
		{"numbers that are none", `{"a": true}`, `{"content":[{"token":"{\"a\":"},{"token":" true","logprob":"-1","top_logprobs":[{"token":" true","logprob":3},{"token":" false","logprob":-3.4e38},7]},{"token":"}"}]}`, ""},
		{"rounded above one", `{"a": true}`, `{"content":[{"token":"{\"a\":"},{"token":" true","logprob":1e-7},{"token":"}"}]}`, "6 0.000 -"},
		{"infinitely unlikely", `{"a": true}`, `{"content":[{"token":"{\"a\":","logprob":-Infinity},{"token":" true","logprob":-0.5,"top_logprobs":[{"token":" false","logprob":-Infinity},{"token":"-Infinity","logprob":NaN}]},{"token":"}","logprob":0}]}`, "6 -0.500 -"},
		{"null", `{"a": true}`, `null`, ""},
		{"a list", `{"a": true}`, `[1,2]`, ""},
		{"empty", `{"a": true}`, `{"content":[]}`, ""},
		{"a token that is none", `{"a": true}`, `{"content":["{\"a\":",{"token":" true","logprob":-0.5}]}`, ""},
		{"no text", ``, contentJSON(plain("a: true")), ""},
	} {
		if got := show(parse(t, c.logprobs).Booleans(c.text)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Would fail if any way to cut a reply into tokens moved a boolean or gave it
// the probabilities of another: each boolean's tokens carry its own number.
func TestBooleansInAnyTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var at []int
		for range rapid.IntRange(1, 5).Draw(t, "booleans") {
			text.WriteString(rapid.SampledFrom([]string{`{"é":`, `, "x": "true", "b": `, `“…”: `, "\n:\t", `nontrue:`}).Draw(t, "before"))
			at = append(at, text.Len())
			text.WriteString(rapid.SampledFrom([]string{"true", "false", "True", "False"}).Draw(t, "value"))
			text.WriteString(rapid.SampledFrom([]string{"}", ", ", "\n", " 日本"}).Draw(t, "after"))
		}
		reply := text.String()
		var tokens []string
		var starts []int
		for from := 0; from < len(reply); {
			n := rapid.IntRange(1, 9).Draw(t, "length")
			to := min(from+n, len(reply))
			piece := reply[from:to]
			// Its logprob says where it begins.
			tokens = append(tokens, fmt.Sprintf(`{"token":%s,"bytes":%s,"logprob":-%d}`, quoted(piece), bytesOf(piece), from+1))
			starts = append(starts, from)
			from = to
		}
		l := parse(t, contentJSON(tokens...))
		owner := func(at int) int {
			for i := len(starts) - 1; ; i-- {
				if starts[i] <= at {
					return starts[i]
				}
			}
		}
		next := 0
		for _, b := range l.Booleans(reply) {
			for next < len(at) && at[next] < b.At {
				next++
			}
			if next == len(at) || at[next] != b.At {
				t.Fatalf("a boolean at %d of %q", b.At, reply)
			}
			own, other := b.True, b.False
			if strings.EqualFold(reply[b.At:b.At+1], "f") {
				own, other = b.False, b.True
			}
			if other != nil || own == nil || math.Abs(*own+float64(owner(b.At)+1)) > 1e-9 {
				t.Fatalf("at %d of %q: %s", b.At, reply, show([]record.Boolean{b}))
			}
		}
		if got := len(l.Booleans(reply)); got != len(at) {
			t.Fatalf("%d booleans of %d in %q", got, len(at), reply)
		}
	})
}

var boolean = regexp.MustCompile(`^(?:[tT]rue|[fF]alse)(?:[^_0-9A-Za-z]|$)`)

// FuzzLogprobs would fail if log-probabilities broke the reader, or gave a
// boolean that is none, none of the two, or no logarithm of a probability.
func FuzzLogprobs(f *testing.F) {
	f.Add([]byte(contentJSON(plain(`{"a":`), tokenJSON(" true", -0.5, " false", -1), plain("}"))), `{"a": true}`)
	f.Add([]byte(`{"tokens":["a:"," true"],"token_logprobs":[null,-0.5],"top_logprobs":[null,{" false":-1}]}`), `a: true`)
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		v, err := provider.Parse(raw)
		if err != nil {
			return
		}
		last := -1
		for _, b := range tokens(v).Booleans(text) {
			if b.At <= last || b.At >= len(text) || !boolean.MatchString(text[b.At:]) {
				t.Fatalf("a boolean at %d of %q", b.At, text)
			}
			last = b.At
			for _, p := range []*float64{b.True, b.False} {
				if p != nil && !(*p <= 0 && !math.IsInf(*p, 0)) {
					t.Fatalf("the logarithm %v", *p)
				}
			}
			if b.True == nil && b.False == nil {
				t.Fatal("neither")
			}
		}
	})
}
