package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/spatialstale/spatialstale/reference"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionScripts ask this program what can follow; where it knows nothing, the
// shell offers files.
var completionScripts = map[string]string{
	"bash": `_spatialstale() {
	local IFS=$'\n'
	COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]/}
	COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _spatialstale spatialstale
`,
	"zsh": `#compdef spatialstale
_spatialstale() {
	local -a found
	local line
	for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( $#found )); then _describe -V spatialstale found; else _files; fi
}
if [[ ${funcstack[1]} == _spatialstale ]]; then _spatialstale "$@"; else compdef _spatialstale spatialstale; fi
`,
	"fish": `function __spatialstale_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c spatialstale -a '(__spatialstale_complete)'
`,
}

// Run prints what makes a shell complete this program's command lines.
func (c *completionCmd) Run(e *env) error {
	_, err := io.WriteString(e.stdout, completionScripts[c.Shell])
	return err
}

type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"all" help:"The command line so far, without the program."`
}

// Run prints what can stand in place of the last word: a word a line, with what it
// is behind a tab.
func (c *completeCmd) Run(e *env, app *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	for _, found := range completions(app.Model.Node, words) {
		if _, err := fmt.Fprintf(e.stdout, "%s\t%s\n", found.word, found.about); err != nil {
			return err
		}
	}
	return nil
}

// A completion is a word that can follow.
type completion struct{ word, about string }

// completions are the words that can stand in place of the last of a command line,
// in the order of their definition.
func completions(node *kong.Node, words []string) (found []completion) {
	last := words[len(words)-1]
	flags := func(node *kong.Node) (all []*kong.Flag) {
		for _, group := range node.AllFlags(true) {
			all = append(all, group...)
		}
		return all
	}
	position := 0
	var valued *kong.Flag // whose value comes next
	for _, word := range words[:len(words)-1] {
		switch {
		case valued != nil:
			valued = nil
		case strings.HasPrefix(word, "-"):
			i := slices.IndexFunc(flags(node), func(f *kong.Flag) bool {
				return "--"+f.Name == word || f.Short != 0 && "-"+string(f.Short) == word
			})
			if i >= 0 && !flags(node)[i].IsBool() {
				valued = flags(node)[i]
			}
		default:
			i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
			if i >= 0 {
				node = node.Children[i]
			} else {
				position++
			}
		}
	}
	add := func(prefix string, all []completion) {
		for _, c := range all {
			if c.word = prefix + c.word; strings.HasPrefix(c.word, last) {
				found = append(found, c)
			}
		}
	}
	name, _, equals := strings.Cut(last, "=")
	switch {
	case valued != nil:
		add(listed(last), valuesOf(valued.Value))
	case equals && strings.HasPrefix(last, "--"):
		for _, f := range flags(node) {
			if "--"+f.Name == name {
				add(name+"="+listed(strings.TrimPrefix(last, name+"=")), valuesOf(f.Value))
			}
		}
	case strings.HasPrefix(last, "-"):
		for _, f := range flags(node) {
			add("", []completion{{"--" + f.Name, f.Help}})
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden && position == 0 {
				add("", []completion{{child.Name, child.Help}})
			}
		}
		if len(node.Positional) > 0 {
			add("", valuesOf(node.Positional[min(position, len(node.Positional)-1)]))
		}
	}
	return found
}

// listed is what stands before the last comma of a list, with it.
func listed(text string) string { return text[:strings.LastIndexByte(text, ',')+1] }

// valuesOf are the values that a flag or an argument can have, where they can be
// listed.
func valuesOf(v *kong.Value) (all []completion) {
	some := func(about string, names ...string) []completion {
		for _, name := range names {
			all = append(all, completion{name, about})
		}
		return all
	}
	field := slices.IndexFunc(study.Fields, func(f study.Field) bool { return f.Flag == v.Name && f.Of != nil })
	switch {
	case v.Enum != "":
		return some("", slices.DeleteFunc(v.EnumSlice(), func(name string) bool { return name == "" })...)
	case v.Tag.Type == "run" || v.Flag == nil && v.Name == "run":
		some("the newest", latest)
		runs, err := run.List(runsFolder)
		if err != nil {
			return all
		}
		for _, r := range runs {
			some(r.Status(), r.Dir)
		}
		return all
	case v.Name == "study":
		return some("a study that ships", study.Presets()...)
	case v.Name == "strategy":
		return some("", study.StrategyNames()...)
	case v.Name == "model":
		for _, c := range reference.About {
			some(c.Note, c.Name)
		}
		if s, err := study.Preset("paper-models"); err == nil {
			some("a model of the paper", slices.DeleteFunc(s.Models, run.IsControl)...)
		}
		return all
	case field >= 0:
		return some("", study.Fields[field].Of(&study.Study{})...)
	}
	return nil
}
