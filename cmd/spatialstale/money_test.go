package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
)

// outcome runs a command to its end, here.
func outcome(args ...string) (code int, said string) {
	var stderr bytes.Buffer
	code = execute(args, env{ctx: context.Background(), stdout: io.Discard, stderr: &stderr, now: time.Now})
	return code, stderr.String()
}

// priceFile writes a list with one price.
func priceFile(t *testing.T, model, price string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "date: 2026-01-01\nmodels:\n  %s: %s\n", model, price), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// billed is what the stored calls of a run cost, worked out anew.
func billed(t *testing.T, dir string, rateIn, rateOut float64) (dollars float64, calls int) {
	t.Helper()
	stored, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	for c, err := range stored.Calls() {
		if err != nil {
			t.Fatal(err)
		}
		dollars += (float64(*c.InputTokens)*rateIn + float64(*c.OutputTokens)*rateOut) / 1e6
		calls++
	}
	return dollars, calls
}

// spentFile reads what a run keeps of what it spent.
func spentFile(t *testing.T, dir string) (m map[string]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "spent.json"))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A run must stop before it could cost more than its budget, at any
// concurrency, counting attempts that nobody saw the end of; go on in the next
// session within the same sum; finish with a larger one; and pay for no call
// twice.
func TestBudget(t *testing.T) {
	const model = "openai-api/rehearse/ref/reader"
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	url, stop := rehearse(t, "--ledger", ledger, "--faults", "429-ms=0.05,502=0.02,seed=3", "--retry-after", "1ms")
	t.Setenv("REHEARSE_BASE_URL", url)
	t.Setenv(run.NameCallsVar, "1")
	prices := priceFile(t, model, "{input: 2.50, output: 10, thinks: false, source: made up}")
	dir := filepath.Join(t.TempDir(), "run")
	study := []string{"run", "quick", "--seeds", "2", "--modality", "text", "--task", "detect", "--model", model, "--concurrency", "4", "--out", dir}

	code, said := outcome(append(study, "--budget", "1")...)
	if code != exitUsage || !strings.Contains(said, "--budget needs the price of "+model) {
		t.Fatalf("without a price it ended with %d: %s", code, said)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a run that was refused left a folder")
	}
	code, said = outcome(append(study, "--budget", "0.25", "--prices", prices)...)
	spent, calls := billed(t, dir, 2.5, 10)
	if code != exitStopped || spent > 0.25 || spent < 0.10 || !strings.Contains(said, "the budget of $0.25") || !strings.Contains(said, "--budget USD") {
		t.Fatalf("ended with %d after %v: %s", code, spent, said)
	}
	code, said = outcome("resume", dir, "--budget", "0.25", "--prices", prices)
	if again, n := billed(t, dir, 2.5, 10); code != exitStopped || again > 0.25 || n < calls {
		t.Fatalf("the same budget again: ended with %d after %v and %d calls: %s", code, again, n, said)
	}
	code, said = outcome("resume", dir, "--budget", "5", "--prices", prices, "--retry-errors")
	spent, calls = billed(t, dir, 2.5, 10)
	if want := fmt.Sprintf("Cost: $%.2f of $5.00", spent); code != exitDone || !strings.Contains(said, want) {
		t.Fatalf("ended with %d after %v: %s", code, spent, said)
	}
	tables := inProcess(t, "report", dir, "--table", "costs", "--prices", prices, "--format", "json")
	if want := fmt.Sprintf("\"calls\": %d", calls); !strings.Contains(tables, want) || !strings.Contains(tables, fmt.Sprintf("%.4f", spent)[:5]) {
		t.Errorf("the table of costs is not of %d calls for %v: %s", calls, spent, tables)
	}
	stop()
	entries, err := llmtest.ReadLedger(ledger)
	if err != nil {
		t.Fatal(err)
	}
	if n := llmtest.Count(entries); n.Repeated != 0 || n.Distinct != calls {
		t.Errorf("%+v for %d calls", n, calls)
	}
	if most := spentFile(t, dir)["spent_at_most"].(float64) / 1e12; most < spent-1e-9 || most > 5 {
		t.Errorf("spent.json holds %v of %v", most, spent)
	}
}

