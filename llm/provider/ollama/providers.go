package ollama

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/provider"
)

const prefix = "ollama/"

var access = provider.Access{Credential: "OLLAMA_API_KEY", Optional: true, BaseURLVar: "OLLAMA_HOST", BaseURL: "http://127.0.0.1:11434"}

// Providers returns the provider that speaks this protocol.
func Providers() []provider.Provider {
	return []provider.Provider{{
		Prefix: prefix, Form: prefix + "MODEL", Note: "an Ollama server of your own, by its native protocol", Access: access,
		Open: func(model string, env provider.Env) (llm.Model, error) {
			name := prefix + model
			key, err := access.Key(name, env)
			if err != nil {
				return nil, err
			}
			base, err := baseURL(name, env.Get(access.BaseURLVar))
			if err != nil {
				return nil, err
			}
			c, err := New(Options{Name: name, Model: model, URL: base + "/api/chat", Key: key, Settings: env.Settings})
			if err != nil {
				return nil, err
			}
			return c, nil
		},
	}}
}

// baseURL reads OLLAMA_HOST as Ollama does: a URL, host:port, host, :port or
// nothing. Where it says on which addresses a server listens, such as 0.0.0.0,
// the server is asked on this machine.
func baseURL(name, host string) (string, error) {
	host = strings.Trim(host, `"' `)
	if host == "" {
		return access.BaseURL, nil
	}
	wrong := fmt.Errorf("model %q: the address in %s is none; want one like 127.0.0.1:11434 or https://host", name, access.BaseURLVar)
	port := ""
	if !strings.Contains(host, "://") {
		scheme := "http://"
		if host == "ollama.com" {
			scheme = "https://"
		} else {
			port = "11434"
		}
		if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") { // an address of IPv6 by itself
			host = "[" + host + "]"
		}
		host = scheme + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", wrong // the cause would show the whole text, a password in it as well
	}
	if u.Port() != "" {
		port = u.Port()
		if n, err := strconv.Atoi(port); err != nil || n > 65535 {
			return "", wrong
		}
	}
	at := u.Hostname()
	switch {
	case at == "" && u.Port() == "":
		return "", wrong
	case at == "", at == "0.0.0.0":
		at = "127.0.0.1"
	case at == "::":
		at = "::1"
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(at, port)
	case strings.Contains(at, ":"):
		u.Host = "[" + at + "]"
	default:
		u.Host = at
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, end := range []string{"/api/chat", "/api", "/v1"} { // the last is that of the compatible endpoint
		u.Path = strings.TrimSuffix(u.Path, end)
	}
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return u.String(), nil
}
