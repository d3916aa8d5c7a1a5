package run

import (
	"cmp"
	"errors"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/method"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// methodAttempts is how often a method is asked in all where it failed in a way
// that may pass: a process that died, an answer that was none.
const methodAttempts = 3

// openMethods makes the study's methods ready. A program that is not there is a
// mistake in the study.
func (s *Session) openMethods(before []record.ModelInfo) error {
	all := s.study.Methods()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		if given := s.options.Programs[name]; given != nil {
			s.methods[name] = s.learned.add(record.ModelInfo{Name: name, Note: noteOf(m)}, given)
			continue
		}
		opened, err := method.Open(name, method.Config{
			Exec: m.Exec, HTTP: m.HTTP, Builtin: m.Builtin,
			Timeout: time.Duration(m.Timeout) * time.Second, Workers: cmp.Or(m.Workers, runtime.GOMAXPROCS(0)),
		})
		if err != nil {
			return UsageError{err}
		}
		s.opened = append(s.opened, opened)
		info := record.ModelInfo{Name: name, Note: noteOf(m)}
		if i := slices.IndexFunc(before, func(b record.ModelInfo) bool { return b.Name == name }); i >= 0 {
			info = before[i]
		} else if m.IsSent(study.WantsGrid) {
			info.Note += "; it is sent the observation cell by cell"
		}
		if m.HTTP != "" && !slices.Contains(info.Endpoints, m.HTTP) {
			info.Endpoints = append(slices.Clip(info.Endpoints), m.HTTP)
		}
		s.methods[name] = llm.Retry(s.learned.add(info, opened), llm.RetryOptions{Attempts: methodAttempts, Base: 100 * time.Millisecond, Notify: s.waits})
	}
	return nil
}

// noteOf says what answers a method's requests.
func noteOf(m *study.Method) string {
	if m.Builtin != "" {
		return "no model: " + m.String()
	}
	return "a program of one's own: " + m.String()
}

func (s *Session) closeMethods() error {
	var errs []error
	for _, m := range s.opened {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
