package record

import (
	"runtime/debug"
)

// Program is the version of the program: the module's version and, for a build from a checkout, its commit.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	if v == "" || v == "(devel)" {
		return "devel"
	}
	return v
}
