package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio speaks the Model Context Protocol over a pair of streams until the
// reader ends or stop is closed, and what was asked is answered; or until ctx
// ends. It has one account, that of whoever started it. Nothing but the protocol
// is written.
func (s *Service) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, who Account, stop <-chan struct{}) error {
	a, err := s.open(who)
	if err != nil {
		return err
	}
	s.accounts = append(s.accounts, a)
	from, lines := io.Pipe()
	t := &talk{out: out, unanswered: map[jsonrpc.ID]bool{}, told: make(chan struct{}, 1)}
	read := make(chan error, 1)
	go func() { read <- t.passLines(in, &s.options.Limits, lines) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-read:
		case <-stop:
		case <-ctx.Done():
		}
		t.wait(ctx)
		lines.Close() // the protocol's library drops what is under way when its reader ends
	}()
	err = s.server(a).Run(ctx, &mcp.IOTransport{Reader: from, Writer: t, MaxLineLength: -1})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, s.Close())
}

// A talk is what goes over the pair of streams. It knows which requests are not
// answered yet, and answers messages that cannot be read safely itself.
type talk struct {
	mu         sync.Mutex
	out        io.Writer
	unanswered map[jsonrpc.ID]bool
	told       chan struct{} // has room for one: something was answered
}

// Write implements io.Writer: it writes one message.
func (t *talk) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m, err := jsonrpc.DecodeMessage(b); err == nil {
		if r, ok := m.(*jsonrpc.Response); ok {
			t.answered(r.ID)
		}
	}
	return t.out.Write(b)
}

// Close implements io.Closer; the stream is its owner's.
func (t *talk) Close() error { return nil }

func (t *talk) answered(id jsonrpc.ID) {
	delete(t.unanswered, id)
	select {
	case t.told <- struct{}{}:
	default:
	}
}

// wait waits until all is answered.
func (t *talk) wait(ctx context.Context) {
	for {
		t.mu.Lock()
		n := len(t.unanswered)
		t.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-t.told:
		case <-ctx.Done():
			return
		}
	}
}

// passLines passes on lines that can be read safely. Any other is answered with
// an error and left out, so that the client that sent it can go on.
func (t *talk) passLines(in io.Reader, l *Limits, pass io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, end := readLine(r, l.Body)
		if len(line) > 0 || long {
			if err := t.passLine(line, long, l, pass); err != nil {
				return err
			}
		}
		if end != nil {
			return end
		}
	}
}

// readLine reads a line, of which no more is kept than may be passed on.
func readLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > most; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

func (t *talk) passLine(line []byte, long bool, l *Limits, pass io.Writer) error {
	if len(bytes.TrimSpace(line)) == 0 && !long {
		return nil
	}
	m, code, wrong := readMessage(line, l.sizes())
	if long {
		code, wrong = jsonrpc.CodeParseError, fmt.Errorf("is larger than %d bytes", l.Body)
	}
	if wrong != nil {
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": "the message " + wrong.Error()}})
		if err != nil {
			return err
		}
		_, err = t.Write(append(answer, '\n'))
		return err
	}
	t.asked(m)
	_, err := pass.Write(append(bytes.TrimRight(line, "\r\n"), '\n'))
	return err
}

// asked notes that a message wants an answer, or that one need not come.
func (t *talk) asked(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.ID.IsValid() {
		t.unanswered[r.ID] = true
	}
	if r.Method == "notifications/cancelled" {
		var cancelled struct{ RequestID any }
		if json.Unmarshal(r.Params, &cancelled) == nil {
			if id, err := jsonrpc.MakeID(cancelled.RequestID); err == nil {
				t.answered(id)
			}
		}
	}
}

// readMessage reads a line as a message; the code is that of what is wrong.
func readMessage(line []byte, most sizes) (m jsonrpc.Message, code int64, err error) {
	if err := checkJSON(line, most); err != nil {
		return nil, jsonrpc.CodeParseError, err
	}
	if m, err = jsonrpc.DecodeMessage(line); err != nil {
		return nil, jsonrpc.CodeInvalidRequest, errors.New("is no request, response or notification of JSON-RPC 2.0, one a line")
	}
	return m, 0, nil
}
