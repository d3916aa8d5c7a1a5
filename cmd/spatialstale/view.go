package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	return serveView(e, c.Listen, c.Folder, "/", !c.NoOpen)
}

// serveView shows the runs of a folder until it is told to stop, and opens a page
// of them.
func serveView(e *env, listen, folder, page string, open bool) error {
	e.watchSignals()
	v, err := startViewer(e.ctx, listen, view.Options{Folder: folder})
	if err != nil {
		return err
	}
	address := v.at(page)
	fmt.Fprintln(e.stdout, address)
	if open && isTerminal(e.stdout) {
		openBrowser(address)
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
	address, token string
	ended          <-chan error
	stop           func() error
}

// at is the address of a page, with the token that opens it.
func (v *viewer) at(page string) string {
	mark := "?"
	if strings.Contains(page, "?") {
		mark = "&"
	}
	return v.address + page + mark + "token=" + v.token
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
	o.Token = rand.Text()
	shown := view.New(o)
	server := &http.Server{Handler: shown, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return &viewer{"http://" + l.Addr().String(), o.Token, ended, func() error {
		cancel() // those who watch
		ending, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer end()
		return errors.Join(server.Shutdown(ending), shown.Close())
	}}, nil
}

// watch views a session's run in a browser while it goes on; it returns the
// address of its page too.
func watch(e *env, session *run.Session) (v *viewer, address string, err error) {
	dir := session.Dir()
	v, err = startViewer(e.ctx, "127.0.0.1:0", view.Options{Folder: filepath.Dir(dir), Words: func(of string) string {
		if of != dir {
			return ""
		}
		all, _ := session.Progress()
		return all.Words()
	}})
	if err != nil {
		return nil, "", err
	}
	return v, v.at("/run?" + url.Values{"name": {filepath.Base(dir)}}.Encode()), nil
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
