package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// A Stored is a run on disk, opened for reading: its manifest, plan, instances,
// trials and calls (store.Run), and the study behind them.
type Stored struct {
	*store.Run
	Dir string
}

// Open opens a run, finished, interrupted or still going, and changes nothing in
// it. Its errors are those of store.Open.
func Open(dir string) (*Stored, error) {
	r, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Stored{r, dir}, nil
}

// Described returns the study of the run's manifest, to be read, not run.
func (s *Stored) Described() (*study.Study, error) {
	m := s.Manifest()
	return StudyOf(&m, s.Dir)
}

// StudyOf returns the study of a manifest, to be read, not run. The run's folder
// is for errors.
func StudyOf(m *record.Manifest, dir string) (*study.Study, error) {
	out := &study.Study{}
	if err := json.Unmarshal(m.Study, out); err != nil {
		return nil, fmt.Errorf("%s: the study in its manifest cannot be read: %w", dir, err)
	}
	for name, text := range m.PromptTexts {
		if text != study.DefaultPrompts()[name] {
			if err := out.SetPrompt(name, text); err != nil {
				return nil, fmt.Errorf("%s: the prompts in its manifest cannot be used: %w", dir, err)
			}
		}
	}
	if err := out.Check(); err != nil {
		return nil, fmt.Errorf("%s: the study in its manifest is none that could have been run; the run has been changed: %w", dir, err)
	}
	return out, nil
}

// Study returns the run's study with the instances that it runs on.
func (s *Stored) Study() (*study.Study, error) {
	out, err := s.Described()
	if err != nil || !out.Dataset {
		return out, err
	}
	m := s.Manifest()
	var all []record.Instance
	for in, err := range s.Instances() {
		if err != nil {
			return nil, err
		}
		name, sum, err := identify(&in)
		if err != nil {
			return nil, err
		}
		if m.Instances[name] != sum {
			return nil, fmt.Errorf("%s: the instance %s is not the one in its manifest; the run has been changed", s.Dir, name)
		}
		all = append(all, in)
	}
	if err := out.Take(all); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Dir, err)
	}
	return out, nil
}

// Prompts returns the prompts that the run was made with, as it holds them. A run
// of version 0.1 holds only their hashes: they are found among those that this
// version or an earlier one shipped, and in the folder, unless it is empty.
func (s *Stored) Prompts(folder string) (study.Prompts, error) {
	m := s.Manifest()
	prompts := study.EarlierPrompts(m.Prompts)
	maps.Copy(prompts, m.PromptTexts)
	if folder != "" {
		st, err := s.Described()
		if err == nil {
			err = st.ReadPrompts(folder)
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(prompts, st.Prompts)
	}
	if err := samePrompts(m.Prompts, prompts.Sums()); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Dir, err)
	}
	return prompts, nil
}

// samePrompts refuses prompt files that are not those the run was made with:
// its finished calls would answer other questions.
func samePrompts(run, now map[string]string) error {
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(run)) {
		if run[name] != now[name] {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("the run was made with other prompts than these (%s differ); resume it with the program that made it, or with --prompts and the folder it was made with", strings.Join(changed, ", "))
	}
	return nil
}

// Check verifies the whole run: the database, the hash of every stored text and
// picture, and what Verify compares. Each thing that is wrong is handed to
// found.
func (s *Stored) Check(ctx context.Context, promptsFolder string, found func(problem string)) (v Verification, err error) {
	structure, err := s.Integrity()
	if err != nil {
		return v, err
	}
	for _, text := range structure {
		found(text)
	}
	parts := 0
	for p, err := range s.Parts() {
		if err == nil {
			err = VerifyPart(&p)
		}
		if err != nil {
			found(err.Error())
		}
		parts++
	}
	st, err := s.Study()
	if err != nil {
		return v, err
	}
	prompts, err := s.Prompts(promptsFolder)
	if err != nil {
		return v, errors.Join(fmt.Errorf("%s: its trials cannot be made again", s.Dir), err)
	}
	v, err = Verify(ctx, st, prompts, s, found)
	v.Parts = parts
	return v, err
}

// Rescore reads the stored replies of every finished trial again (Rescore).
func (s *Stored) Rescore(ctx context.Context, promptsFolder string, yield func(Rescored) error) error {
	st, err := s.Study()
	if err != nil {
		return err
	}
	prompts, err := s.Prompts(promptsFolder)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: its replies cannot be scored again", s.Dir), err)
	}
	if err := Rescore(ctx, st, prompts, s, yield); err != nil {
		return fmt.Errorf("%s: %w", s.Dir, err)
	}
	return nil
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
