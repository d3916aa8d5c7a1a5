package stats

import (
	"fmt"
	"strings"
)

func sprint(args ...any) string { return strings.TrimSpace(fmt.Sprintln(args...)) }
