package llmtest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fault is what goes wrong with an answer. The empty one is none.
type Fault string

// The faults.
const (
	RateLimit     Fault = "429"          // too many requests, Retry-After in seconds
	RateLimitDate Fault = "429-date"     // the same, Retry-After as a date
	RateLimitMS   Fault = "429-ms"       // the same, retry-after-ms
	Overloaded    Fault = "529"          // overloaded, Retry-After in seconds
	Failure       Fault = "500"          // an error in JSON
	BadGateway    Fault = "502"          // an error as a web page
	Quota         Fault = "quota"        // 429, but the account has nothing left
	BadKey        Fault = "bad-key"      // 401
	NoModel       Fault = "no-model"     // 404, no such model
	TooLong       Fault = "too-long"     // 400, the prompt does not fit
	Hang          Fault = "hang"         // no answer at all
	Silence       Fault = "silence"      // half of the body, then nothing more
	Trickle       Fault = "trickle"      // the answer, a byte at a time
	Reset         Fault = "reset"        // the connection is reset before the answer
	Cut           Fault = "cut"          // the connection ends in the middle of the body
	CutJSON       Fault = "cut-json"     // half of the body as if it were all
	Page          Fault = "html"         // a web page with status 200
	Gzip          Fault = "gzip"         // nothing wrong: the answer is compressed
	ErrorObject   Fault = "error-object" // status 200 with an error in it
	NoChoices     Fault = "no-choices"   // an empty list of choices
	NullContent   Fault = "null-content" // a message without content
	Length        Fault = "length"       // half of the reply, cut at the output cap
	Filter        Fault = "filter"       // stopped by the content filter
	Expire        Fault = "expire"       // in a batch: it runs out of time before this call
	Missing       Fault = "missing"      // in a batch: no word on this call
	Endless       Fault = "endless"      // the reply again and again, up to the cap; in a stream beyond it
)

// Faults lists them all.
var Faults = []Fault{
	RateLimit, RateLimitDate, RateLimitMS, Overloaded, Failure, BadGateway, Quota, BadKey, NoModel, TooLong, Hang, Silence, Trickle,
	Reset, Cut, CutJSON, Page, Gzip, ErrorObject, NoChoices, NullContent, Length, Filter, Endless, Expire, Missing,
}

// Answers reports whether a whole and usable reply leaves the server, one that
// was cut or filtered among them.
func (f Fault) Answers() bool { return f == "" || f == Gzip || f == Trickle || f.Lasting() }

// Lasting reports whether the fault is one of the reply itself, so that asking
// again does not help.
func (f Fault) Lasting() bool { return f == Length || f == Filter || f == Endless }

// Script reads a script of faults: probabilities by name, such as
// "429=0.1,500=0.05,hang=0.01". With seed=N the same calls fail at the same
// attempts, in any order and at any concurrency; with first=N only the first N
// attempts of a call can fail. A lasting fault is drawn once for a call, every
// other one again for each attempt. An empty script is no fault.
func Script(spec string) (func(Asked) Fault, error) {
	s := script{first: -1}
	for _, item := range strings.Split(spec, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, value, _ := strings.Cut(item, "=")
		switch name {
		case "seed":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("faults: %s: want a whole number", item)
			}
			s.seed = n
		case "first":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("faults: %s: want a whole number", item)
			}
			s.first = n
		default:
			if !slices.Contains(Faults, Fault(name)) {
				return nil, fmt.Errorf("faults: there is no %q; there are %s, and seed and first", name, listFaults())
			}
			p, err := strconv.ParseFloat(value, 64)
			if err != nil || !(p >= 0 && p <= 1) {
				return nil, fmt.Errorf("faults: %s: want a probability, as in %s=0.1", item, name)
			}
			list := &s.passing
			if Fault(name).Lasting() {
				list = &s.lasting
			}
			*list = append(*list, chance{Fault(name), p})
		}
	}
	for _, list := range [][]chance{s.passing, s.lasting} {
		sum := 0.
		for _, c := range list {
			sum += c.p
		}
		if sum > 1+1e-9 {
			return nil, fmt.Errorf("faults: the probabilities sum to %.3g, more than 1", sum)
		}
	}
	return s.choose, nil
}

func listFaults() string {
	names := make([]string, len(Faults))
	for i, f := range Faults {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}

type script struct {
	seed    uint64
	first   int // -1 for any attempt
	passing []chance
	lasting []chance
}

type chance struct {
	fault Fault
	p     float64
}

func (s *script) choose(a Asked) Fault {
	if s.first < 0 || a.Attempt <= s.first {
		if f := s.draw(s.passing, a.ID, a.Attempt); f != "" {
			return f
		}
	}
	return s.draw(s.lasting, a.ID, 0)
}

// draw picks one of the faults, or none, by its own throw for each call and
// attempt.
func (s *script) draw(list []chance, id string, attempt int) Fault {
	if len(list) == 0 {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", s.seed, attempt, id))
	u := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
	for _, c := range list {
		if u < c.p {
			return c.fault
		}
		u -= c.p
	}
	return ""
}
