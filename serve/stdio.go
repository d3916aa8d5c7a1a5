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
// reader ends, or until stop is closed and what is under way is finished. It has
// one account, that of whoever started it. Nothing but the protocol is written.
func (s *Service) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, budget Account, stop <-chan struct{}) error {
	a, err := s.open(budget)
	if err != nil {
		return err
	}
	s.accounts = append(s.accounts, a)
	w := &lockedWriter{w: out}
	from, lines := io.Pipe()
	go func() { lines.CloseWithError(passLines(in, s.options.Limits.Body, lines, w)) }()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-stop:
			lines.Close() // as if the client had nothing more to ask
		case <-ended:
		}
	}()
	err = s.server(a).Run(ctx, &mcp.IOTransport{Reader: from, Writer: w, MaxLineLength: -1})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, s.Close())
}

// A lockedWriter is written to by the protocol and by a lineReader. A message is
// one Write.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// Close implements io.Closer; the stream is its owner's.
func (l *lockedWriter) Close() error { return nil }

// passLines passes on lines that can be read safely. Any other is answered with
// an error and left out, so that the client that sent it can go on.
func passLines(in io.Reader, most int, pass, refuse io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, end := readLine(r, most)
		if len(line) > 0 || long {
			if err := passLine(line, long, most, pass, refuse); err != nil {
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

func passLine(line []byte, long bool, most int, pass, refuse io.Writer) error {
	if len(bytes.TrimSpace(line)) == 0 && !long {
		return nil
	}
	wrong := checkJSON(line)
	if long {
		wrong = fmt.Errorf("is larger than %d bytes", most)
	}
	if wrong == nil {
		_, err := pass.Write(line)
		return err
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": jsonrpc.CodeParseError, "message": "the message " + wrong.Error()}})
	if err != nil {
		return err
	}
	_, err = refuse.Write(append(answer, '\n'))
	return err
}
