package provider_test

import (
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

func env(pairs ...string) provider.Env {
	return provider.Env{Getenv: func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}}
}

func TestRegistry(t *testing.T) {
	var opened string
	open := func(prefix string) provider.Provider {
		return provider.Provider{
			Prefix: prefix, Form: prefix + "MODEL", Note: "a note",
			Access: provider.Access{Credential: "A_KEY", BaseURLVar: "A_URL", BaseURL: "https://a"},
			Open:   func(model string, _ provider.Env) (llm.Model, error) { opened = prefix + " " + model; return nil, nil },
		}
	}
	var r provider.Registry
	r.Add(open("a/"), open("a/b/"))
	for name, want := range map[string]string{"a/m": "a/ m", "a/org/m:8b": "a/ org/m:8b", "a/b/m": "a/b/ m"} {
		if _, err := r.Open(name, provider.Env{}); err != nil || opened != want {
			t.Errorf("%s opened %q, %v", name, opened, err)
		}
	}
	for name, want := range map[string]string{"": "unknown model", "c/m": `unknown model "c/m"`, "a/": "want a/MODEL", "a/ m": "want a/MODEL"} {
		if _, err := r.Open(name, provider.Env{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("two providers share a prefix")
		}
	}()
	r.Add(open("a/"))
}

// Would fail if a mistake in the environment went unnoticed until a call, or if
// its description showed a secret.
func TestAccess(t *testing.T) {
	a := provider.Access{Credential: "A_KEY", BaseURLVar: "A_URL", BaseURL: "https://a/v1"}
	if key, err := a.Key("a/m", env("A_KEY", " sk-1\n")); key != "sk-1" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if a.Found(env()) || !a.Found(env("A_KEY", "x")) {
		t.Error("found what is not there, or not what is")
	}
	_, err := a.Key("a/m", env())
	if llm.KindOf(err) != llm.KindAuth || !strings.Contains(err.Error(), "A_KEY, which is not set") {
		t.Error(err)
	}
	if _, err := a.Key("a/m", env("A_KEY", "sk-sec\nret")); llm.KindOf(err) != llm.KindAuth || strings.Contains(err.Error(), "sec") {
		t.Error(err)
	}
	a.Optional = true
	if key, err := a.Key("a/m", env()); key != "" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	either := provider.Access{Credential: "A_KEY", Or: "B_KEY"}
	for want, e := range map[string]provider.Env{"sk-a": env("A_KEY", "sk-a", "B_KEY", "sk-b"), "sk-b": env("B_KEY", "sk-b")} {
		if key, err := either.Key("a/m", e); key != want || err != nil || !either.Found(e) {
			t.Errorf("%q, %v, want %q", key, err, want)
		}
	}
	if _, err := either.Key("a/m", env()); llm.KindOf(err) != llm.KindAuth || !strings.Contains(err.Error(), "A_KEY or B_KEY, which is not set") || either.Found(env()) {
		t.Error(err)
	}
	for value, want := range map[string]string{"": "https://a/v1", "http://b:1/v2/": "http://b:1/v2"} {
		if got, err := a.URL("a/m", env("A_URL", value)); got != want || err != nil {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	for _, bad := range []string{"b", "ftp://b", "http://", "http://me:secret@b:port", "://secret"} {
		if _, err := a.URL("a/m", env("A_URL", bad)); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "A_URL") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := (provider.Access{BaseURLVar: "A_URL"}).URL("a/m", env()); err == nil || !strings.Contains(err.Error(), "A_URL, which is not set") {
		t.Error(err)
	}
}
