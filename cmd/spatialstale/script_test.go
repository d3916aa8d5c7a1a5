package main

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spatialstale/spatialstale/llm/llmtest"
)

// scriptCommands are those that scripts have besides testscript's own.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"serve":    serveModels,
	"paidonce": paidOnce,
	"waitfor":  waitFor,
}

// serveModels is serve VARIABLE BATCH-TIME [FAULTS]; it starts a rehearsal server until the end of
// the script, and puts its address into a variable.
func serveModels(ts *testscript.TestScript, _ bool, args []string) {
	time, err := time.ParseDuration(args[1])
	ts.Check(err)
	o := llmtest.Options{BatchTime: time}
	if len(args) > 2 {
		o.Faults, err = llmtest.Script(args[2])
		ts.Check(err)
	}
	s, err := llmtest.Listen("127.0.0.1:0", o)
	ts.Check(err)
	ts.Defer(func() { s.Close() })
	scriptServers.Store(s.URL, s)
	ts.Setenv(args[0], s.URL)
}

// scriptServers are the servers of scripts by their addresses.
var scriptServers sync.Map

// paidOnce is paidonce URL CALLS; it fails if a server has not answered so many
// calls, each once.
func paidOnce(ts *testscript.TestScript, _ bool, args []string) {
	s, ok := scriptServers.Load(args[0])
	if !ok {
		ts.Fatalf("there is no server at %s", args[0])
	}
	if n := llmtest.Count(s.(*llmtest.Server).Entries()); fmt.Sprint(n.Distinct) != args[1] || n.Repeated > 0 {
		ts.Fatalf("%d calls were answered, %d of them again; want %s", n.Distinct, n.Repeated, args[1])
	}
}

// waitFor is waitfor FILE TEXT; it waits until a file has a text.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for range 600 {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && bytes.Contains(text, []byte(args[1])) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("after 30 s there is no %q in %s", args[1], args[0])
}
