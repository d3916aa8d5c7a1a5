package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

// quiet is the log of a server that fails on purpose.
var quiet = log.New(io.Discard, "", 0)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// An echo is a failure with which a server sends back what it was sent.
type echo func(said string) (status int, body any)

// Would fail if a key, the value of a user's header, or the prompt appeared in
// an error, a description, or anything that can be printed: the server sends
// back all that it was sent, in every place where servers put words.
func TestNothingSecretIsShown(t *testing.T) {
	const key, header = "sk-live-Q7w8E9r0T1y2U3i4", "team-P5o6I7u8Y9t0"
	const prompt = "Row 0: (0,0)=S (0,1)=F (0,2)=H \"and\" … a line\nRow 1: (1,0)=F (1,1)=H"
	shared := map[string]func(w http.ResponseWriter, said string){
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
	secrets := []string{key, header, "Q7w8E9", "P5o6I7", "(0,1)=F (0,2)", "Row 1: (1,0)=F", "iVBORw0KGgo"}
	each(t, func(t *testing.T, p *protocol) {
		echoes := map[string]func(w http.ResponseWriter, said string){}
		for name, echo := range shared {
			echoes[name] = echo
		}
		for name, echo := range p.echoes {
			echoes[name] = func(w http.ResponseWriter, said string) {
				status, body := echo(said)
				w.WriteHeader(status)
				writeJSON(w, body)
			}
		}
		for name, echo := range echoes {
			for _, what := range []string{"headers", "body", "masked"} {
				t.Run(name+" "+what, func(t *testing.T) {
					m := p.serve(t, key, provider.Settings{Header: map[string]string{"X-Team": "Token " + header}},
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
					_, err := m.Generate(t.Context(), &llm.Request{Slot: "step1", Parts: []llm.Part{llm.Text(prompt), picture(t)}, Schema: actionSchema})
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
					}
				})
			}
		}
	})
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// A password in the address is a secret as well.
func TestPasswordInTheAddress(t *testing.T) {
	each(t, func(t *testing.T, p *protocol) {
		var user, password string
		plain := p.serve(t, "", provider.Settings{}, func(w http.ResponseWriter, r *http.Request) {
			user, password, _ = r.BasicAuth()
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "no: %s", password)
		})
		d, _ := llm.Describe(plain)
		base := strings.TrimSuffix(strings.Replace(d.Endpoint, "http://", "http://me:hidden-word@", 1), p.sent)
		m := p.client(t, base, "", provider.Settings{})
		_, err := m.Generate(t.Context(), &llm.Request{})
		if user != "me" || password != "hidden-word" {
			t.Errorf("sent %q and %q", user, password)
		}
		again, _ := llm.Describe(m)
		if err == nil || strings.Contains(err.Error(), "hidden-word") || again.Endpoint != d.Endpoint {
			t.Errorf("%v, %v", err, again)
		}
		gone := p.client(t, "http://me:hidden-word@127.0.0.1:1", "", provider.Settings{})
		if _, err := gone.Generate(t.Context(), &llm.Request{}); err == nil || strings.Contains(err.Error(), "hidden-word") {
			t.Error(err)
		}
	})
}
