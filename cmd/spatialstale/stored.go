package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// storedStudy returns the study of a run's manifest, to be read, not run.
func storedStudy(m *record.Manifest, dir string) (*study.Study, error) {
	s := &study.Study{}
	if err := json.Unmarshal(m.Study, s); err != nil {
		return nil, fmt.Errorf("%s: the study in its manifest cannot be read: %w", dir, err)
	}
	return s, nil
}

// runnableStudy returns the study of a run with the instances it runs on.
func runnableStudy(run *store.Run, dir string) (*study.Study, error) {
	m := run.Manifest()
	s, err := storedStudy(&m, dir)
	if err != nil || !s.Dataset {
		return s, err
	}
	var all []record.Instance
	for in, err := range run.Instances() {
		if err != nil {
			return nil, err
		}
		name, sum, err := identify(&in)
		if err != nil {
			return nil, err
		}
		if m.Instances[name] != sum {
			return nil, fmt.Errorf("%s: the instance %s is not the one in its manifest; the run has been changed", dir, name)
		}
		all = append(all, in)
	}
	if err := s.Take(all); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s, nil
}

// identify returns an instance's name and sum in a manifest.
func identify(in *record.Instance) (name, sum string, err error) {
	b, err := json.Marshal(in)
	if err != nil {
		return "", "", fmt.Errorf("manifest: %w", err)
	}
	h := sha256.Sum256(b)
	return fmt.Sprintf("%d/%dx%d/%s", in.Seed, len(in.Rows), len(in.Rows[0]), in.Regime), hex.EncodeToString(h[:]), nil
}
