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

// notShort skips a test that runs the command over and over, or only prints. A
// check under the race detector, eight times slower, is short.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: not in a short run")
	}
}

// TestScripts runs the command as a user does. A short run has those in which
// much happens at once.
func TestScripts(t *testing.T) {
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		dir = ""
		for _, name := range []string{"run", "resume", "progress", "givenup", "replay"} {
			files = append(files, "testdata/script/"+name+".txtar")
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		UpdateScripts:       *update,
		Cmds:                scriptCommands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			return nil
		},
	})
}
