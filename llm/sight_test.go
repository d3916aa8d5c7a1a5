package llm_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
)

// lookAtBars names the colours of a picture's bars, as a model does that sees.
func lookAtBars(t *testing.T, req *llm.Request) string {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(req.Parts[0].PNG()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 3 {
		seen := img.At(img.Bounds().Dx()*(2*i+1)/6, 10)
		for name, c := range llm.SightColors {
			if seen == c {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// Would fail if a model that sees were called blind, for the form of its answer
// or for one mistake, or if one that guesses, repeats the question or says
// nothing passed.
func TestCheckSight(t *testing.T) {
	dropped := errors.New("no connection")
	for name, c := range map[string]struct {
		answer func(req *llm.Request, calls int) (string, error)
		calls  int
		want   error
	}{
		"plain": {func(r *llm.Request, _ int) (string, error) { return lookAtBars(t, r), nil }, 1, nil},
		"sentence": {func(r *llm.Request, _ int) (string, error) {
			return "**They are " + strings.ToUpper(lookAtBars(t, r)) + ".**", nil
		}, 1, nil},
		"second look": {func(r *llm.Request, n int) (string, error) {
			if n == 1 {
				return "yellow, red, blue", nil
			}
			return lookAtBars(t, r), nil
		}, 2, nil},
		"guess":    {func(*llm.Request, int) (string, error) { return "red, green, blue", nil }, 2, llm.ErrBlind},
		"reversed": {func(*llm.Request, int) (string, error) { return "black, red, yellow", nil }, 2, llm.ErrBlind},
		"question": {func(*llm.Request, int) (string, error) { return llm.SightQuestion, nil }, 2, llm.ErrBlind},
		"nothing":  {func(*llm.Request, int) (string, error) { return "", nil }, 2, llm.ErrBlind},
		"failure":  {func(*llm.Request, int) (string, error) { return "", dropped }, 1, dropped},
	} {
		calls := 0
		err := llm.CheckSight(t.Context(), modelFunc(func(_ context.Context, req *llm.Request) (*llm.Reply, error) {
			calls++
			text, err := c.answer(req, calls)
			return &llm.Reply{Text: text}, err
		}))
		if !errors.Is(err, c.want) || calls != c.calls {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
	}
}
