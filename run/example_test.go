package run_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// A program runs a study, hears what happens, and reads what came out.
func Example() {
	dir, _ := os.MkdirTemp("", "run")
	defer os.RemoveAll(dir)
	s, _ := study.Parse("{base: quick, seeds: 1, tasks: detect, models: ref/reader}")
	session, err := run.Start(context.Background(), s, run.Options{Dir: filepath.Join(dir, "mine")})
	if err != nil {
		log.Fatal(err)
	}
	for e := range session.Events(0) {
		if e.Kind == run.TrialEnded && e.Trial.Modality == "text" {
			fmt.Println(e)
		}
	}
	result, err := session.Wait()
	fmt.Println(result.Finished, "of", result.Planned, "trials, error", err)
	// Unordered output:
	// detect of ref/reader on seed 3492, L1, omcd: done
	// detect of ref/reader on seed 3492, L2, omcd: done
	// detect of ref/reader on seed 3492, L3, omcd: done
	// 6 of 6 trials, error <nil>
}
