package provider

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// maxAnswer bounds the size of an answer, in bytes.
const maxAnswer = 32 << 20

// A Client posts requests to one address. It is safe for concurrent use, and
// keeps connections for the next request. It is printed as its address.
type Client struct {
	model     string
	url       string
	endpoint  string
	header    http.Header
	secrets   []string
	answers   *strings.Replacer // takes secrets out of what models write
	deadlines Deadlines
	now       func() time.Time
	http      *http.Client
}

// NewClient checks the options and returns a client that sends a header with
// each request; those of the settings come on top. The key, values of the
// settings' headers and passwords in the address are secrets.
func NewClient(o Options, header http.Header) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("model %q: its address cannot be read", o.Name)
	}
	body := string(o.Settings.ExtraBody)
	if len(o.Key) >= 8 && (strings.Contains(body, o.Key) || strings.Contains(body, inner(string(Compact(o.Key))))) {
		return nil, fmt.Errorf("model %q: the extra body holds the model's key; it is in the run's manifest, and must hold no secret", o.Name)
	}
	c := &Client{
		model:     o.Name,
		url:       o.URL,
		endpoint:  (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(),
		header:    header.Clone(),
		deadlines: o.Settings.Deadlines.withDefaults(),
		now:       o.Settings.Now,
	}
	if c.header == nil {
		c.header = http.Header{}
	}
	if c.now == nil {
		c.now = time.Now
	}
	if o.Key != "" {
		c.secrets = append(c.secrets, o.Key)
	}
	c.header.Set("User-Agent", "spatialstale")
	for name, value := range o.Settings.Header {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }) || !fitsHeader(value) {
			return nil, fmt.Errorf("model %q: the header %q cannot be sent", o.Name, name)
		}
		c.header.Set(name, value)
		c.secrets = append(c.secrets, value)
		if _, bare, ok := strings.Cut(value, " "); ok {
			c.secrets = append(c.secrets, bare)
		}
	}
	c.hide(u)
	proxy := o.Settings.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	through, err := proxy(&http.Request{URL: u})
	if err != nil { // it shows the proxy's address, password and all
		return nil, fmt.Errorf("model %q: the proxy that the environment sets cannot be read", o.Name)
	}
	c.hide(through)
	dial := o.Settings.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	c.http = &http.Client{
		// Following a redirect would carry the key to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: proxy,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				ctx, cancel := context.WithTimeoutCause(ctx, c.deadlines.Connect, errConnect)
				defer cancel()
				conn, err := dial(ctx, network, address)
				if err != nil && context.Cause(ctx) == errConnect {
					return nil, errConnect
				}
				return conn, err
			},
			TLSHandshakeTimeout: c.deadlines.Connect,
			MaxIdleConnsPerHost: 512,
			IdleConnTimeout:     90 * time.Second,
			ForceAttemptHTTP2:   true,
			HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		},
	}
	c.answers = hideWhole(c.secrets)
	return c, nil
}

