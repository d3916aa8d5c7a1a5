package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"regexp"
	"slices"
	"strings"
)

// ErrBlind is wrapped by the error of CheckSight for a model that does not see.
var ErrBlind = errors.New("the model does not see pictures")

// SightQuestion is what CheckSight asks of a picture.
const SightQuestion = "The picture shows three upright bars side by side. Each is red, green, blue, yellow, black or white. " +
	"Name their three colours from left to right, and write nothing else."

// SightColors are the colours of the bars by their names.
var SightColors = map[string]color.RGBA{
	"red": {220, 0, 0, 255}, "green": {0, 150, 0, 255}, "blue": {0, 0, 220, 255},
	"yellow": {255, 221, 0, 255}, "black": {0, 0, 0, 255}, "white": {255, 255, 255, 255},
}

// sightBars are the bars of each picture. Neither is a part of the question's
// list, a flag, or what somebody guesses who sees nothing: 1 guess in 216.
var sightBars = [][]string{{"yellow", "red", "black"}, {"white", "green", "yellow"}}

// CheckSight asks a model what only a picture answers, and once more with
// another picture where the answer is wrong: servers and proxies drop pictures
// without a word, and a study of such a model would measure guesses. The error
// wraps ErrBlind where no answer was right; it is the call's where there was
// none.
func CheckSight(ctx context.Context, m Model) error {
	var heard []string
	for i, bars := range sightBars {
		req, err := sightRequest(i, bars)
		if err != nil {
			return err
		}
		reply, err := m.Generate(ctx, req)
		if err != nil {
			return err
		}
		if namesColors(reply.Text, bars) {
			return nil
		}
		heard = append(heard, fmt.Sprintf("of bars in %s it said %s", strings.Join(bars, ", "), quoteBriefly(reply.Text)))
	}
	return fmt.Errorf("%w: %s; is it a vision model, and does its server or a proxy before it pass pictures on?", ErrBlind, strings.Join(heard, ", "))
}

func sightRequest(i int, bars []string) (*Request, error) {
	const width, height = 96, 192 // of a bar
	img := image.NewRGBA(image.Rect(0, 0, width*len(bars), height))
	for x := range img.Rect.Dx() {
		for y := range height {
			img.SetRGBA(x, y, SightColors[bars[x/width]])
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		return nil, err
	}
	return &Request{
		Trial: "sight", Slot: fmt.Sprintf("picture%d", i+1), Purpose: "sight",
		Parts: []Part{Image(img, file.Bytes()), Text(SightQuestion)}, Answer: 256,
	}, nil
}

var colorWord = regexp.MustCompile(`\b(?:red|green|blue|yellow|black|white)\b`)

// namesColors reports whether a text names the colours in their order, one
// behind the other.
func namesColors(text string, bars []string) bool {
	named := colorWord.FindAllString(strings.ToLower(text), -1)
	for i := 0; i+len(bars) <= len(named); i++ {
		if slices.Equal(named[i:i+len(bars)], bars) {
			return true
		}
	}
	return false
}

// quoteBriefly quotes the first words of a text.
func quoteBriefly(text string) string {
	const most = 60
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) == 0 {
		return "nothing"
	}
	if len(runes) > most {
		runes = append(runes[:most], '…')
	}
	return fmt.Sprintf("%q", string(runes))
}
