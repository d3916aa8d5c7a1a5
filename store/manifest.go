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

// mostManifest is the longest manifest that is read, in bytes. One of 10,000
// instances is a tenth of it.
const mostManifest = 16 << 20

// parseManifest reads what manifestJSON writes, and bounds what readers of a run
// take from it unseen.
func parseManifest(text []byte) (m record.Manifest, err error) {
	if len(text) > mostManifest {
		return m, fmt.Errorf("it has %d bytes; at most %d are read", len(text), mostManifest)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	if len(m.Study) > 0 {
		var declared record.Tests
		if err := json.Unmarshal(m.Study, &declared); err != nil {
			return m, fmt.Errorf("its study: %w", err)
		}
		if b := declared.Bootstrap; b != nil && b.Resamples > record.MostResamples {
			return m, fmt.Errorf("its study declares %d resamples; at most %d are made", b.Resamples, record.MostResamples)
		}
	}
	// Without the indentation that the file gave them.
	compact := func(raw *json.RawMessage) error {
		if len(*raw) == 0 {
			return nil
		}
		var b bytes.Buffer
		if err := json.Compact(&b, *raw); err != nil {
			return err
		}
		*raw = b.Bytes()
		return nil
	}
	if err := compact(&m.Study); err != nil {
		return m, err
	}
	for i := range m.Models {
		if s := m.Models[i].Settings; s != nil {
			if err := compact(&s.ExtraBody); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// renewManifest makes manifest.json what the database says, where a kill came
// between the two.
func renewManifest(dir string, m record.Manifest) error {
	text, err := manifestJSON(m)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ManifestName)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	}
	return explain(path, writeAtomically(path, text))
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
