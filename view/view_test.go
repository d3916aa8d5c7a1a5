package view_test

import (
	"bufio"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
	"github.com/spatialstale/spatialstale/view"
)

// Connections to a model that answers no more are kept for a while.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// start begins a run of the quick preset with further settings.
func start(t *testing.T, folder, name, settings string) *run.Session {
	t.Helper()
	s, err := study.Parse("{base: quick, " + settings + "}")
	if err != nil {
		t.Fatal(err)
	}
	session, err := run.Start(t.Context(), s, run.Options{Dir: filepath.Join(folder, filepath.FromSlash(name))})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// served views a folder with two runs.
func served(t *testing.T) (address, folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, settings := range map[string]string{
		"a": "seeds: 2, regimes: L1, models: [ref/believer, ref/reader]", "deep/b & <i>": "seeds: 1, tasks: detect, models: ref/reader",
	} {
		if _, err := start(t, folder, name, settings).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	s := httptest.NewServer(view.New(view.Options{Folder: folder, Every: 20 * time.Millisecond}))
	t.Cleanup(s.Close)
	return s.URL, folder
}

func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

var trialLink = regexp.MustCompile(`href="(/trial\?[^"]*key=([0-9a-f]+))"`)

func TestPages(t *testing.T) {
	at, folder := served(t)
	if status, page := get(t, at+"/"); status != 200 || !strings.Contains(page, `href="/run?name=a"`) || strings.Contains(page, "<i>") || !strings.Contains(page, "&lt;i&gt;") {
		t.Errorf("list: %d %s", status, page)
	}
	if _, page := get(t, at+"/?q=believer"); strings.Contains(page, "deep") || !strings.Contains(page, "name=a") {
		t.Errorf("search: %s", page)
	}
	if status, page := get(t, at+"/run?name="+url.QueryEscape("deep/b & <i>")); status != 200 || !strings.Contains(page, "6 of 6 trials") {
		t.Errorf("run: %d %s", status, page)
	}
	status, page := get(t, at+"/run?name=a&task=navigate&strategy=no-filter&outcome=death&sort=moves&desc=1")
	links := trialLink.FindAllStringSubmatch(page, -1)
	stored, err := run.Open(filepath.Join(folder, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	deaths := map[string]*record.Trial{}
	var route *record.Trial // OMCD's on the lake of a death
	for trial, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Task == record.Navigate && trial.Strategy == "no-filter" && trial.Outcome == "death" {
			deaths[trial.Key] = trial
		}
		if trial.Strategy == "omcd" && trial.Outcome == "success" {
			route = trial
		}
	}
	if status != 200 || len(links) != len(deaths) || len(links) == 0 {
		t.Fatalf("%d: %d trials, want %d", status, len(links), len(deaths))
	}
	last := 1 << 30
	for _, l := range links {
		trial := deaths[l[2]]
		if trial == nil || len(trial.Steps) > last {
			t.Errorf("%s is none of the deaths, or out of order", l[2])
			continue
		}
		last = len(trial.Steps)
	}

	key := links[0][2]
	status, page = get(t, at+html.UnescapeString(links[0][1]))
	data := regexp.MustCompile(`data-trials="([^"]*)"`).FindStringSubmatch(page)
	var replays []struct {
		Trial struct {
			Key   string
			Steps []any
			Words struct{ Replies map[string][2]string }
		}
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(data[1])), &replays); err != nil || status != 200 || replays[0].Trial.Key != key ||
		len(replays[0].Trial.Steps) != len(deaths[key].Steps) || len(replays[0].Trial.Words.Replies) == 0 {
		t.Errorf("%d: %v %+v", status, err, replays)
	}
	var beside *record.Trial
	for _, d := range deaths {
		if d.Seed == route.Seed {
			beside = d
		}
	}
	if _, page = get(t, at+"/trial?name=a&key="+route.Key+"&with="+beside.Key); !strings.Contains(page, "They part at") && !strings.Contains(page, "They never part") {
		t.Error("two trials: " + page[:min(len(page), 2000)])
	}
	if status, page := get(t, at+"/prompt?name=a&key="+key+"&slot=step1"); status != 200 || !strings.Contains(page, "<h2>Reply</h2>") || !strings.Contains(page, "&#34;action&#34;") {
		t.Errorf("prompt: %d %s", status, page)
	}
	for trial, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Modality != record.Vision {
			continue
		}
		_, page := get(t, at+"/prompt?name=a&key="+trial.Key+"&slot="+url.QueryEscape(trial.Windows[0].Replies[0].Slot))
		picture := regexp.MustCompile(`src="(/part[^"]*)"`).FindStringSubmatch(page)
		if status, png := get(t, at+html.UnescapeString(picture[1])); status != 200 || !strings.HasPrefix(png, "\x89PNG") {
			t.Errorf("picture: %d", status)
		}
		break
	}
	for range 2 { // made, and kept
		if status, page := get(t, at+"/report?name=a"); status != 200 || !strings.Contains(page, "Tables and figures") {
			t.Errorf("report: %d", status)
		}
	}
}

// Whatever is asked for, nothing outside the folder is read, and what is wrong is
// said.
func TestRefusals(t *testing.T) {
	at, folder := served(t)
	for path, want := range map[string]int{
		"/run?name=../a": 404, "/run?name=/etc": 404, "/run?name=nothing": 404, "/run": 404, "/run?name=a&sort=key%3BDROP": 400, "/run?name=a&from=-1": 400, "/run?name=a&from=x": 400,
		"/trial?name=a&key=nothing": 404, "/trial?name=a": 404, "/prompt?name=a&key=x&slot=y": 404, "/part?name=a&key=x&slot=y&n=0": 404, "/report?name=nothing": 404, "/elsewhere": 404, "/events?name=nothing": 404,
	} {
		if status, page := get(t, at+path); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, page)
		}
	}
	r, err := http.NewRequest("GET", at, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	if got, err := http.DefaultClient.Do(r); err != nil || got.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("%v, %v", got, err)
	} else {
		got.Body.Close()
	}
	r, _ = http.NewRequest("POST", at+"/run?name=a", nil)
	if got, err := http.DefaultClient.Do(r); err != nil || got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%v, %v", got, err)
	} else {
		got.Body.Close()
	}
	if err := os.Rename(filepath.Join(folder, "a"), filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Fatal(err)
	}
	if status, _ := get(t, at+"/run?name=a"); status != 404 {
		t.Errorf("a run that vanished: %d", status)
	}
	if err := os.WriteFile(filepath.Join(folder, "deep", "b & <i>", "run.db"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, page := get(t, at+"/"); status != 200 || !strings.Contains(page, "unreadable") {
		t.Errorf("%d %s", status, page)
	}
}

// A page that is watched is told of runs that appear and of trials that end, and
// nothing goes on once nobody watches.
func TestEvents(t *testing.T) {
	at, folder := served(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch := func(path string) *bufio.Scanner {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, "GET", at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil || r.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(err, r)
		}
		t.Cleanup(func() { r.Body.Close() })
		s := bufio.NewScanner(r.Body)
		s.Buffer(nil, 1<<20)
		return s
	}
	until := func(s *bufio.Scanner, word string) {
		t.Helper()
		for s.Scan() {
			if strings.Contains(s.Text(), word) {
				return
			}
		}
		t.Fatalf("%s was never said: %v", word, s.Err())
	}
	list := watch("/events?q=")
	until(list, "name=a")
	session := start(t, folder, "new", "seeds: 3, models: ref/reader")
	until(list, "name=new")
	one := watch("/events?name=new")
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	until(one, "(100%)")
	// All at once: whoever watches may be reading it.
	if err := os.Rename(filepath.Join(folder, "new"), filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Fatal(err)
	}
	until(one, "moved or deleted")
	cancel()
}
