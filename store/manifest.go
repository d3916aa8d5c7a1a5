package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spatialstale/spatialstale/record"
)

// manifestJSON is the text of manifest.json, which the database keeps too.
func manifestJSON(m record.Manifest) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("the run's manifest cannot be written as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// parseManifest reads what manifestJSON writes.
func parseManifest(text []byte) (m record.Manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	if len(m.Study) == 0 {
		return m, nil
	}
	var study bytes.Buffer // without the indentation that the file gave it
	if err := json.Compact(&study, m.Study); err != nil {
		return m, err
	}
	m.Study = study.Bytes()
	return m, nil
}

// writeAtomically writes a file so that at any moment either nothing or the
// whole content stands under its name.
func writeAtomically(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
