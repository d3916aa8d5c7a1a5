package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/view"
)

type viewCmd struct {
	Folder string `arg:"" optional:"" default:"runs" help:"Folder with runs; runs unless given."`
	Listen string `default:"127.0.0.1:8641" placeholder:"HOST:PORT" help:"Address to answer at; port 0 takes a free one."`
	NoOpen bool   `help:"Do not open a browser."`
}

// Run shows runs in a browser until it is told to stop.
func (c *viewCmd) Run(e *env) error {
	e.watchSignals()
	v, err := startViewer(e.ctx, c.Listen, view.Options{Folder: c.Folder})
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, v.address)
	if !c.NoOpen && isTerminal(e.stdout) {
		openBrowser(v.address)
	}
	select {
	case err := <-v.ended:
		return err
	case <-e.stop:
	case <-e.ctx.Done():
	}
	return v.stop()
}

// A viewer answers at an address until it is stopped.
type viewer struct {
	address string
	ended   <-chan error
	stop    func() error
}

// startViewer starts a viewer at an address of the loopback.
func startViewer(ctx context.Context, listen string, o view.Options) (*viewer, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		return nil, errors.Join(usageError{fmt.Errorf("--listen %s: it would show prompts and replies to whoever reaches this machine; reach the loopback from elsewhere by ssh -L", listen)}, l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{Handler: view.New(o), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return &viewer{"http://" + l.Addr().String(), ended, func() error {
		cancel() // those who watch
		ending, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer end()
		return server.Shutdown(ending)
	}}, nil
}

// watch views a session's run in a browser while it goes on.
func watch(e *env, session *run.Session) (*viewer, error) {
	dir := session.Dir()
	v, err := startViewer(e.ctx, "127.0.0.1:0", view.Options{Folder: filepath.Dir(dir), Words: func(of string) string {
		if of != dir {
			return ""
		}
		all, _ := session.Progress()
		return all.Words()
	}})
	if err != nil {
		return nil, err
	}
	v.address += "/run?" + url.Values{"name": {filepath.Base(dir)}}.Encode()
	return v, nil
}

// openBrowser opens an address, where there is something that does so.
func openBrowser(address string) {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	if cmd := exec.Command(command[0], append(command[1:], address)...); cmd.Start() == nil {
		go cmd.Wait()
	}
}
