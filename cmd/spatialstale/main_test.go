package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// asCommand is set in the environment of a test binary that is to be the
// command.
const asCommand = "SPATIALSTALE_TEST_AS_COMMAND"

var update = flag.Bool("update", false, "rewrite the golden output in the scripts")

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main() // a test has started itself as the command
	}
	testscript.Main(m, map[string]func(){
		"spatialstale": func() {
			main()
		},
	})
}

// TestScripts runs the command as a user does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			return nil
		},
	})
}
