// Package play lets a person walk the lake as a model does: what a model would be
// sent is shown, and what the person types is the answer. It is a method of a study
// (docs/methods.md), so that the walk is stored, resumed and reported like any
// other, and stands beside models: the human baseline.
//
// It refuses to show anything that a model cannot see.
package play

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Person answers steps at a terminal.
type Person struct {
	in    *bufio.Scanner
	out   io.Writer
	clear string // what clears the screen; "" where there is none

	mu     sync.Mutex // one step at a time
	path   string
	server *http.Server
	left   chan struct{} // closed when the person has had enough
	leave  sync.Once
}

// New returns a person who reads out and types into in. On a screen each step
// takes the place of the one before.
func New(in io.Reader, out io.Writer, screen bool) *Person {
	p := &Person{in: bufio.NewScanner(in), out: out, path: "/" + rand.Text(), left: make(chan struct{})}
	if screen {
		p.clear = "\x1b[0m" + strings.Repeat("\n", 40)
	}
	return p
}

// Left is closed when the person has typed that it is enough, or can type no more.
func (p *Person) Left() <-chan struct{} { return p.left }

// Serve answers steps at an address of the loopback that nobody can guess, until
// ctx ends.
func (p *Person) Serve(ctx context.Context) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go p.server.Serve(l)
	context.AfterFunc(ctx, func() { p.server.Close() })
	return "http://" + l.Addr().String() + p.path, nil
}

// A step is what an agent is asked (docs/methods.md).
type step struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Memory struct {
		View    string `json:"view"`
		Entries []struct {
			Text string `json:"text"`
		} `json:"entries"`
	} `json:"memory"`
	Observation struct {
		Modality string `json:"modality"`
		Text     string `json:"text"`
	} `json:"observation"`
	Step      int    `json:"step"`
	StepsLeft int    `json:"steps_left"`
	Position  [2]int `json:"position"`
	Goal      [2]int `json:"goal"`
	Rows      int    `json:"rows"`
	Cols      int    `json:"cols"`
}

// ServeHTTP answers one step.
func (p *Person) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != p.path {
		http.NotFound(w, r)
		return
	}
	var s step
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := map[string]any{"id": s.ID, "method": "a person"}
	if action, err := p.ask(&s); err != nil {
		answer["error"] = err.Error()
	} else {
		answer["action"] = action
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // who asked has gone
}

// keys are what can be typed for each action, besides its name.
var keys = map[string]string{
	"u": "UP", "w": "UP", "k": "UP", "d": "DOWN", "s": "DOWN", "j": "DOWN", "l": "LEFT", "a": "LEFT", "h": "LEFT", "r": "RIGHT",
	"up": "UP", "down": "DOWN", "left": "LEFT", "right": "RIGHT", "\x1b[a": "UP", "\x1b[b": "DOWN", "\x1b[c": "RIGHT", "\x1b[d": "LEFT",
}

// ErrLeft is why a step has no answer when the person has had enough.
var ErrLeft = errors.New("the person has left; play again with the same --out to go on")

// ask shows a step and returns what the person wants.
func (p *Person) ask(s *step) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.left:
		return "", ErrLeft
	default:
	}
	if s.Type != "act" || s.Observation.Text == "" {
		return "", fmt.Errorf("a person at a terminal answers steps in text, not %s in %s", s.Type, s.Observation.Modality)
	}
	fmt.Fprint(p.out, p.clear+p.show(s))
	for p.in.Scan() {
		said := strings.ToLower(strings.TrimSpace(p.in.Text()))
		if action, ok := keys[said]; ok {
			return action, nil
		}
		if said == "q" || said == "quit" {
			break
		}
		fmt.Fprint(p.out, "up, down, left or right, or the letter that it begins with; q to stop: ")
	}
	p.leave.Do(func() { close(p.left) })
	return "", ErrLeft
}

// show is a step as it is told.
func (p *Person) show(s *step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nStep %d, %d left. You are at (%d,%d), the goal is at (%d,%d).\n\n", s.Step, s.StepsLeft, s.Position[0], s.Position[1], s.Goal[0], s.Goal[1])
	switch {
	case s.Memory.View == "none" || len(s.Memory.Entries) == 0:
		b.WriteString("You remember nothing.\n")
	default:
		b.WriteString("You remember:\n")
		for _, e := range s.Memory.Entries {
			b.WriteString("  " + e.Text + "\n")
		}
	}
	b.WriteString("\nYou see:\n" + strings.TrimRight(s.Observation.Text, "\n") + "\n\nup, down, left or right? ")
	return b.String()
}
