package study

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
)

// promptFiles are the framings that ship, and every prompt file that an earlier
// version shipped and this one does not, so that its runs can be made again.
//
//go:embed prompts
var promptFiles embed.FS

// Prompts are the texts of prompt files by file name: audit.txt,
// audit-score.txt, navigate.txt, and a framing-NAME.txt for each framing, which
// introduces the memory. A framing may have whole prompts of its own, as
// audit@NAME.txt: so wordings with names are compared side by side.
type Prompts map[string]string

// DefaultPrompts returns the prompts that ship with the program.
func DefaultPrompts() Prompts {
	p := Prompts{"audit.txt": judge.Prompt, "audit-score.txt": judge.ScorePrompt, "navigate.txt": navigate.Prompt}
	for _, f := range Framings {
		p[framingFile(f)] = shippedPrompt(framingFile(f))
	}
	return p
}

// TranscribeFile is the prompt of transcripts, and TranscribePlaces its places.
const TranscribeFile = "transcribe.txt"

var TranscribePlaces = []string{"legend", "observation"}

func shippedPrompt(name string) string {
	text, err := promptFiles.ReadFile(path.Join("prompts", name))
	if err != nil {
		panic("study: " + err.Error()) // embedded: cannot happen
	}
	return string(text)
}

// PromptsOf returns the prompts that an earlier version shipped: 0.1.
func PromptsOf(version string) Prompts {
	p := Prompts{}
	files, _ := fs.Glob(promptFiles, path.Join("prompts", version, "*.txt")) // the pattern is right
	for _, file := range files {
		p[path.Base(file)] = shippedPrompt(strings.TrimPrefix(file, "prompts/"))
	}
	return p
}

// EarlierPrompts returns the prompt files with these SHA-256, as far as this
// version or an earlier one shipped them.
func EarlierPrompts(sums map[string]string) Prompts {
	out := Prompts{}
	take := func(name, text string) {
		if sums[name] == (Prompts{name: text}).Sums()[name] {
			out[name] = text
		}
	}
	for name, text := range DefaultPrompts() {
		take(name, text)
	}
	for name, text := range PromptsOf("0.1") {
		take(name, text)
	}
	return out
}

// AllPrompts returns the prompts that the study is run with: those that ship,
// and its own in their place.
func (s *Study) AllPrompts() Prompts {
	p := DefaultPrompts()
	if slices.ContainsFunc(s.strategies(), func(by Strategy) bool { return by.Auditor == AuditTranscript }) {
		p[TranscribeFile] = shippedPrompt(TranscribeFile) // no part of runs that have no use for it
	}
	maps.Copy(p, s.Prompts)
	return p
}

// framingPattern matches the files of a framing: its introduction of the memory,
// or a prompt of its own.
var framingPattern = regexp.MustCompile(`^(?:framing-|(?:audit|audit-score|navigate|transcribe)@)([\pL\pN][\pL\pN ._-]{0,49})\.txt$`)

func framingFile(framing string) string { return "framing-" + framing + ".txt" }

// general is the file in whose place a file stands: audit.txt of audit@NAME.txt.
func general(file string) string {
	if name, _, own := strings.Cut(file, "@"); own {
		return name + ".txt"
	}
	return file
}

// Framing returns the words that introduce the memory under a framing; those of
// the first one where it has prompts of its own and no such words.
func (p Prompts) Framing(framing string) string {
	words, ok := p[framingFile(framing)]
	if !ok {
		return p[framingFile(Framings[0])]
	}
	return words
}

// Of returns the prompt file that is used under a framing: its own, or the one
// for all.
func (p Prompts) Of(file, framing string) string {
	if text, own := p[strings.TrimSuffix(file, ".txt")+"@"+framing+".txt"]; own {
		return text
	}
	return p[file]
}

// framingNames lists the framings that the study has words for.
func (s *Study) framingNames() []string {
	names := slices.Clone(Framings)
	for _, file := range s.Prompts.Names() {
		if m := framingPattern.FindStringSubmatch(file); m != nil && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// SetPrompt puts a text in the place of a prompt file, or gives words to a
// framing of the study's own.
func (s *Study) SetPrompt(file, text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var err error
	switch known := slices.Contains(DefaultPrompts().Names(), file) || file == TranscribeFile || framingPattern.MatchString(file); {
	case !known:
		return fmt.Errorf("%s is none of the prompt files, which are %s, and framing-NAME.txt, audit@NAME.txt, audit-score@NAME.txt and navigate@NAME.txt for a framing of one's own", file, strings.Join(DefaultPrompts().Names(), ", "))
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%s: it is empty; take it away to use the one that ships", file)
	case general(file) == TranscribeFile:
		_, err = llm.ParseTemplate(text, TranscribePlaces...)
	case general(file) == "navigate.txt":
		_, err = navigate.New(nil, navigate.Options{Prompt: text})
	case general(file) == "audit.txt" || general(file) == "audit-score.txt":
		_, err = llm.ParseTemplate(text, judge.Places...)
	default: // the introduction of a memory, which has no place for anything
		_, err = llm.ParseTemplate(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if s.Prompts == nil {
		s.Prompts = Prompts{}
	}
	s.Prompts[file] = text
	return nil
}

// ReadPrompts puts the prompt files of a folder in the place of those that ship.
// A file by any other name is an error, as is the framing of a name that the
// study does not know: it is most likely a typo.
func (s *Study) ReadPrompts(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("prompts: %w", err)
	}
	for _, f := range files {
		at := filepath.Join(dir, f.Name())
		if m := framingPattern.FindStringSubmatch(f.Name()); m != nil && !slices.Contains(s.framingNames(), m[1]) && !slices.Contains(s.Framings, m[1]) {
			return fmt.Errorf("prompts: %s is the framing of no name that the study has; it has %s", at, strings.Join(s.framingNames(), ", "))
		}
		text, err := readBounded(at)
		if err == nil {
			err = s.SetPrompt(f.Name(), string(text))
		}
		if err != nil {
			return fmt.Errorf("prompts: in %s: %w", dir, err)
		}
	}
	return nil
}

// Write puts every prompt file into dir, which must not hold one yet.
func (p Prompts) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("prompts: %w", err)
	}
	for _, name := range p.Names() {
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

// Names lists the files in order.
func (p Prompts) Names() []string { return slices.Sorted(maps.Keys(p)) }

// Sums returns the SHA-256 of each prompt file, in hex.
func (p Prompts) Sums() map[string]string {
	sums := make(map[string]string, len(p))
	for name, text := range p {
		sum := sha256.Sum256([]byte(text))
		sums[name] = hex.EncodeToString(sum[:])
	}
	return sums
}
