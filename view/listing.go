package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
)

// A listing holds the trials of a large run that has ended, in short, so that its
// pages need not go through the whole database each time.
type listing struct {
	of      time.Time // when the run was last written to
	rows    []store.Row
	choices map[string][]string
}

// A run is listed from so many trials on, and up to where they would take too much
// memory. The last runs that somebody looked at are kept.
const leastListed, mostListed, keptListings = 5_000, 500_000, 3

func listed(l *run.Listed) bool {
	return l.Err == nil && !l.Writing && l.Planned >= leastListed && l.Planned <= mostListed
}

// warm lists the newest large run before somebody asks for it.
func (v *Viewer) warm(runs []run.Listed) {
	i := slices.IndexFunc(runs, func(l run.Listed) bool { return listed(&l) })
	if i < 0 || !v.warmed.CompareAndSwap(false, true) {
		return
	}
	l := runs[i]
	v.working.Go(func() {
		stored, err := run.Open(l.Dir)
		if err != nil {
			return // who looks at it is told
		}
		defer stored.Close()
		_, _ = v.listing(&l, stored)
	})
}

// rowsOf returns the trials of a page, how many there are in all, and what columns
// can be chosen by.
func (v *Viewer) rowsOf(l *run.Listed, stored *run.Stored, q store.Query) (rows []store.Row, all int, choices map[string][]string, err error) {
	if !listed(l) {
		if choices, err = stored.Choices(); err == nil {
			rows, all, err = stored.Rows(q)
		}
		return rows, all, choices, err
	}
	list, err := v.listing(l, stored)
	if err != nil {
		return nil, 0, nil, err
	}
	if q.Order != "" && !slices.Contains(store.Columns(), q.Order) {
		return nil, 0, nil, fmt.Errorf("trials have no column %q to order them by", q.Order)
	}
	var found []*store.Row
	for i := range list.rows {
		if fits(&list.rows[i], q.Where) {
			found = append(found, &list.rows[i])
		}
	}
	if q.Order != "" {
		sorted(found, q.Order, q.Desc)
	}
	page := found[min(q.Offset, len(found)):min(q.Offset+q.Limit, len(found))]
	keys := make([]string, len(page))
	at := map[string]int{}
	for i, r := range page {
		keys[i], at[r.Key] = r.Key, i
	}
	if len(keys) == 0 {
		return nil, len(found), list.choices, nil
	}
	rows, _, err = stored.Rows(store.Query{Where: map[string][]string{"trial": keys}})
	slices.SortFunc(rows, func(x, y store.Row) int { return at[x.Key] - at[y.Key] })
	return rows, len(found), list.choices, err
}

func (v *Viewer) listing(l *run.Listed, stored *run.Stored) (*listing, error) {
	v.listingOne.Lock() // many who ask at once read once
	defer v.listingOne.Unlock()
	i := slices.IndexFunc(v.listings, func(k keptListing) bool { return k.dir == l.Dir && k.of.Equal(l.Updated) })
	if i >= 0 {
		return v.listings[i].listing, nil
	}
	list := &listing{of: l.Updated}
	var err error
	if list.choices, err = stored.Choices(); err == nil {
		list.rows, _, err = stored.Rows(store.Query{Brief: true})
	}
	if err != nil {
		return nil, err
	}
	v.listings = slices.DeleteFunc(v.listings, func(k keptListing) bool { return k.dir == l.Dir })
	v.listings = append(v.listings, keptListing{l.Dir, list})
	if len(v.listings) > keptListings {
		v.listings = v.listings[1:]
	}
	return list, nil
}

type keptListing struct {
	dir string
	*listing
}

func fits(r *store.Row, where map[string][]string) bool {
	for name, values := range where {
		if !slices.Contains(values, valueIn(name, r)) {
			return false
		}
	}
	return true
}

// valueIn is a row's value in a column as filters have it.
func valueIn(name string, r *store.Row) string {
	switch name {
	case "size":
		return fmt.Sprintf("%dx%d", r.Spec.Rows, r.Cols)
	case "batch":
		return strconv.Itoa(r.Batch)
	case "episode":
		return strconv.Itoa(r.Episode)
	}
	return cell(name, *r)
}

// sorted orders rows by a column: numbers as numbers, and what has none last.
func sorted(rows []*store.Row, name string, desc bool) {
	type keyed struct {
		row    *store.Row
		none   bool
		number int
		text   string
	}
	all := make([]keyed, len(rows))
	for i, r := range rows {
		k := keyed{row: r, text: valueIn(name, r)}
		k.none = k.text == ""
		if n, err := strconv.Atoi(k.text); err == nil {
			k.number, k.text = n, ""
		}
		all[i] = k
	}
	slices.SortStableFunc(all, func(x, y keyed) int {
		switch order := cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.text, y.text)); {
		case x.none != y.none:
			return map[bool]int{true: 1, false: -1}[x.none]
		case desc:
			return -order
		default:
			return order
		}
	})
	for i := range all {
		rows[i] = all[i].row
	}
}
