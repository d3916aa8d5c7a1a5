package method

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A service is a method that answers over HTTP.
type service struct {
	url    string
	client *http.Client
}

func newService(c Config) *service {
	return &service{url: c.HTTP, client: &http.Client{
		Timeout:       c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: max(1, c.Workers), IdleConnTimeout: time.Minute},
	}}
}

// ask implements asker.
func (s *service) ask(ctx context.Context, _ string, request []byte) ([]byte, *llm.Error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(request))
	if err != nil {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		var slow interface{ Timeout() bool }
		if errors.As(err, &slow) && slow.Timeout() {
			return nil, &llm.Error{Kind: llm.KindTimeout, Message: fmt.Sprintf("no answer in %v; timeout allows longer", s.client.Timeout)}
		}
		return nil, &llm.Error{Kind: llm.KindNetwork, Message: "it cannot be reached", Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &llm.Error{Kind: llm.KindNetwork, Message: "its answer broke off", Err: err}
	case len(body) > maxAnswer:
		return nil, &llm.Error{Kind: llm.KindMalformed, Message: errTooLong.Error()}
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, &llm.Error{Kind: llm.KindServer, Message: resp.Status + ": " + brief(string(body))}
	case resp.StatusCode != http.StatusOK:
		return nil, &llm.Error{Kind: llm.KindBadRequest, Message: resp.Status + ": " + brief(string(body))}
	}
	return body, nil
}

// close implements asker.
func (s *service) close() error {
	s.client.CloseIdleConnections()
	return nil
}
