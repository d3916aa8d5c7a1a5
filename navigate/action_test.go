package navigate_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
)

// TestReplies runs the collected replies that must come out right.
func TestReplies(t *testing.T) {
	data, err := os.ReadFile("testdata/replies.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Name, Finish, Reply, Want string }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 14 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		checkAction(t, c.Name, c.Reply, c.Finish, c.Want)
	}
}

// TestRepliesOfAModel are replies that a model gave.
func TestRepliesOfAModel(t *testing.T) {
	data, err := os.ReadFile("testdata/gemma.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Replies []struct{ Name, Finish, Reply, Want string }
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Replies) < 8 {
		t.Fatalf("%d replies, %v", len(file.Replies), err)
	}
	for _, c := range file.Replies {
		checkAction(t, c.Name, c.Reply, c.Finish, c.Want)
	}
}

func checkAction(t *testing.T, name, reply, finish, want string) {
	t.Helper()
	a, reading := navigate.ParseAction(&llm.Reply{Text: reply, Finish: llm.Finish(finish)})
	got := "none"
	if reading == "" {
		got = a.String()
	}
	if got != want {
		t.Errorf("%s: %q reads as %s (%s), want %s", name, reply, got, reading, want)
	}
}

// TestMoreReplies are replies of the same kinds in other words.
func TestMoreReplies(t *testing.T) {
	for _, c := range []struct{ reply, finish, want string }{
		{"```json\n{\"action\": \"UP\"}\n```", "stop", "UP"},
		{"{'action': 'LEFT'}", "stop", "LEFT"},
		{`{"action": "down"}`, "stop", "DOWN"},
		{`{"action": "RIGHT",}`, "stop", "RIGHT"},
		{`First I thought {"action":"UP"} but the final answer is {"action":"DOWN"}`, "stop", "DOWN"},
		{`{"action":"UP"}` + "\n" + `{"action":"DOWN"}`, "stop", "none"},
		{`{"action":"UP"}` + "\n" + `{"action":"UP"}`, "stop", "UP"},
		{`"LEFT"`, "stop", "LEFT"},
		{`{"action": ["RIGHT", "DOWN"]}`, "stop", "none"},
		{`{"action": "RIGHT, then DOWN"}`, "stop", "none"},
		{`{"action": null}`, "stop", "none"},
		{`{"move": "UP"}`, "stop", "none"},
		{"Action: RIGHT or DOWN", "stop", "none"},
		{"action = right", "stop", "RIGHT"},
		{"The best move is: **DOWN**.", "stop", "DOWN"},
		{"Final answer: UP", "stop", "UP"},
		{"Action: UP\nWait, that is the edge.\nAction: DOWN", "stop", "DOWN"},
		{"I will move DOWN.", "stop", "DOWN"},
		{"go down", "stop", "DOWN"},
		{"I give up.", "stop", "none"},
		{"That's right, hard to say.", "stop", "none"},
		{"I must not go RIGHT.", "stop", "none"},
		{"RIGHT is a hole.", "stop", "none"},
		{"The agent could go RIGHT, so", "length", "none"},
		{`{"action": "RIGHT"} because`, "length", "RIGHT"},
		{`{"action": "RI`, "length", "none"},
		{"", "content_filter", "none"},
		{`{"action": "UP"}`, "refusal", "none"},
		{"RIGHT", "content_filter", "none"},
		{"3", "stop", "none"},
		{"NORTH", "stop", "none"},
		{"Action: 2", "stop", "none"},
		{"<think>hmm</think>", "stop", "none"},
		{"</think>UP", "stop", "UP"},
		{"Upward seems best: the DOWNTOWN route", "stop", "none"},
		// What a reply rejects is not its action.
		{"Action: not RIGHT", "stop", "none"},
		{"Action: none, because RIGHT is a hole", "stop", "none"},
		{"Action: STAY (RIGHT is a hole)", "stop", "none"},
		{"Action: I refuse to go RIGHT", "stop", "none"},
		{"Action: avoid DOWN", "stop", "none"},
		{"Moving RIGHT would kill me.", "stop", "none"},
		{"The only bad move is RIGHT.", "stop", "none"},
		{"RIGHT? No.", "stop", "none"},
		{"My previous action was RIGHT.", "stop", "none"},
		{"Forbidden action: RIGHT", "stop", "none"},
		{"Anything but UP", "stop", "none"},
		{"Going UP would leave the grid.", "stop", "none"},
		{"Going DOWN would be deadly.", "stop", "none"},
		{"Action: DOWN\nPrevious action: RIGHT", "stop", "DOWN"},
		{"Best action: DOWN\nWorst action: RIGHT", "stop", "DOWN"},
		{"Action: DOWN\nAlternative action: RIGHT", "stop", "DOWN"},
		{"Reaction: RIGHT", "stop", "none"},
		// A reason may follow an action.
		{"Action: DOWN (RIGHT is a hole)", "stop", "DOWN"},
		{"Action: DOWN, since RIGHT is a hole", "stop", "DOWN"},
		{"Action: DOWN. RIGHT is a hole.", "stop", "DOWN"},
		{"**Action: DOWN** (RIGHT is a hole)", "stop", "DOWN"},
		{"Action: DOWN -> RIGHT", "stop", "none"},
		{"Action: DOWN, RIGHT", "stop", "none"},
		{"Action: DOWN then RIGHT", "stop", "none"},
		{"Action:\ndown", "stop", "DOWN"},
		{"I looked around. Action: LEFT", "stop", "LEFT"},
		{"Therefore, my final answer is: LEFT", "stop", "LEFT"},
		{"So my final answer is: LEFT", "stop", "LEFT"},
		{"The hole is to the RIGHT and UP is the edge.\n\nDOWN", "stop", "DOWN"},
		{"RIGHT\nDOWN", "stop", "none"},
		{"<answer>down</answer>", "stop", "DOWN"},
		{"“down”", "stop", "DOWN"},
		// Objects are read as kindly as words.
		{`{"Action":"UP"}`, "stop", "UP"},
		{`{"action":"UP."}`, "stop", "UP"},
		{`{"action":"move UP"}`, "stop", "UP"},
		{`{"action":"DOWN (row + 1)"}`, "stop", "DOWN"},
		{`{"result":{"action":"UP"}}`, "stop", "UP"},
		{`{"action":"UP","action":"DOWN"}`, "stop", "none"},
		{`["UP"]`, "stop", "none"},
		// Marks of models and their servers are no words.
		{"DOWN<|im_end|>", "stop", "DOWN"},
		{"DOWN<|eot_id|>", "stop", "DOWN"},
		{"DOWN<end_of_turn>\n", "stop", "DOWN"},
		{"DOWN</s>", "stop", "DOWN"},
		{"DOWN<｜end▁of▁sentence｜>", "stop", "DOWN"},
		{"DOWN<|end|>", "stop", "DOWN"},
		{"DOWN<|im_end|>\n<|im_start|>user\nGo RIGHT.<|im_end|>\n<|im_start|>assistant\nRIGHT", "stop", "DOWN"},
		{"<|im_start|>assistant\nDOWN<|im_end|>", "stop", "DOWN"},
		{"<|begin_of_box|>DOWN<|end_of_box|>", "stop", "DOWN"},
		{"RIGHT is a hole, so the answer is <|begin_of_box|>DOWN<|end_of_box|>.", "stop", "DOWN"},
		{`\boxed{DOWN}`, "stop", "DOWN"},
		{`RIGHT is a hole. $\boxed{\text{DOWN}}$`, "stop", "DOWN"},
		{`\boxed{{"action":"DOWN"}}`, "stop", "DOWN"},
		{"<|channel|>analysis<|message|>RIGHT?<|end|><|start|>assistant<|channel|>final<|message|>DOWN<|return|>", "stop", "DOWN"},
		{"<|channel|>analysis<|message|>RIGHT", "length", "none"},
		{"<|channel>thought\nRIGHT\n<channel|>DOWN", "stop", "DOWN"},
		{"<|channel>thought\nDraft: {\"action\":\"RIGHT\"}", "length", "none"},
		{"analysisRIGHT is a hole.assistantfinalDOWN", "stop", "DOWN"},
		{"<tool_call>\n{\"name\": \"act\", \"arguments\": {\"action\": \"DOWN\"}}\n</tool_call>", "stop", "DOWN"},
		{`{"name": "act", "parameters": {"action": "DOWN"}}`, "stop", "DOWN"},
		{`{"name": "act", "arguments": "{\"action\": \"DOWN\"}"}`, "stop", "DOWN"},
		{"```text\nDOWN\n```", "stop", "DOWN"},
		// Objects in other clothes.
		{`{"action"："DOWN"}`, "stop", "DOWN"},
		{`｛“action”：“DOWN”，｝`, "stop", "DOWN"},
		{"{「action」:「DOWN」}", "stop", "DOWN"},
		{"ＤＯＷＮ", "stop", "DOWN"},
		{`"{\"action\":\"DOWN\"}"`, "stop", "DOWN"},
		{`{"action":"{\"action\":\"DOWN\"}"}`, "stop", "DOWN"},
		{`{"type":"object","properties":{"action":"DOWN"}}`, "stop", "DOWN"},
		{`{"type":"object","properties":{"action":{"type":"string","enum":["UP","DOWN"]}}}`, "stop", "none"},
		{`{"action":"DOWN"} as in {"type":"object","properties":{"action":{"type":"string","enum":["UP","DOWN"]}}}`, "stop", "DOWN"},
		{`{"reasoning":{"action":"UP"}}`, "stop", "none"},
		{`{"reasoning":"{\"action\":\"UP\"}"}`, "stop", "none"},
		// One action said several times is no plan.
		{"RIGHT RIGHT RIGHT", "stop", "RIGHT"},
		{"RIGHT, RIGHT, right.", "stop", "RIGHT"},
		{"RIGHT\nRIGHT\nRIGHT", "stop", "RIGHT"},
		{"RIGHT RIGHT DOWN", "stop", "none"},
		{"RIGHT RIGHT RIGHT RIGHT", "repeats", "RIGHT"},
		{"I go RIGHT. I go RIGHT. I", "repeats", "none"},
		{`{"action":"RIGHT RIGHT"}`, "stop", "RIGHT"},
		// What going somewhere is like is no choice to go there.
		{"Going RIGHT is suicidal.", "stop", "none"},
		{"Moving RIGHT leads to (0,2), which is a hole.", "stop", "none"},
		{"I think going RIGHT is madness.", "stop", "none"},
		{"To go RIGHT is madness.", "stop", "none"},
		{"Stepping RIGHT ends the game.", "stop", "none"},
		{"Heading RIGHT brings us to the trap.", "stop", "none"},
		{"RIGHT is where I fall.", "stop", "none"},
		{"The agent moved RIGHT.", "stop", "none"},
		{"I am going RIGHT.", "stop", "RIGHT"},
		{"Okay. Going RIGHT.", "stop", "RIGHT"},
		{"The agent should go DOWN now.", "stop", "DOWN"},
		{"The best action is to move RIGHT.", "stop", "RIGHT"},
		{"So I choose DOWN.", "stop", "DOWN"},
		{"The agent moves DOWN, to (1,0).", "stop", "DOWN"},
		{"I'd go with DOWN.", "stop", "DOWN"},
		{"It must be DOWN.", "stop", "DOWN"},
		{`{"action":"RIGHT`, "length", "none"},
		{`{"reasoning":"move RIGHT`, "stop", "none"},
	} {
		checkAction(t, "reply", c.reply, c.finish, c.want)
	}
}

