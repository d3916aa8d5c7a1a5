package run

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spatialstale/spatialstale/store"
)

// stopFile is the file in a run's folder that asks the process at work on the run
// to stop; it means nothing by itself.
const stopFile = "stop.request"

// stopEvery is how often a session looks for it.
const stopEvery = 500 * time.Millisecond

// AskToStop asks the process that is at work on a run to stop as Session.Stop
// does. It returns at once; the process sees it within a second.
func AskToStop(dir string) error {
	if !store.Writing(dir) {
		return fmt.Errorf("no process is at work on %s", dir)
	}
	return os.WriteFile(filepath.Join(dir, stopFile), nil, 0o644)
}

// obey stops the session when somebody asks it to.
func (s *Session) obey() {
	asked := func() bool { return os.Remove(filepath.Join(s.dir, stopFile)) == nil }
	asked() // left by somebody whom an earlier session did not see
	tick := time.NewTicker(stopEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
			if asked() {
				s.Stop()
				return
			}
		}
	}
}
