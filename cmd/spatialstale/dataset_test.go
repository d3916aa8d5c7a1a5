package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An interrupt ends the writing of a dataset and leaves nothing, also no hidden
// folder.
func TestDatasetInterrupted(t *testing.T) {
	dir := t.TempDir()
	interrupted := make(chan struct{})
	close(interrupted)
	var stderr bytes.Buffer
	watch := func() (context.Context, <-chan struct{}) { return context.Background(), interrupted }
	code := execute([]string{"dataset", "quick", "--out", filepath.Join(dir, "lakes")},
		env{ctx: context.Background(), watch: watch, stdout: &bytes.Buffer{}, stderr: &stderr, now: time.Now})
	if code != exitFailed || !strings.Contains(stderr.String(), "interrupted; nothing is left behind") {
		t.Errorf("it ended with %d: %s", code, &stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
