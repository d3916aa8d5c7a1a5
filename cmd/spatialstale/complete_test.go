package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// toldBy runs a command line of ours.
func toldBy(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(args, env{ctx: t.Context(), stdout: &out, stderr: &errs, now: time.Now}); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	toldBy(t, "run", "quick", "--seeds", "1", "--task", "detect", "--model", "ref/reader", "--out", "runs/one")
	for line, want := range map[string]string{
		"ru":                         "run runs",
		"complet":                    "completion", // what only shells call is not offered
		"run pap":                    "paper-models paper",
		"run --regime L":             "L1 L2 L3",
		"run --regime=L2,L":          "--regime=L2,L1 --regime=L2,L2 --regime=L2,L3",
		"run quick --strategy omcd,": "omcd,no-memory omcd,no-filter omcd,self-verify omcd,omcd omcd,oracle omcd,score omcd,transcribe",
		"run --model ref/re":         "ref/reader",
		"report ":                    "latest runs/one",
		"report runs/o":              "runs/one",
		"check --":                   "--help --version --man --prompts",
		"report latest --format h":   "html",
		"compare latest r":           "runs/one",
		"run --seeds 1 --regim":      "--regime",
		"run --seeds ":               "",
		"audit l":                    "log",
		"completion ":                "bash zsh fish",
		"nothing ":                   "",
	} {
		var got []string
		for found := range strings.Lines(toldBy(t, append([]string{"complete", "--"}, strings.Split(line, " ")...)...)) {
			word, _, _ := strings.Cut(found, "\t")
			got = append(got, word)
		}
		wanted := strings.Fields(want)
		for _, word := range wanted {
			if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+word+" ") {
				t.Errorf("%q: %s is missing in %q", line, word, got)
			}
		}
		if len(got) != len(wanted) {
			t.Errorf("%q: %q, want %q", line, got, wanted)
		}
	}
}

// Each shell itself, with what we print for it, offers what we know.
func TestShells(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "spatialstale")
	if err := os.Symlink(exe, program); err != nil {
		t.Fatal(err)
	}
	for shell, script := range map[string]string{
		"bash": `source "$0"; COMP_WORDS=(spatialstale run --regime L); COMP_CWORD=3; _spatialstale; printf '%s\n' "${COMPREPLY[@]}"; complete -p spatialstale`,
		"fish": `source $argv[1]; complete -C 'spatialstale run --regime L'`,
		// A shell at a terminal, to which a tab is typed.
		"zsh": `zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z "PS1=; autoload -Uz compinit; compinit -u -D; source '$0'; print ready"; zpty -r z out '*ready*ready*'
zpty -w -n z $'spatialstale run --regime L\t\t'; for i in {1..50}; do zpty -rt z more && out+=$more; sleep 0.1; [[ $out == *L1*L2*L3* ]] && break; done; print -r -- $out; zpty -d z`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				if os.Getenv("CI") != "" {
					t.Fatal(err)
				}
				t.Skip("it is not installed")
			}
			file := filepath.Join(dir, "completion."+shell)
			if err := os.WriteFile(file, []byte(toldBy(t, "completion", shell)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(path, "-c", script, file)
			cmd.Env = append(os.Environ(), asCommand+"=1", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir, "TERM=xterm")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, regime := range []string{"L1", "L2", "L3"} {
				if !bytes.Contains(out, []byte(regime)) {
					t.Errorf("%s is not offered: %q", regime, out)
				}
			}
		})
	}
}

// The manual page has every command, and is one that formatters take.
func TestManual(t *testing.T) {
	page := toldBy(t, "--man")
	for _, want := range []string{".TH SPATIALSTALE 1", "Benchmark of stale spatial memory", "trace <run>", "\\-\\-seeds"} {
		if !strings.Contains(strings.ReplaceAll(page, "--seeds", "\\-\\-seeds"), want) {
			t.Errorf("the manual page has no %q", want)
		}
	}
	if strings.Contains(page, "complete [<words>") {
		t.Error("the manual page has what only shells call")
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("mandoc is not installed")
	}
	cmd := exec.Command(mandoc, "-T", "lint", "-W", "warning")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.2000s", err, out)
	}
}

func TestHelpOfACommand(t *testing.T) {
	if text := toldBy(t, "help", "trace"); !strings.Contains(text, "Usage: spatialstale trace") || text != toldBy(t, "trace", "--help") {
		t.Errorf("%s", text)
	}
	if text := toldBy(t, "help"); text != toldBy(t, "--help") {
		t.Errorf("%s", text)
	}
}
