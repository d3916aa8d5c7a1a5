package study

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
)

//go:embed prompts/*.txt
var promptFiles embed.FS

// Prompts are the texts of all prompt files by file name: audit.txt,
// audit-score.txt, navigate.txt, and framing-neutral.txt, framing-trusted.txt,
// framing-warned.txt, which introduce the memory.
type Prompts map[string]string

// DefaultPrompts returns the prompts that ship with the program.
func DefaultPrompts() Prompts {
	p := Prompts{"audit.txt": audit.Prompt, "audit-score.txt": audit.ScorePrompt, "navigate.txt": navigate.Prompt}
	for _, f := range Framings {
		name := framingFile(f)
		text, err := promptFiles.ReadFile("prompts/" + name)
		if err != nil {
			panic("study: " + err.Error()) // embedded: cannot happen
		}
		p[name] = string(text)
	}
	return p
}

// Framing returns the words that introduce the memory under a framing.
func (p Prompts) Framing(framing string) string { return p[framingFile(framing)] }

func framingFile(framing string) string { return "framing-" + framing + ".txt" }

// ReadPrompts returns the default prompts with those replaced for which dir has
// a file. A file in dir by any other name is an error: it is most likely a typo.
func ReadPrompts(dir string) (Prompts, error) {
	prompts := DefaultPrompts()
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	for _, f := range files {
		if _, known := prompts[f.Name()]; !known {
			return nil, fmt.Errorf("prompts: %s is none of the prompt files, which are %s", filepath.Join(dir, f.Name()), strings.Join(prompts.names(), ", "))
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("prompts: %w", err)
		}
		if err := prompts.replace(f.Name(), string(text)); err != nil {
			return nil, fmt.Errorf("prompts: %s: %w", filepath.Join(dir, f.Name()), err)
		}
	}
	return prompts, nil
}

// replace puts a file's text in the place of the one that ships.
func (p Prompts) replace(name, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty; take it away to use the one that ships")
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var err error
	switch name {
	case "navigate.txt":
		_, err = navigate.New(nil, navigate.Options{Prompt: text})
	case "audit.txt", "audit-score.txt":
		_, err = llm.ParseTemplate(text, audit.Places...)
	default: // an introduction of the memory, which has no place for anything
		_, err = llm.ParseTemplate(text)
	}
	p[name] = text
	return err
}

// Write puts every prompt file into dir, which must not hold one yet.
func (p Prompts) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("prompts: %w", err)
	}
	for _, name := range p.names() {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prompts: %s is there already; choose another folder", path)
		}
		if err := os.WriteFile(path, []byte(p[name]), 0o644); err != nil {
			return fmt.Errorf("prompts: %w", err)
		}
	}
	return nil
}

func (p Prompts) names() []string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Sums returns the SHA-256 of each prompt file, in hex.
func (p Prompts) Sums() map[string]string {
	sums := make(map[string]string, len(p))
	for name, text := range p {
		sum := sha256.Sum256([]byte(text))
		sums[name] = hex.EncodeToString(sum[:])
	}
	return sums
}
