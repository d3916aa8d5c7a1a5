package provenance

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Whatever is in a file, reading it must end, and what is read must be a verdict.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"v":1,"time":"2026-12-01T12:00:00Z","audit":"a","id":"","entry":"","observation":"","status":"stale","action":"removed"}` + "\n"))
	f.Add([]byte("{\"v\":2}\n\n\x00\n{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "20261201T120000.000Z-0a.jsonl"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		for v, err := range Read(dir, time.Time{}) {
			if err == nil && v.Version != version {
				t.Errorf("%+v", v)
			}
		}
	})
}
