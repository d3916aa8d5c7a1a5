package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"time"

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
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		return errors.Join(usageError{fmt.Errorf("--listen %s: it would show prompts and replies to whoever reaches this machine; reach the loopback from elsewhere by ssh -L", c.Listen)}, l.Close())
	}
	address := "http://" + l.Addr().String()
	fmt.Fprintln(e.stdout, address)
	server := &http.Server{Handler: view.New(view.Options{Folder: c.Folder}), ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	if !c.NoOpen && isTerminal(e.stdout) {
		openBrowser(address)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-e.stop:
	case <-e.ctx.Done():
	}
	cancel() // those who watch
	ending, end := context.WithTimeout(context.WithoutCancel(e.ctx), 5*time.Second)
	defer end()
	return server.Shutdown(ending)
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
