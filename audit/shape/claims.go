package shape

import (
	"strconv"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/audit"
)

// claims are what a record says of itself, in its own fields or among its
// metadata. A field that cannot be read says nothing.
func claims(record *node) audit.Claims {
	find := func(names ...string) *node {
		for _, from := range []*node{record, record.get("metadata")} {
			if !from.is('{') {
				continue
			}
			for _, name := range names {
				if m := from.get(name); m != nil && m.kind != 'n' {
					return m
				}
			}
		}
		return &node{kind: 'n'}
	}
	return audit.Claims{
		Kind:       textOf(find("kind", "memory_type", "type")),
		Protected:  find("protected", "pinned", "immutable").text == "true",
		ReplacedBy: textOf(find("replaced_by", "superseded_by")),
		Expires:    earliest(when(find("expires").text, 1), when(find("expires_at").text, 1), when(find("expiration_date", "valid_until").text, 1)),
		InvalidAt:  earliest(when(find("invalid_at").text, 0), when(find("valid_to").text, 1), when(find("expired_at").text, 0)),
	}
}

func textOf(n *node) string {
	if n.is('"') {
		return n.text
	}
	return ""
}

// when reads a time: RFC 3339 with or without a zone (UTC), a date, after so many
// days of which it is, or seconds or milliseconds since 1970. It is zero for
// anything else.
func when(text string, days int) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t.AddDate(0, 0, days)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 1e9 && n < 1e14 {
		if n < 1e11 {
			n *= 1000
		}
		return time.UnixMilli(int64(n)).UTC()
	}
	return time.Time{}
}

// earliest is the first of some times, of which those that are zero are none.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
