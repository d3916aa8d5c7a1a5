package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledMethods kills a run of an auditor and a memory that are programs, and
// resumes it. It would fail if an answer that was stored were asked for again, or
// if the run were not whole.
func TestKilledMethods(t *testing.T) {
	dir := t.TempDir()
	ledger, script, study := filepath.Join(dir, "ledger"), filepath.Join(dir, "slow.sh"), filepath.Join(dir, "study.yaml")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(script, `while read -r request; do
	printf '%s\n' "$request" | grep -o '"id":"[^"]*"' >>"$1"
	sleep 0.02
	echo '{"judgments":[]}'
done
`)
	method := fmt.Sprintf("{exec: [sh, %q, %q], workers: 2}", script, ledger)
	write(study, "{base: quick, seeds: 2, models: ref/reader, detection: {modalities: text, detectors: {name: mine, auditor: "+method+"}},\n"+
		"navigation: {episodes: 2, strategies: [{name: mine, auditor: "+method+"}, {name: keeper, memory: "+method+"}]}}\n")
	asked := func() []string {
		text, _ := os.ReadFile(ledger) // not there before the first request
		return strings.Fields(string(text))
	}
	out := filepath.Join(dir, "run")
	cmd := command(t, "run", study, "--out", out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); len(asked()) < 40 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	before := len(asked())
	for _, args := range [][]string{{"resume", out}, {"check", out}} {
		if text, err := command(t, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
	}
	times := map[string]int{}
	again := 0
	for _, id := range asked() {
		if times[id]++; times[id] > 1 {
			again++
		}
	}
	const underWay = 4 // two methods, two requests each
	if before < 40 || len(times) < before+40 || again > underWay {
		t.Errorf("%d requests before the kill, %d in all; %d were made again, of which at most %d were under way", before, len(times), again, underWay)
	}
}
