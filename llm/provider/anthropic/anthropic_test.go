package anthropic_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client for a server, which both end with the test.
func client(t testing.TB, o anthropic.Options, handler http.HandlerFunc) *anthropic.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL + "/v1/messages"
	return clientAt(t, o)
}

func clientAt(t testing.TB, o anthropic.Options) *anthropic.Client {
	t.Helper()
	if o.Name == "" {
		o.Name = "anthropic/m"
	}
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func ptr[T any](v T) *T { return &v }

// actionSchema is a schema as a step asks for one.
var actionSchema = &llm.Schema{Name: "action", JSON: json.RawMessage(`{"type": "object", "properties": {"action": {"type": "string"}}}`)}

// step is a prompt that a control can answer.
func step() *llm.Request {
	return &llm.Request{Trial: "0123", Slot: "step1", Parts: []llm.Part{
		llm.Text("Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F\nRow 1: (1,0)=F (1,1)=H (1,2)=H (1,3)=F\nRow 2: (2,0)=F (2,1)=H (2,2)=H (2,3)=F\nRow 3: (3,0)=H (3,1)=F (3,2)=F (3,3)=G\n"),
		llm.Text("Agent at (0,0). Goal at (3,3).\nWhich way?"),
	}}
}
