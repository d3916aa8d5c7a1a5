package audit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
)

// An assistant drops what it remembers and no longer holds before it answers.
func ExampleFilter() {
	// model, err := audit.Open("openai/gpt-4o")
	model := &audittest.Model{Rule: audittest.Gone}
	kept, verdicts, err := audit.Filter(context.Background(), model, []audit.Memory{
		{ID: "a", Text: "vim is the user's editor."},
		{ID: "b", Text: "redis runs on the test machine."},
	}, audit.Observation{Text: "$ systemctl status\nredis is gone"})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range kept {
		fmt.Println("kept:", m.Text)
	}
	for _, v := range verdicts {
		fmt.Println(v.ID, v.Status)
	}
	// Output:
	// kept: vim is the user's editor.
	// a not-covered
	// b stale
}

// A session asks again only about what has changed.
func ExampleSession() {
	model := &audittest.Model{Rule: audittest.Gone}
	auditor, err := audit.New(model, audit.Options{
		Context:    "The entries are a coding agent's notes on a repository; the observation lists its files.",
		Policy:     audit.Mark,
		Protect:    []string{"rule"},
		MaxRemoved: 20,
	})
	if err != nil {
		log.Fatal(err)
	}
	session := audit.NewSession(auditor, 0)
	notes := []audit.Memory{
		{ID: "1", Text: "main.py is the entry point."},
		{ID: "2", Text: "Never push to main.", Kind: "rule"},
	}
	for _, seen := range []string{"main.py is gone\napp.py", "main.py is gone\napp.py"} {
		result, err := session.Audit(context.Background(), notes, audit.Observation{Text: seen})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q after %d calls\n", result.Kept[0].Text, len(result.Usage))
	}
	// Output:
	// "[may no longer hold] main.py is the entry point." after 1 calls
	// "[may no longer hold] main.py is the entry point." after 0 calls
}
