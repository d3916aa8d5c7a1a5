package store

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// Integrity checks what a run can be checked for without its study: the
// database's structure, that it holds our tables and views and nothing else,
// that rows refer to rows that there are, the versions, and that the manifest is
// that of the plan. It returns what it finds wrong, nothing for a sound run.
func (r *Run) Integrity() (problems []string, err error) {
	lines, err := values[string](r, "the database", "PRAGMA integrity_check(20)")
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		if line != "ok" {
			problems = append(problems, "the database: "+line)
		}
	}
	strange, err := r.strangeObjects()
	if err != nil {
		return nil, err
	}
	for _, s := range strange {
		problems = append(problems, "the database has what no version of this program makes: "+s)
	}
	orphans, err := values[string](r, "the database", `SELECT count(*) || ' rows of ' || "table" || ' refer to no row of ' || parent FROM pragma_foreign_key_check GROUP BY "table", parent`)
	if err != nil {
		return nil, err
	}
	problems = append(problems, orphans...)
	for _, q := range []struct{ what, query string }{
		{"texts and pictures are of no kind that there is", "SELECT count(*) FROM blobs WHERE kind NOT IN ('text', 'png')"},
		{"prompts have a part that is not there", "SELECT count(DISTINCT prompt) FROM (SELECT q.id AS prompt, b.id FROM prompts q, json_each(q.parts) e LEFT JOIN blobs b ON b.id = e.value) WHERE id IS NULL"},
		{"trials that ended have a record of no known version", fmt.Sprintf("SELECT count(*) FROM results WHERE version NOT BETWEEN 1 AND %d", record.Version)},
		{"calls say that they were made in no time or less than none", "SELECT count(*) FROM calls WHERE latency_ns < 0"},
	} {
		var n int
		if err := r.db.queryRow(q.query).Scan(&n); err != nil {
			return nil, r.broken("the database", err)
		}
		if n != 0 {
			problems = append(problems, fmt.Sprintf("%d %s", n, q.what))
		}
	}
	return r.manifestProblems(problems)
}

// strangeObjects lists what the database has beside the schema, or otherwise
// than there: a table, a view, an index, a trigger.
func (r *Run) strangeObjects() ([]string, error) {
	const query = "SELECT type || ' ' || name || char(10) || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
	found, err := values[string](r, "the schema", query)
	if err != nil {
		return nil, err
	}
	fresh, err := connectTemporary(r.db.path)
	if err != nil {
		return nil, explain(r.db.path, err)
	}
	defer fresh.close()
	if err := fresh.exec(schema); err != nil {
		return nil, explain(r.db.path, err)
	}
	ours, err := values[string](&Run{db: fresh}, "the schema", query)
	if err != nil {
		return nil, err
	}
	var strange []string
	for _, object := range found {
		if !slices.Contains(ours, object) {
			name, _, _ := strings.Cut(object, "\n")
			strange = append(strange, name)
		}
	}
	return strange, nil
}

// manifestProblems adds what is wrong with the manifest: its version, its models,
// which must be those of the plan, and its copy for people.
func (r *Run) manifestProblems(problems []string) ([]string, error) {
	m := &r.manifest
	if m.Version < 1 || m.Version > record.Version {
		problems = append(problems, fmt.Sprintf("the manifest has version %d; this program knows 1 to %d", m.Version, record.Version))
	}
	planned, err := values[string](r, "the plan", "SELECT DISTINCT model FROM plan ORDER BY model")
	if err != nil {
		return nil, err
	}
	var listed []string
	for i := range m.Models {
		if name := m.Models[i].Name; record.IsPlanned(name) {
			listed = append(listed, name)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(planned, listed) {
		problems = append(problems, fmt.Sprintf("the plan is for the models %s, the manifest lists %s", strings.Join(planned, ", "), strings.Join(listed, ", ")))
	}
	path := filepath.Join(filepath.Dir(r.db.path), ManifestName)
	want, err := manifestJSON(*m)
	if err != nil {
		return nil, err
	}
	if there, err := os.ReadFile(path); err != nil {
		problems = append(problems, err.Error())
	} else if !bytes.Equal(there, want) {
		problems = append(problems, path+" says otherwise than the database's copy, which counts")
	}
	return problems, nil
}

// Failed counts the trials that ended as failed.
func (r *Run) Failed() (int, error) {
	var n int
	if err := r.db.queryRow("SELECT count(*) FROM results WHERE outcome = ?", record.Failed).Scan(&n); err != nil {
		return 0, r.broken("the results", err)
	}
	return n, nil
}

// Parts returns every stored text and picture with the sum it is stored under;
// a picture's the caller may compare with its pixels. One that cannot be read,
// or a text whose sum is another, is an error; the others still come.
func (r *Run) Parts() iter.Seq2[record.Part, error] {
	return func(yield func(record.Part, error) bool) {
		ids, err := values[int64](r, "the texts and pictures", "SELECT id FROM blobs ORDER BY id")
		if err != nil {
			yield(record.Part{}, err)
			return
		}
		for _, id := range ids {
			p, err := r.part(id)
			if err != nil {
				p, err = record.Part{}, r.broken("a text or picture", err)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}
