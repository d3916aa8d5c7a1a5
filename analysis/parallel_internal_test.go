package analysis

import (
	"sync/atomic"
	"testing"
)

// A fault in one of several goroutines must reach whoever waits for them, who says
// it in a line; and every index is done once.
func TestInParallel(t *testing.T) {
	var sum atomic.Int64
	inParallel(1000, func(i int) { sum.Add(int64(i)) })
	if sum.Load() != 999*1000/2 {
		t.Errorf("%d", sum.Load())
	}
	defer func() {
		if p := recover(); p != "a fault" {
			t.Errorf("%v", p)
		}
	}()
	inParallel(1000, func(i int) {
		if i == 500 {
			panic("a fault")
		}
	})
}
