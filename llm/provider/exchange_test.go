package provider_test

import (
	"net/http"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// What a server says of its answer is kept in the run; a key that it echoes
// there must not be.
func TestNoSecretInWhatIsSaidOfAnAnswer(t *testing.T) {
	const key = "Basic c2VjcmV0LXdvcmQtb2Ytb3Vycw=="
	client, stop := serve(t, func(http.ResponseWriter, *http.Request) {}, provider.Settings{Header: map[string]string{"X-Key": key}})
	defer stop()
	x := provider.Exchange{
		Client: client,
		Encode: func(*llm.Request) ([]string, []byte) { return nil, []byte("{}") },
		Read: func(*llm.Request, *provider.Answer) (*llm.Reply, error) {
			return &llm.Reply{Text: "words", Model: "gpt-" + key, Finish: key}, nil
		},
	}
	reply, err := x.Generate(t.Context(), &llm.Request{})
	if err != nil || reply.Model != "gpt-[credential]" || reply.Finish != "[credential]" || reply.Text != "words" {
		t.Errorf("%+v %v", reply, err)
	}
}
