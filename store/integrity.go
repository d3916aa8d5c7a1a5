package store

import (
	"database/sql"
	"fmt"
	"iter"

	"github.com/spatialstale/spatialstale/record"
)

// Integrity has SQLite check the database's structure and returns what it finds
// wrong, nothing for a sound one.
func (r *Run) Integrity() ([]string, error) {
	rows, err := r.db.query("PRAGMA integrity_check(20)")
	if err != nil {
		return nil, r.broken("the database", err)
	}
	defer rows.Close()
	var problems []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, r.broken("the database", err)
		}
		if line != "ok" {
			problems = append(problems, line)
		}
	}
	return problems, rows.Err()
}

// Redundancies compares what the database says twice, in a column and inside a
// record, and hands each difference to found.
func (r *Run) Redundancies(found func(problem string)) error {
	ordinal := 0
	for t, err := range r.Trials() {
		if err != nil {
			return err
		}
		var outcome string
		err := r.db.queryRow("SELECT r.outcome FROM results r JOIN trials t ON t.ordinal = r.trial WHERE t.key = ?", t.Key).Scan(&outcome)
		if err != nil {
			return r.broken("the results", err)
		}
		if outcome != t.Outcome {
			found(fmt.Sprintf("trial %s is listed as %s, its record says %s", t.Key, outcome, t.Outcome))
		}
	}
	for in, err := range r.Instances() {
		if err != nil {
			return err
		}
		var n int
		if err := r.db.queryRow("SELECT count(*) FROM instances WHERE ordinal = ? AND seed = ? AND regime = ?", ordinal, in.Seed, in.Regime).Scan(&n); err != nil {
			return r.broken("the instances", err)
		}
		if n != 1 {
			found(fmt.Sprintf("instance %d is listed otherwise than its record says: seed %d under %s", ordinal, in.Seed, in.Regime))
		}
		ordinal++
	}
	for _, q := range []struct{ what, query string }{
		{"rows of calls hold another number of calls than they say, or stand out of order", "SELECT count(*) FROM calls WHERE count < 1 OR count > 1000000 OR id > (SELECT count(*) FROM calls) + 1000000"},
		{"rows of texts and pictures are of no kind that there is", "SELECT count(*) FROM blobs WHERE kind NOT IN ('text', 'png')"},
		{"texts and pictures are missing in the list of sums", "SELECT (SELECT coalesce(sum(length(sums) / 32), 0) FROM blobs) - (SELECT count(*) FROM sums)"},
	} {
		var n int
		if err := r.db.queryRow(q.query).Scan(&n); err != nil {
			return r.broken("the database", err)
		}
		if n != 0 {
			found(fmt.Sprintf("%d %s", n, q.what))
		}
	}
	return nil
}

// Failed counts the trials that ended as failed.
func (r *Run) Failed() (int, error) {
	var n int
	if err := r.db.queryRow("SELECT count(*) FROM results WHERE outcome = ?", record.Failed).Scan(&n); err != nil {
		return 0, r.broken("the results", err)
	}
	return n, nil
}

// Parts returns every stored text and picture with the sum it is stored under,
// which the caller may compare with the content. A row that cannot be read is
// an error; the others still come.
func (r *Run) Parts() iter.Seq2[record.Part, error] {
	return func(yield func(record.Part, error) bool) {
		var numbers []uint64
		err := func() error {
			rows, err := r.db.query("SELECT id FROM blobs ORDER BY id")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var n uint64
				if err := rows.Scan(&n); err != nil {
					return err
				}
				numbers = append(numbers, n)
			}
			return rows.Err()
		}()
		if err != nil {
			yield(record.Part{}, r.broken("the texts and pictures", err))
			return
		}
		for _, n := range numbers {
			parts, err := r.blobs.read(n)
			if err != nil {
				if !yield(record.Part{}, r.broken(fmt.Sprintf("row %d of the texts and pictures", n), err)) {
					return
				}
				continue
			}
			for _, p := range parts {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// Orphans counts calls and results whose trial is not in the plan, which no
// Writer leaves behind.
func (r *Run) Orphans() (int, error) {
	var n sql.NullInt64
	err := r.db.queryRow(`SELECT (SELECT count(*) FROM calls WHERE trial NOT IN (SELECT ordinal FROM trials))
		+ (SELECT count(*) FROM results WHERE trial NOT IN (SELECT ordinal FROM trials))`).Scan(&n)
	if err != nil {
		return 0, r.broken("the plan", err)
	}
	return int(n.Int64), nil
}
