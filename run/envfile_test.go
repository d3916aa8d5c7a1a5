package run

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEnvFile(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"\ufeffA=1\r\nB=2\r\n", map[string]string{"A": "1", "B": "2"}},
		{"# a comment\n\n  export A = sk-1 # mine\nexport\tB='two # $words' # c\nC=", map[string]string{"A": "sk-1", "B": "two # $words", "C": ""}},
		{`A="a\tb\"c\\d\$e\q"`, map[string]string{"A": "a\tb\"c\\d$e\\q"}},
		{"A=x#y=z\nexported=1\nB=#nothing\nC=it's", map[string]string{"A": "x#y=z", "exported": "1", "B": "", "C": "it's"}},
	} {
		got, err := parseEnvFile([]byte(c.text))
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
}

// Would fail if a mistake in a file of keys were passed over, or shown with the
// key in it.
func TestEnvFileMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"A=1\nsk-secret":           "line 2: want NAME=VALUE",
		"sk-secret=1":              "line 1: want NAME=VALUE",
		"A='sk-secret":             "line 1: A: its quote is not closed",
		"\nA=\"sk-secret\\\"":      "line 2: A: its quote is not closed",
		"A='sk-secret' sk-secret":  "line 1: A: something stands behind",
		"A=sk-secret\nA=sk-secret": "line 2: A stands twice",
		"A=sk-secret\xff":          "line 1: it is no text",
		"A=sk-secret\x00":          "line 1: it is no text",
		"export=sk-secret\nexport": "line 2: want NAME=VALUE",
	} {
		path := filepath.Join(t.TempDir(), "keys.env")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := EnvFile(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Whatever a value holds, a quoted form of it must come back whole.
func TestEnvFileQuotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ -~äß🙂]{0,30}`).Draw(t, "value")
		double := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value)
		text := `A="` + double + "\" # c\n"
		if !strings.Contains(value, "'") {
			text += "export B='" + value + "'"
		}
		got, err := parseEnvFile([]byte(text))
		if err != nil || got["A"] != value || !strings.Contains(value, "'") && got["B"] != value {
			t.Fatalf("%q: %q, %v", text, got, err)
		}
	})
}

func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{"A=1", "export A='b' # c", `A="\n"`, "A", "=\n#", "A=\"\\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := parseEnvFile(text)
		if err != nil && !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%v", err)
		}
		for name, value := range values {
			if !variableName.MatchString(name) {
				t.Errorf("the name %s", strconv.Quote(name))
			}
			again, err := parseEnvFile([]byte(name + `="` + strings.NewReplacer("\n", `\n`, "\r", `\r`, `\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value) + `"`))
			if err != nil || again[name] != value {
				t.Errorf("%q comes back as %q, %v", value, again, err)
			}
		}
	})
}
