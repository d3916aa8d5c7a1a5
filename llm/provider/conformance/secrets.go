package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// An Echo is a failure with which a server sends back what it was sent.
type Echo func(said string) (status int, body any)

// Secrets fails when a key, the value of a user's header, or the prompt appears
// in an error, a description, or anything that can be printed: the server sends
// back all that it was sent, in every place where servers put words. The
// protocol adds those of its own: a refused parameter, and a failure that comes
// as an answer.
func Secrets(t *testing.T, own map[string]Echo, open func(t *testing.T, key string, s provider.Settings, handler http.HandlerFunc) llm.Model) {
	const key, header = "sk-live-Q7w8E9r0T1y2U3i4", "team-P5o6I7u8Y9t0"
	const prompt = "Row 0: (0,0)=S (0,1)=F (0,2)=H \"and\" … a line\nRow 1: (1,0)=F (1,1)=H"
	echoes := map[string]func(w http.ResponseWriter, said string){
		"error object": func(w http.ResponseWriter, said string) {
			w.WriteHeader(http.StatusUnauthorized)
			writeJSON(w, map[string]any{"error": map[string]any{"message": said, "code": said, "type": said, "param": said}})
		},
		"error in success": func(w http.ResponseWriter, said string) {
			writeJSON(w, map[string]any{"error": map[string]any{"message": said, "code": 502, "metadata": map[string]any{"raw": said}}})
		},
		"validator": func(w http.ResponseWriter, said string) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			writeJSON(w, map[string]any{"detail": []any{map[string]any{"msg": said, "loc": []any{"body", said}, "input": said}}})
		},
		"text": func(w http.ResponseWriter, said string) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, said)
		},
		"page": func(w http.ResponseWriter, said string) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<html><title>%s</title></html>", said)
		},
		"content type": func(w http.ResponseWriter, said string) {
			w.Header().Set("Content-Type", "x/"+strings.NewReplacer("\n", "", "\"", "").Replace(said))
			_, _ = w.Write([]byte{0xff, 0xfe})
		},
		"location": func(w http.ResponseWriter, said string) {
			w.Header().Set("Location", "https://"+key+"@"+key+"/"+key)
			w.WriteHeader(http.StatusFound)
		},
	}
	for name, echo := range own {
		echoes[name] = func(w http.ResponseWriter, said string) {
			status, body := echo(said)
			w.WriteHeader(status)
			writeJSON(w, body)
		}
	}
	secrets := []string{key, header, "Q7w8E9", "P5o6I7", "(0,1)=F (0,2)", "Row 1: (1,0)=F"}
	for name, echo := range echoes {
		for _, what := range []string{"headers", "body", "masked"} {
			t.Run(name+" "+what, func(t *testing.T) {
				m := open(t, key, provider.Settings{Header: map[string]string{"X-Team": "Token " + header}},
					func(w http.ResponseWriter, r *http.Request) {
						body, _ := io.ReadAll(r.Body)
						switch what {
						case "headers":
							echo(w, fmt.Sprint(r.Header))
						case "body":
							echo(w, string(body))
						default:
							echo(w, "Incorrect API key provided: sk-live-Q7w8E9**********U3i4.")
						}
					})
				_, err := m.Generate(t.Context(), &llm.Request{
					Slot: "step1", Parts: []llm.Part{llm.Text(prompt), Picture(t)}, Schema: ActionSchema,
				})
				if err == nil {
					t.Fatal("no error")
				}
				d, _ := llm.Describe(m)
				described, _ := json.Marshal(d)
				marshaled, _ := json.Marshal([]any{m})
				for _, shown := range []string{
					err.Error(), fmt.Sprintf("%+v %#v", err, err), string(described), string(marshaled),
					fmt.Sprintf("%v %+v %#v %s %q", m, m, m, m, m), fmt.Sprintf("%v %+v", struct{ M llm.Model }{m}, []any{m}),
				} {
					for _, secret := range secrets {
						if strings.Contains(shown, secret) {
							t.Errorf("shows %q: %s", secret, shown)
						}
					}
					if strings.Contains(shown, "iVBORw0KGgo") {
						t.Errorf("shows the picture: %s", shown)
					}
				}
			})
		}
	}
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