// What a killed session had under way may have been billed: the next session
// must count it, and one without a ledger must not fail.
func TestBudgetRemembersWhatNobodySaw(t *testing.T) {
	const model = "openai-api/rehearse/ref/reader"
	url, stop := rehearse(t)
	defer stop()
	t.Setenv("REHEARSE_BASE_URL", url)
	prices := priceFile(t, model, "{input: 2.50, output: 10, thinks: false, source: made up}")
	dir := filepath.Join(t.TempDir(), "run")
	if code, said := outcome("run", "quick", "--seeds", "1", "--modality", "text", "--task", "detect", "--regime", "L1,L2", "--model", model, "--out", dir, "--prices", prices, "--budget", "0.08"); code != exitStopped {
		t.Fatalf("%d: %s", code, said)
	}
	killed := spentFile(t, dir) // as if killed with calls of two dollars under way
	killed["spent_at_most"] = killed["spent_at_most"].(float64) + 2e12
	killed["lost_at_most"] = 2e12
	b, err := json.Marshal(killed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "spent.json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	code, said := outcome("resume", dir, "--prices", prices, "--budget", "2")
	if code != exitStopped || !strings.Contains(said, "up to $2.00 on calls whose answer nobody saw or could use") {
		t.Errorf("%d: %s", code, said)
	}
	if err := os.WriteFile(filepath.Join(dir, "spent.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said := outcome("resume", dir, "--prices", prices, "--budget", "2"); code != exitFailed || !strings.Contains(said, "it does not say what the run has spent") {
		t.Errorf("%d: %s", code, said)
	}
	if err := os.Remove(filepath.Join(dir, "spent.json")); err != nil {
		t.Fatal(err)
	}
	if code, said := outcome("resume", dir, "--prices", prices, "--budget", "2"); code != exitDone {
		t.Errorf("%d: %s", code, said)
	}
}

// A run that was to cost no more than a sum keeps to it when it goes on without
// a word of it, by the prices that it was begun with; so do its tables, whatever
// the list that ships has by then.
func TestResumeKeepsTheBudget(t *testing.T) {
	const model = "openai-api/rehearse/ref/reader"
	url, stop := rehearse(t)
	defer stop()
	t.Setenv("REHEARSE_BASE_URL", url)
	prices := priceFile(t, model, "{input: 2.50, output: 10, thinks: false, source: made up}")
	dir := filepath.Join(t.TempDir(), "run")
	if code, said := outcome("run", "quick", "--seeds", "1", "--modality", "text", "--task", "detect", "--regime", "L1,L2", "--model", model, "--out", dir, "--prices", prices, "--budget", "0.08"); code != exitStopped {
		t.Fatalf("%d: %s", code, said)
	}
	if code, said := outcome("resume", dir, "--prices", prices); code != exitStopped || !strings.Contains(said, "the run's budget of $0.08") || !strings.Contains(said, "the budget of $0.08") {
		t.Errorf("%d: %s", code, said)
	}
	if code, said := outcome("resume", dir); code != exitStopped || !strings.Contains(said, "the budget of $0.08") || !strings.Contains(said, "by the list of prices of 2026-01-01") {
		t.Errorf("by the run's own prices: %d: %s", code, said)
	}
	report := func(args ...string) string {
		t.Helper()
		return inProcess(t, append([]string{"report", dir, "--table", "costs", "--format", "json"}, args...)...)
	}
	twice := priceFile(t, model, "{input: 5.00, output: 20, thinks: false, source: made up}")
	spent, _ := billed(t, dir, 2.5, 10)
	for dollars, table := range map[float64]string{spent: report(), 2 * spent: report("--prices", twice)} {
		if want := fmt.Sprintf("%.6f", dollars); !strings.Contains(table, want[:len(want)-1]) {
			t.Errorf("the table of costs is not of $%s: %s", want, table)
		}
	}
	if own := report(); !strings.Contains(own, "Dollars by the list of prices of 2026-01-01.") {
		t.Errorf("the date of the list: %s", own)
	}
	if code, said := outcome("resume", dir, "--prices", prices, "--budget", "3"); code != exitDone {
		t.Errorf("%d: %s", code, said)
	}
}

// What a session without prices stored must not make up for what an earlier one
// lost, and what it may have lost itself is not forgotten.
func TestSessionsWithoutPrices(t *testing.T) {
	const model = "openai-api/rehearse/ref/reader"
	url, stop := rehearse(t, "--faults", "reset=1")
	defer stop()
	t.Setenv("REHEARSE_BASE_URL", url)
	dir := filepath.Join(t.TempDir(), "run")
	code, said := outcome("run", "quick", "--seeds", "1", "--modality", "text", "--task", "detect", "--regime", "L1", "--model", model, "--out", dir, "--max-retries", "0")
	if code != exitStopped {
		t.Fatalf("%d: %s", code, said)
	}
	if got := spentFile(t, dir); got["unseen"] == 0.0 || got["unpriced"] != true {
		t.Fatalf("%+v", got)
	}
	prices := priceFile(t, model, "{input: 2.50, output: 10, thinks: false, source: made up}")
	if code, said := outcome("resume", dir, "--retry-errors", "--prices", prices, "--budget", "3"); code != exitFailed || !strings.Contains(said, "may have been billed, and nobody knows how much") {
		t.Errorf("%d: %s", code, said)
	}
}

// A budget for pictures needs to know what a picture counts for.
func TestBudgetRefusesPicturesWithoutARule(t *testing.T) {
	const model = "openai-api/rehearse/ref/reader"
	t.Setenv("REHEARSE_BASE_URL", "http://127.0.0.1:9/v1")
	prices := priceFile(t, model, "{input: 2.50, output: 10, source: made up}")
	code, said := outcome("run", "quick", "--seeds", "1", "--modality", "vision", "--model", model, "--out", filepath.Join(t.TempDir(), "run"), "--prices", prices, "--budget", "1")
	if code != exitUsage || !strings.Contains(said, "how many tokens a picture has for "+model) {
		t.Errorf("%d: %s", code, said)
	}
	for _, sum := range []string{"-1", "lots", "1e9"} {
		if code, said := outcome("run", "quick", "--budget="+sum); code != exitUsage || !strings.Contains(said, sum) {
			t.Errorf("--budget %s: %d: %s", sum, code, said)
		}
	}
}
