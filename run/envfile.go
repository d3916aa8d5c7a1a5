package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// EnvFile returns a lookup of variables, for Options.Getenv: the process's own,
// then those of a file of NAME=VALUE lines. Its errors name the line and never
// show what is in it: it holds keys.
func EnvFile(path string) (getenv func(name string) string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	values, err := parseEnvFile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY":
			return nil, fmt.Errorf("%s: %s is taken from the environment only; export it there", path, name)
		}
	}
	return func(name string) string { return cmp.Or(os.Getenv(name), values[name]) }, nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseEnvFile reads lines of the form NAME=VALUE, with "export " before it or
// not. Empty lines and those that begin with # are passed over. A value in
// single quotes is taken as it is; in one with double quotes, \n, \t, \r, \",
// \$, \` and \\ stand for what they do in a shell. One without quotes ends at
// " #" or at the end of its line. Nothing is expanded: a key may hold a $.
func parseEnvFile(text []byte) (map[string]string, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write one
	values := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		name, value, err := parseEnvLine(line)
		if _, twice := values[name]; twice && err == nil {
			err = fmt.Errorf("%s stands twice", name)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if name != "" {
			values[name] = value
		}
	}
	return values, nil
}

// parseEnvLine reads one line; an empty name is a line without a value.
func parseEnvLine(line string) (name, value string, err error) {
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return "", "", errors.New("it is no text in UTF-8")
	}
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	name, rest, found := strings.Cut(line, "=")
	if bare, ok := strings.CutPrefix(name, "export"); ok && strings.TrimLeft(bare, " \t") != bare {
		name = bare
	}
	name = strings.TrimSpace(name)
	if !found || !variableName.MatchString(name) {
		return "", "", errors.New("want NAME=VALUE, where NAME has letters, digits and _")
	}
	value, rest, err = parseEnvValue(strings.TrimSpace(rest))
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	if rest = strings.TrimSpace(rest); rest != "" && rest[0] != '#' {
		return "", "", fmt.Errorf("%s: something stands behind the closing quote", name)
	}
	return name, value, nil
}

// parseEnvValue reads a value and returns what stands behind it.
func parseEnvValue(text string) (value, rest string, err error) {
	switch {
	case strings.HasPrefix(text, "'"):
		value, rest, closed := strings.Cut(text[1:], "'")
		if !closed {
			return "", "", errors.New("its quote is not closed on the line")
		}
		return value, rest, nil
	case strings.HasPrefix(text, `"`):
		return parseDoubleQuoted(text[1:])
	case strings.HasPrefix(text, "#"):
		return "", text, nil
	}
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && (text[i-1] == ' ' || text[i-1] == '\t') {
			return strings.TrimSpace(text[:i]), text[i:], nil
		}
	}
	return text, "", nil
}

func parseDoubleQuoted(text string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text):
			i++
			if at := strings.IndexByte(`ntr"$`+"`"+`\`, text[i]); at >= 0 {
				b.WriteByte("\n\t\r\"$`\\"[at])
				continue
			}
			b.WriteByte('\\') // as a shell leaves it
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("its quote is not closed on the line")
}
