package llmtest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// An Entry of the ledger is one answered request.
type Entry struct {
	// ID identifies the call: the first 16 bytes of the SHA-256 over the call's
	// name and the request's body, in hexadecimal.
	ID      string `json:"id"`
	Call    string `json:"call,omitempty"`  // trial and slot, where the client says (llm.CallHeader)
	Body    string `json:"body"`            // the same over the body alone
	Model   string `json:"model,omitempty"` // the control that was asked
	Attempt int    `json:"attempt"`         // how often the call has been asked, from 1
	Status  int    `json:"status"`          // of the answer; 0 for none
	Fault   Fault  `json:"fault,omitempty"` // what went wrong; empty when nothing did
}

// Answered reports whether a whole reply left the server, which a provider
// would charge for.
func (e *Entry) Answered() bool { return e.Status == 200 && e.Fault.Answers() }

// Totals count the entries of a ledger.
type Totals struct {
	Asked    int // requests
	Answered int // of them, those with a whole reply
	Distinct int // calls that got one, each counted once
	Repeated int // further replies to calls that had one already
}

// Count counts a ledger.
func Count(entries []Entry) Totals {
	t := Totals{Asked: len(entries)}
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if !e.Answered() {
			continue
		}
		t.Answered++
		if !seen[e.ID] {
			seen[e.ID] = true
			t.Distinct++
		} else {
			t.Repeated++
		}
	}
	return t
}

// ReadLedger reads the file of a ledger, which another process may be writing:
// an unfinished last line is left out.
func ReadLedger(file string) ([]Entry, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLedger(f, file)
}

func readLedger(r io.Reader, file string) ([]Entry, error) {
	var entries []Entry
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s:%d: no entry of a ledger: %w", file, n, err)
		}
		entries = append(entries, e)
	}
}

// A ledger keeps entries in memory and, if it has one, in a file.
type ledger struct {
	mu      sync.Mutex
	asked   map[[16]byte]int
	entries []Entry
	file    *os.File
}

func openLedger(file string) (*ledger, error) {
	l := &ledger{asked: map[[16]byte]int{}}
	if file == "" {
		return l, nil
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	past, err := readLedger(f, file)
	if err == nil {
		err = endLine(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for i := range past {
		if id, err := hex.DecodeString(past[i].ID); err == nil && len(id) == 16 {
			l.asked[[16]byte(id)]++
		}
	}
	l.file = f
	return l, nil
}

// endLine takes off what a killed server left of a line.
func endLine(f *os.File) error {
	all, err := os.ReadFile(f.Name())
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return f.Truncate(int64(bytes.LastIndexByte(all, '\n') + 1))
}

// ask begins the entry of a request.
func (l *ledger) ask(call string, body []byte) Entry {
	id := sum([]byte(call), []byte{0}, body)
	bodySum := sum(body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[id]++
	return Entry{ID: hex.EncodeToString(id[:]), Call: call, Body: hex.EncodeToString(bodySum[:]), Attempt: l.asked[id]}
}

func sum(pieces ...[]byte) [16]byte {
	h := sha256.New()
	for _, p := range pieces {
		h.Write(p)
	}
	return [16]byte(h.Sum(nil))
}

// add adds an entry. The line is written when it returns, in one piece, so that
// it survives the end of this process.
func (l *ledger) add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		if _, err := l.file.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	l.entries = append(l.entries, e)
	return nil
}

func (l *ledger) all() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	return err
}
