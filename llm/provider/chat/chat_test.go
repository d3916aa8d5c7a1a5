package chat_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/llm/provider/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client for a server, which both end with the test.
func client(t testing.TB, o chat.Options, handler http.HandlerFunc) *provider.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL + "/v1/chat/completions"
	return clientAt(t, o)
}

func clientAt(t testing.TB, o chat.Options) *provider.Model {
	t.Helper()
	if o.Name == "" {
		o.Name = "openai-api/test/m"
	}
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := chat.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// up is an answer.
const up = `{"choices":[{"message":{"content":"UP"}}]}`

func ptr[T any](v T) *T { return &v }

// actionSchema is a schema as a step asks for one.
var actionSchema = &llm.Schema{Name: "action", JSON: json.RawMessage(`{"type": "object", "properties": {"action": {"type": "string"}}}`)}
