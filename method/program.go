package method

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A program is a method that is started. Each process answers one request at a
// time; one that is late, dies or says something else than an answer is ended,
// and the next request starts another.
type program struct {
	path string
	args []string
	wait time.Duration

	mu   sync.Mutex
	idle []*process
}

func newProgram(c Config) (*program, error) {
	path, err := exec.LookPath(c.Exec[0])
	if err != nil {
		return nil, fmt.Errorf("the program %q cannot be started: %w", c.Exec[0], err)
	}
	return &program{path: path, args: c.Exec[1:], wait: c.Timeout}, nil
}

// grace is how long a program has to end by itself once its input is closed.
const grace = 2 * time.Second

// ask implements asker. A process that had answered before and is gone now may
// have ended in between: another is asked.
func (p *program) ask(ctx context.Context, id string, request []byte) ([]byte, *llm.Error) {
	for {
		proc, fresh, err := p.take()
		if err != nil {
			return nil, &llm.Error{Kind: llm.KindNoServer, Message: "it could not be started", Err: err}
		}
		answer, failure := p.askOf(ctx, proc, id, request)
		if failure == nil {
			p.give(proc)
			return answer, nil
		}
		proc.kill()
		if fresh || failure.Kind != llm.KindServer {
			return nil, failure
		}
	}
}

// askOf asks one process. Answers to other requests, which come late or twice,
// are passed over.
func (p *program) askOf(ctx context.Context, proc *process, id string, request []byte) ([]byte, *llm.Error) {
	late := time.NewTimer(p.wait)
	defer late.Stop()
	go proc.send(append(request, '\n'))
	others := ""
	for {
		select {
		case answer := <-proc.lines:
			switch said, ok := readAnswer(answer.line); {
			case errors.Is(answer.err, errTooLong):
				return nil, &llm.Error{Kind: llm.KindMalformed, Message: answer.err.Error()}
			case answer.err != nil:
				return nil, &llm.Error{Kind: llm.KindServer, Message: proc.ended() + others}
			case ok && !said.answers(id):
				others = "; " + otherRequest
			default:
				return answer.line, nil
			}
		case <-late.C:
			return nil, &llm.Error{Kind: llm.KindTimeout, Message: fmt.Sprintf("no answer in %v; timeout allows longer%s", p.wait, others)}
		case <-ctx.Done():
			return nil, &llm.Error{Kind: llm.KindCanceled, Err: context.Cause(ctx)}
		}
	}
}

// take returns an idle process, or starts a fresh one.
func (p *program) take() (proc *process, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		proc, p.idle = p.idle[n-1], p.idle[:n-1]
		return proc, false, nil
	}
	proc, err = start(p.path, p.args)
	return proc, true, err
}

func (p *program) give(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, proc)
}

// close implements asker.
func (p *program) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, proc := range p.idle {
		proc.input.Close()
	}
	for _, proc := range p.idle {
		select {
		case <-proc.done:
		case <-time.After(grace):
			proc.kill()
		}
	}
	p.idle = nil
	return nil
}

// A process is one start of a program.
type process struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	lines  chan said
	done   chan struct{} // closed when it has ended
	errors *tail         // of its standard error
	kill   func()
}

// said is a line that a process wrote, or why there is none.
type said struct {
	line []byte
	err  error
}

var errTooLong = fmt.Errorf("its answer is longer than %d MB", maxAnswer>>20)

func start(path string, args []string) (*process, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cmd: exec.CommandContext(ctx, path, args...), lines: make(chan said, 1), done: make(chan struct{}), errors: &tail{}}
	p.kill = func() {
		cancel()
		<-p.done
	}
	p.cmd.Stderr, p.cmd.WaitDelay = p.errors, grace
	input, err1 := p.cmd.StdinPipe()
	output, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		cancel()
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	p.input = input
	go func() {
		defer close(p.done)
		p.read(ctx, output)
		cancel()
		p.cmd.Wait() // its fault is told by ended
	}()
	return p, nil
}

func (p *process) send(line []byte) { p.input.Write(line) } // what is not taken shows in the answer

// read hands over the lines of a process until it ends or is killed. Only one
// that nobody waits for is kept.
func (p *process) read(ctx context.Context, output io.Reader) {
	r := bufio.NewReaderSize(output, 64<<10)
	for {
		line, err := readLine(r)
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		select {
		case p.lines <- said{line, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxAnswer:
			return nil, errTooLong
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil // the last line of a program that ends
		default:
			return nil, err
		}
	}
}

// ended says how a process ended, in its own last words.
func (p *process) ended() string {
	<-p.done
	text := "it ended"
	if state := p.cmd.ProcessState; state != nil {
		text += " (" + state.String() + ")"
	}
	if words := p.errors.String(); words != "" {
		text += ": " + brief(words)
	}
	return text
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 400

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if n := len(t.kept); n > tailBytes {
		t.kept = append([]byte(nil), t.kept[n-tailBytes:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
