package judge_test

import (
	"context"
	"fmt"
	"log"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
)

// parrot stands in for a model.
type parrot string

func (p parrot) Generate(context.Context, *llm.Request) (*llm.Reply, error) {
	return &llm.Reply{Text: string(p), Finish: llm.FinishStop}, nil
}

// An assistant drops the memories that what it sees now shows to be stale,
// before it uses the rest.
func Example() {
	model := parrot(`{"judgments": [
		{"memory_id": "a", "is_stale": false, "confidence": 0.8, "reasoning": "Nothing is said about the editor."},
		{"memory_id": "b", "is_stale": true, "confidence": 0.99, "reasoning": "The freeze was lifted."}
	]}`)
	auditor, err := judge.New(model, judge.Options{
		Context: "The entries are an assistant's notes on a team. The observation is the team's chat.",
	})
	if err != nil {
		log.Fatal(err)
	}
	notes := []judge.Entry{
		{ID: "a", Parts: []llm.Part{llm.Text("The user's editor is Vim.")}},
		{ID: "b", Parts: []llm.Part{llm.Text("A deploy freeze is active.")}},
	}
	session := judge.NewSession(auditor, notes, judge.OnEvent, judge.Remove)

	chat := []llm.Part{llm.Text("Ana: the deploy freeze is over, ship it!\n")}
	view, err := session.View(context.Background(), "chat-17", chat, false)
	if err != nil {
		log.Fatal(err)
	}
	for _, note := range view.Entries {
		fmt.Println("kept:", note.Parts[0].Text())
	}
	for _, v := range view.Result.Verdicts {
		fmt.Println(v.ID, v.Status, v.Reason)
	}
	// Output:
	// kept: The user's editor is Vim.
	// a valid Nothing is said about the editor.
	// b stale The freeze was lifted.
}
