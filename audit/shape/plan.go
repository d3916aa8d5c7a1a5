package shape

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/spatialstale/spatialstale/audit"
)

// Plan says what would bring the store itself to what the audit came to: calls
// of the store's own client, one a line, or a patch for files. It is for a person
// to read and to run; nothing here runs it. A stale entry that was removed is
// deleted, or, where a correction was proposed, changed to it. An id that several
// records share, of which not all go, is left to the person.
func (s *Store) Plan(verdicts []audit.Verdict) string {
	var b strings.Builder
	switch removed := s.removed(verdicts); s.Format {
	case Mem0, Letta, Graphiti, LangGraph, MCP:
		s.planCalls(&b, verdicts, removed)
	default:
		s.planPatch(&b, verdicts)
	}
	return b.String()
}

// planPatch writes a unified diff, as git apply and patch take it.
func (s *Store) planPatch(b *strings.Builder, verdicts []audit.Verdict) {
	after := map[string]string{}
	for _, f := range s.Apply(verdicts) {
		after[f.Name] = string(f.Data)
	}
	everything := make([]int, len(s.Memories))
	for i := range everything {
		everything[i] = i
	}
	s.proposals(b, verdicts, everything)
	for _, f := range s.files {
		now, left := after[f.name]
		name := path.Join(s.Dir, f.name)
		to := "b/" + name
		if !left {
			to = "/dev/null"
		}
		b.WriteString(udiff.Unified("a/"+name, to, string(f.doc.data), now))
	}
}

// proposals writes, as remarks, what entries could say.
func (s *Store) proposals(b *strings.Builder, verdicts []audit.Verdict, entries []int) {
	for _, i := range entries {
		if v := &verdicts[i]; v.Proposed != "" {
			fmt.Fprintf(b, "# %s could say: %s\n", oneLine(v.ID), oneLine(v.Proposed))
		}
	}
}

// planCalls writes the calls of a store with a service.
func (s *Store) planCalls(b *strings.Builder, verdicts []audit.Verdict, removed []bool) {
	same := map[string][]int{} // memories that a call cannot tell apart
	for i := range s.entries {
		key := s.key(i)
		same[key] = append(same[key], i)
	}
	blocks := map[string]string{}
	for _, f := range s.files {
		blockValues(f.doc, s, verdicts, removed, blocks)
	}
	done := map[string]bool{}
	for i, e := range s.entries {
		key := s.key(i)
		v := &verdicts[i]
		text := s.newText(i, v, removed[i])
		if text == e.body && !removed[i] || done[key] {
			continue
		}
		done[key] = true
		if e.kind == kindBlock {
			s.proposals(b, verdicts, same[key])
		} else {
			if all := same[key]; len(all) > 1 && slices.ContainsFunc(all, func(j int) bool { return removed[j] != removed[i] }) {
				fmt.Fprintf(b, "# %s is in the store %d times, and not all of them are stale: see to it by hand\n", oneLine(v.ID), len(all))
				continue
			}
		}
		fmt.Fprintln(b, s.call(&e, text, removed[i] && v.Proposed == "", blocks[key]))
	}
}

// key tells apart what the store's calls can tell apart.
func (s *Store) key(i int) string {
	e := &s.entries[i]
	path := e.path
	if e.kind == kindBlock {
		path = path[:1]
	}
	return fmt.Sprint(e.kind, "\x00", strings.Join(path, "\x00"))
}

// newText is what an entry would say.
func (s *Store) newText(i int, v *audit.Verdict, removed bool) string {
	switch {
	case v.Proposed != "":
		return v.Proposed
	case removed:
		return ""
	}
	return v.Words() + s.entries[i].body
}

// blockValues are the values of blocks as they would be, by the keys of their
// entries.
func blockValues(d *document, s *Store, verdicts []audit.Verdict, removed []bool, out map[string]string) {
	for _, in := range d.inner {
		if len(in.doc.places) > 0 {
			text, _ := in.doc.render(verdicts, removed)
			out[s.key(in.doc.places[0].entry)] = string(text)
		}
	}
}

// call is the call that changes an entry to a text, or deletes it.
func (s *Store) call(e *entry, text string, gone bool, block string) string {
	id := quote(cmp.Or(strings.Join(e.path, "/"), "?"))
	switch e.kind {
	case kindMem0:
		if gone {
			return fmt.Sprintf("client.delete(memory_id=%s)", id)
		}
		return fmt.Sprintf("client.update(memory_id=%s, text=%s)", id, quote(text))
	case kindPassage:
		drop := fmt.Sprintf("client.agents.passages.delete(%s, agent_id=agent_id)", id)
		if gone {
			return drop
		}
		return fmt.Sprintf("client.agents.passages.create(agent_id, text=%s)\n%s", quote(text), drop)
	case kindBlock:
		return fmt.Sprintf("client.blocks.update(%s, value=%s)", quote(e.path[0]), quote(block))
	case kindEdge:
		if gone {
			return fmt.Sprintf("await EntityEdge.delete_by_uuids(driver, [%s])", id)
		}
		return fmt.Sprintf("edge = await EntityEdge.get_by_uuid(driver, %s); await edge.load_fact_embedding(driver); edge.fact = %s; await edge.generate_embedding(embedder); await edge.save(driver)", id, quote(text))
	case kindItem:
		names := make([]string, len(e.path))
		for i, part := range e.path {
			names[i] = quote(part)
		}
		namespace, key := strings.Join(names[:len(names)-1], ", ")+",", names[len(names)-1]
		if gone {
			return fmt.Sprintf("store.delete((%s), %s)", namespace, key)
		}
		return fmt.Sprintf("# store.put((%s), %s, …) with the text %s", namespace, key, quote(text))
	case kindObservation:
		drop := fmt.Sprintf(`delete_observations {"deletions": [{"entityName": %s, "observations": [%s]}]}`, quote(e.path[0]), quote(e.path[1]))
		if gone {
			return drop
		}
		return fmt.Sprintf("%s\n"+`add_observations {"observations": [{"entityName": %s, "contents": [%s]}]}`, drop, quote(e.path[0]), quote(text))
	case kindRelation:
		relation := func(kind string) string {
			return fmt.Sprintf(`_relations {"relations": [{"from": %s, "to": %s, "relationType": %s}]}`, quote(e.path[0]), quote(e.path[1]), quote(kind))
		}
		if gone {
			return "delete" + relation(e.path[2])
		}
		return "delete" + relation(e.path[2]) + "\ncreate" + relation(text)
	}
	return fmt.Sprintf("# %s: no call of a store's is known for it", id)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