// hide keeps what an address tells of who asks as a secret: the password, or the
// user where that is all there is, as it is and as the header of basic
// authentication carries it.
func (c *Client) hide(u *url.URL) {
	if u == nil || u.User == nil {
		return
	}
	user := u.User.Username()
	password, ok := u.User.Password()
	if !ok {
		c.secrets = append(c.secrets, user)
	}
	c.secrets = append(c.secrets, password, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// Endpoint returns where requests go, without user, password and query.
func (c *Client) Endpoint() string { return c.endpoint }

// String returns the endpoint, so that no way of printing shows more.
func (c *Client) String() string { return c.endpoint }

// GoString returns the endpoint.
func (c *Client) GoString() string { return c.endpoint }

// CloseIdleConnections closes the connections that no request uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// An Answer is what a server sent back, whatever its status, read to the end.
type Answer struct {
	Status     int
	Header     http.Header
	Body       []byte
	RetryAfter time.Duration // how long the server asks to wait; 0 when it does not say
	Batch      string        // the batch that it came in; empty for an answer to a request of its own
}

// The deadlines as causes of an end.
var (
	errConnect = errors.New("no connection in time")
	errAttempt = errors.New("no whole answer in time")
)

// A silence is the limit of one that lasted too long.
type silence time.Duration

func (s silence) Error() string { return "silence for " + time.Duration(s).String() }

// Post sends a JSON body on behalf of req and returns the answer. Headers for
// this request alone may be nil. An error is an *llm.Error of kind network,
// timeout, malformed or canceled.
func (c *Client) Post(ctx context.Context, req *llm.Request, body []byte, header http.Header) (*Answer, error) {
	return c.post(ctx, req, body, header, nil)
}

// post is Post. Where events is not nil and the server answers with a stream of
// events, each is handed to it as it comes, and the answer has no body; it says
// whether it was a piece of what is awaited, and whether more is wanted. While
// pieces come the call lives, however long it takes.
func (c *Client) post(ctx context.Context, req *llm.Request, body []byte, header http.Header, events func(data []byte) (piece, more bool)) (*Answer, error) {
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	attempt := time.AfterFunc(c.deadlines.Attempt, func() { stop(errAttempt) })
	defer attempt.Stop()
	r, err := http.NewRequestWithContext(within, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, c.Error(req, llm.KindBadRequest, "the request cannot be made")
	}
	r.Header = c.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if events != nil {
		r.Header.Set("Accept", "text/event-stream, application/json")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	broken := func(err error, got int) error {
		e := c.broken(ctx, within, req, err, got)
		if e.Slow && events != nil {
			e.Message = fmt.Sprintf("no first token within %v; --timeout allows longer", c.deadlines.Attempt)
		}
		return e
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, broken(err, -1)
	}
	defer resp.Body.Close()
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	streams := events != nil && resp.StatusCode/100 == 2 && kind == "text/event-stream"
	limit := c.deadlines.Idle
	if streams {
		limit = c.deadlines.token
	}
	idle := time.AfterFunc(limit, func() { stop(silence(limit)) })
	defer idle.Stop()
	answer := &Answer{Status: resp.StatusCode, Header: resp.Header, RetryAfter: RetryAfter(resp.Header, c.now())}
	text := &pulse{r: io.LimitReader(resp.Body, maxAnswer+1), beat: func() { idle.Reset(limit) }}
	if streams {
		idle.Stop() // until the first piece: a server that reads a long prompt may show that it lives
		text.beat = func() {}
		err = readEvents(text, func(data []byte) bool {
			piece, more := events(data)
			if piece {
				attempt.Stop()
				idle.Reset(limit)
			}
			return more
		})
	} else {
		answer.Body, err = io.ReadAll(text)
	}
	switch {
	case err != nil:
		return nil, broken(err, text.n)
	case text.n > maxAnswer:
		return nil, c.Error(req, llm.KindMalformed, fmt.Sprintf("an answer of more than %d MiB", maxAnswer>>20))
	}
	return answer, nil
}

// readEvents reads a stream of server-sent events until it ends or no more are
// wanted.
func readEvents(r io.Reader, event func(data []byte) (more bool)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); ok && !event(bytes.TrimSpace(data)) {
			return nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// A pulse is a reader that counts bytes and tells when some come.
type pulse struct {
	r    io.Reader
	n    int
	beat func()
}

func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.n += n; n > 0 {
		p.beat()
	}
	return n, err
}

// Error returns the failure of a call with what a server said, or we say of it.
func (c *Client) Error(req *llm.Request, kind llm.Kind, said string) *llm.Error {
	return &llm.Error{Kind: kind, Model: c.model, Slot: req.Slot, Message: c.Words(req, said)}
}

// hideSecrets takes the secrets out of what a server says of an answer, such as the
// name of its model, and leaves the rest as it is.
func (c *Client) hideSecrets(said string) string {
	for _, secret := range c.secrets {
		said = hideSecret(said, secret)
	}
	return said
}

// hideIn takes the secrets out of an answer, which a server that repeats what it
// was sent may put there. Places in the text no longer hold then.
func (c *Client) hideIn(r *llm.Reply) {
	if text := c.answers.Replace(r.Text); text != r.Text {
		r.Text, r.Booleans = text, nil
	}
	r.Reasoning = c.answers.Replace(r.Reasoning)
	r.Model = nameOf(c.hideSecrets(r.Model))
	switch r.Finish {
	case llm.FinishStop, llm.FinishLength, llm.FinishContentFilter, llm.FinishRefusal:
	default: // the server's own word, which is kept as well
		r.Finish = llm.Finish(nameOf(c.hideSecrets(string(r.Finish))))
	}
}

// Words returns what a server said to a request, fit for an error or a record:
// one line of at most 300 characters, without secrets and without what the
// prompt holds.
func (c *Client) Words(req *llm.Request, said string) string { return words(said, c.secrets, req) }

// broken turns the end of a connection into an error. got is how much of the
// answer came before, -1 when it never began.
func (c *Client) broken(ctx, within context.Context, req *llm.Request, err error, got int) *llm.Error {
	if ctx.Err() != nil {
		e := c.Error(req, llm.KindCanceled, "")
		e.Err = context.Cause(ctx)
		return e
	}
	where := "before an answer came"
	if got >= 0 {
		where = fmt.Sprintf("in the middle of an answer, after %d bytes", got)
	}
	var silent silence
	switch cause := context.Cause(within); {
	case errors.As(cause, &silent):
		return c.Error(req, llm.KindTimeout, fmt.Sprintf("%v %s; --idle-timeout allows longer", silent, where))
	case errors.Is(cause, errAttempt):
		e := c.Error(req, llm.KindTimeout, fmt.Sprintf("no whole answer within %v; --stream takes an answer as it comes, --timeout allows longer, --max-tokens asks for less", c.deadlines.Attempt))
		e.Slow = true
		return e
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without the address, which may hold a password
	}
	text := err.Error()
	var refused *net.OpError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errConnect), strings.Contains(text, "TLS handshake timeout"):
		return c.Error(req, llm.KindTimeout, fmt.Sprintf("no connection to %s within %v", c.endpoint, c.deadlines.Connect))
	case errors.As(err, &refused) && (refused.Op == "dial" || refused.Op == "proxyconnect"):
		e := c.Error(req, llm.KindNetwork, fmt.Sprintf("no connection to %s: %v", c.endpoint, refused.Err))
		e.Unreached = true
		return e
	case errors.As(err, &untrusted):
		return c.Error(req, llm.KindNoServer, fmt.Sprintf("the certificate of %s is refused: %v; for a server of your own, SSL_CERT_FILE names the certificates to trust", c.endpoint, untrusted.Err))
	case strings.Contains(text, "gave HTTP response to HTTPS client"):
		return c.Error(req, llm.KindNoServer, fmt.Sprintf("%s has no certificate: it speaks http, not https", c.endpoint))
	case errors.As(err, &refused) && refused.Op == "remote error" && strings.Contains(text, "certificate"):
		return c.Error(req, llm.KindNoServer, fmt.Sprintf("%s wants a certificate that we do not have: %s", c.endpoint, text))
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "gzip: "), strings.Contains(text, "flate: "):
		return c.Error(req, llm.KindMalformed, "the answer is not readable: "+text)
	}
	return c.Error(req, llm.KindNetwork, fmt.Sprintf("the connection broke %s: %s", where, text))
}
