package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
)

// A run is created with its plan, filled by any number of goroutines, and read
// back in the plan's order.
func Example() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "runs", "first")

	plan := []record.Spec{
		{Key: "7f3a", Task: record.Detect, Model: "ref/reader", Seed: 1734},
		{Key: "c01d", Task: record.Detect, Model: "ref/reader", Seed: 4810},
		{Key: "99e2", Task: record.Detect, Model: "ref/reader", Seed: 7822},
	}
	w, err := store.Create(dir, record.Manifest{Program: "v0.1.0"}, slices.Values(plan), nil, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, i := range []int{1, 0} {
		t := &record.Trial{Version: record.Version, Spec: plan[i], Outcome: record.Done}
		if err := w.Call(ctx, &record.Call{Trial: plan[i].Key, Slot: "window0/batch0", Reply: `{"judgments": []}`}); err != nil {
			log.Fatal(err)
		}
		if err := w.Trial(ctx, t); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := store.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for t, err := range r.Trials() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Key, t.Seed, t.Outcome)
	}
	missing, err := r.Missing()
	fmt.Println(missing, "missing", err)
	// Output:
	// 7f3a 1734 done
	// c01d 4810 done
	// 1 missing <nil>
}