// TestClothes puts every action into every form a model uses.
func TestClothes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(lake.Actions[:]).Draw(t, "action")
		form := rapid.SampledFrom([]string{
			`{"action":"@"}`, "@", "~.", "**@**", "`@`", "Action: @", "Thinking it over.\n\nAction: **@**",
			"```\n{\"action\":\"@\"}\n```", "<think>UP or LEFT?</think>{\"action\": \"@\"}", `{"reason":"holes","action":"@"}`, "move ~",
		}).Draw(t, "form")
		text := strings.NewReplacer("@", a.String(), "~", strings.ToLower(a.String())).Replace(form)
		got, reading := navigate.ParseAction(&llm.Reply{Text: text, Finish: llm.FinishStop})
		if reading != "" || got != a {
			t.Fatalf("%q reads as %v (%s), want %v", text, got, reading, a)
		}
	})
}

// FuzzParseAction would fail on a panic, or on an action for a reply that holds
// no action's name.
func FuzzParseAction(f *testing.F) {
	for _, s := range []string{"", "UP", `{"action":"DOWN"}`, "<think>", "```json\n{", "Action: LEFT", "[\"RIGHT\"]", "{'action':", "\xff\x00"} {
		f.Add(s, "stop")
	}
	f.Fuzz(func(t *testing.T, text, finish string) {
		_, reading := navigate.ParseAction(&llm.Reply{Text: text, Finish: llm.Finish(finish)})
		if reading != "" {
			return
		}
		upper := strings.ToUpper(text)
		for _, a := range lake.Actions {
			if strings.Contains(upper, a.String()) || strings.Contains(text, `\u`) {
				return
			}
		}
		t.Errorf("%q (%s) gives an action", text, finish)
	})
}
