package run

import (
	"strings"
	"testing"
)

func fault(list []int) int { return list[3] }

// A fault of the program must be one line that says where to look.
func TestPanicError(t *testing.T) {
	defer func() {
		text := PanicError(recover()).Error()
		if strings.Contains(text, "\n") || !strings.Contains(text, "index out of range") || !strings.Contains(text, "run.fault (panic_test.go:") {
			t.Errorf("it says %q", text)
		}
	}()
	fault(nil)
}
