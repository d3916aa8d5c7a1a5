package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/spatialstale/spatialstale/study"
)

// studyFlags choose a study and change it: besides those below, a flag for each
// setting of a study that has one (study.Fields).
type studyFlags struct {
	Study   string   `arg:"" optional:"" help:"Preset or YAML file (docs/studies.md); paper unless given. Presets: ${presets}."`
	Set     []string `sep:"none" placeholder:"KEY=VALUE" group:"What is run:" help:"Change a setting of the study, as in navigation.episodes=3; repeat for several."`
	Prompts string   `placeholder:"DIR" group:"What is run:" help:"Take prompt files from this folder in place of those that ship."`
	lakeFlags
	kong.Plugins // one struct, made by settingFlags
}

// lakeFlags choose among the lakes of a study.
type lakeFlags struct {
	Seed         []string `placeholder:"SEED" group:"What is run:" help:"Take this seed; repeat for several."`
	kong.Plugins          // one struct, made by settingFlags
}

// lakeSettings are the flags of settings that choose among lakes.
var lakeSettings = []string{"seeds", "size", "regime"}

// settingFlags returns a struct for kong with a flag for each setting of a study
// that has one: lists as []string, switches as bool, the rest as *string.
func settingFlags(lakes bool) any {
	var fields []reflect.StructField
	for i := range study.Fields {
		f := &study.Fields[i]
		name := fieldName(f.Flag)
		if f.Flag == "" || slices.Contains(lakeSettings, f.Flag) != lakes || slices.ContainsFunc(fields, func(o reflect.StructField) bool { return o.Name == name }) {
			continue
		}
		list, boolean := f.Kind()
		field := reflect.StructField{Name: name, Type: reflect.TypeFor[*string]()}
		tag := fmt.Sprintf("name:%q group:%q ", f.Flag, "What is run:")
		switch {
		case boolean:
			field.Type = reflect.TypeFor[bool]()
		case f.Flag == "seeds":
			tag += `placeholder:"N" `
		case list:
			field.Type = reflect.TypeFor[[]string]()
			tag += fmt.Sprintf("placeholder:%q ", strings.ToUpper(f.Flag))
			if f.Flag == "model" {
				tag += `sep:"none" `
			}
		default:
			tag += `placeholder:"X" `
		}
		about := strings.ToUpper(f.About[:1]) + f.About[1:] + "."
		if f.Flag == "strategy" {
			about = "Strategies: no-memory, no-filter, self-verify, omcd, oracle, score. Detection takes those that ask a model."
		}
		field.Tag = reflect.StructTag(tag + fmt.Sprintf("help:%q", about))
		fields = append(fields, field)
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// fieldName is a flag's name as that of a Go field.
func fieldName(flag string) string {
	name := ""
	for word := range strings.SplitSeq(flag, "-") {
		if word != "" {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return name
}

// given returns the values of the setting flags that were given, and their names
// in the order in which they are applied: tasks first, which others rest on.
func given(plugins kong.Plugins) (flags []string, values map[string][]string) {
	values = map[string][]string{}
	for _, plugin := range plugins {
		v := reflect.ValueOf(plugin).Elem()
		for i := range v.NumField() {
			flag := v.Type().Field(i).Tag.Get("name")
			switch value := v.Field(i).Interface().(type) {
			case bool:
				if value {
					values[flag] = []string{"true"}
				}
			case *string:
				if value != nil {
					values[flag] = []string{*value}
				}
			case []string:
				if len(value) > 0 {
					values[flag] = value
				}
			}
			if values[flag] == nil {
				continue
			}
			if flag == "task" {
				flags = slices.Insert(flags, 0, flag)
			} else {
				flags = append(flags, flag)
			}
		}
	}
	return flags, values
}

// build returns the study that the flags describe.
func (f *studyFlags) build() (*study.Study, error) {
	s, err := f.base()
	if err != nil {
		return nil, usageError{err}
	}
	return f.change(s)
}

// change applies the flags to a study and returns it.
func (f *studyFlags) change(s *study.Study) (*study.Study, error) {
	for _, setting := range f.Set {
		if err := s.Set(setting); err != nil {
			return nil, usageError{err}
		}
	}
	if f.Prompts != "" {
		if err := s.ReadPrompts(f.Prompts); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(f.lakeFlags.change(s), apply(s, f.Plugins)); err != nil {
		return nil, usageError{err}
	}
	if err := s.Check(); err != nil {
		return nil, usageError{err}
	}
	return s, nil
}

func (f *lakeFlags) change(s *study.Study) error {
	flags, _ := given(f.Plugins)
	if len(f.Seed) > 0 {
		if slices.Contains(flags, "seeds") {
			return errors.New("--seeds takes the first seeds of the study and --seed names them; give one of the two")
		}
		if err := s.Set("seeds=[" + strings.Join(f.Seed, ", ") + "]"); err != nil {
			return fmt.Errorf("--seed: %w", err)
		}
	}
	return apply(s, f.Plugins)
}

func apply(s *study.Study, plugins kong.Plugins) error {
	flags, values := given(plugins)
	for _, flag := range flags {
		if err := s.SetFlag(flag, values[flag]); err != nil {
			return err
		}
	}
	return nil
}

// base is the study before the flags change it: a file where the name looks
// like one, a preset otherwise.
func (f *studyFlags) base() (*study.Study, error) {
	if f.Study == "" {
		return study.Preset("paper")
	}
	if strings.ContainsAny(f.Study, "./\\") {
		return study.ReadFile(f.Study)
	}
	s, err := study.Preset(f.Study)
	if err != nil {
		return nil, fmt.Errorf("%w; a file's name ends in .yaml", err)
	}
	return s, nil
}
