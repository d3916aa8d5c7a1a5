package view_test

import (
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
	"github.com/spatialstale/spatialstale/view"
)

const token = "a token"

// controlled views an empty folder with a token, which the client has brought.
func controlled(t *testing.T) (client *http.Client, at, folder string) {
	t.Helper()
	folder = t.TempDir()
	v := view.New(view.Options{Folder: folder, Every: 20 * time.Millisecond, Token: token})
	s := httptest.NewServer(v)
	t.Cleanup(func() { s.Close(); v.Close() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client = &http.Client{Jar: jar}
	r, err := client.Get(s.URL + "/?q=x&token=" + url.QueryEscape(token))
	if err != nil || r.StatusCode != http.StatusOK || r.Request.URL.RawQuery != "q=x" {
		t.Fatalf("the token was not taken, or stays in the address: %v %v", r.Request.URL, err)
	}
	r.Body.Close()
	return client, s.URL, folder
}

func body(t *testing.T, r *http.Response, err error) (status int, at, text string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Request.URL.RequestURI(), string(b)
}

// Nobody without the token sees or changes anything, and no other page does so
// through a browser that has it.
func TestToken(t *testing.T) {
	client, at, _ := controlled(t)
	for _, path := range []string{"/", "/run?name=a", "/assets/view.js", "/?token=wrong", "/?token=", "/play"} {
		if status, page := get(t, at+path); status != http.StatusForbidden || strings.Contains(page, token) {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	for _, path := range []string{"/stop?name=a", "/resume?name=a", "/play", "/walk?name=a"} {
		r, err := http.Post(at+path, "application/x-www-form-urlencoded", nil)
		if status, _, _ := body(t, r, err); status != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, status)
		}
		req, err := http.NewRequest("POST", at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		r, err = client.Do(req)
		if status, _, _ := body(t, r, err); status != http.StatusForbidden {
			t.Errorf("POST %s from another site: %d", path, status)
		}
		if r, err := client.Get(at + strings.Replace(path, "/play", "/stop", 1)); err != nil {
			t.Error(err)
		} else if r.Body.Close(); r.StatusCode < 400 {
			t.Errorf("GET %s: %d", path, r.StatusCode)
		}
	}
	// A viewer without a token has nothing that changes a run.
	plain := httptest.NewServer(view.New(view.Options{Folder: t.TempDir()}))
	defer plain.Close()
	r, err := http.Post(plain.URL+"/stop?name=a", "", nil)
	if status, _, _ := body(t, r, err); status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
		t.Errorf("%d", status)
	}
}

var numbered = regexp.MustCompile(`name="number" value="(\d+)"`)

// A game that is played on the pages is the run that its actions make, and its page
// says nothing that a model is not sent.
func TestPlayed(t *testing.T) {
	client, at, folder := controlled(t)
	post := func(path string, form url.Values) (int, string, string) {
		t.Helper()
		r, err := client.PostForm(at+path, form)
		return body(t, r, err)
	}
	for want, form := range map[string]url.Values{
		"letters, digits": {"name": {"../x"}}, "strategy": {"name": {"a"}, "strategy": {"nothing"}}, "radius=x": {"name": {"a"}, "radius": {"x"}}, "seed": {"name": {"a"}, "seeds": {"-1"}},
	} {
		if status, _, page := post("/play", form); status != http.StatusBadRequest || !strings.Contains(page, want) {
			t.Errorf("%v: %d %s", form, status, page)
		}
	}
	status, where, page := post("/play", url.Values{"name": {"anna"}, "seeds": {"3"}, "regime": {"L3"}, "strategy": {"no-memory"}, "radius": {"1"}, "size": {"5x5"}})
	if status != http.StatusOK || !strings.HasPrefix(where, "/walk?") || !strings.Contains(page, "You remember nothing.") || strings.Contains(page, "SAFE") || strings.Contains(page, "L3") {
		t.Fatalf("%d %s %s", status, where, page)
	}
	want := []string{"RIGHT", "UP", "LEFT"}
	for i := 0; strings.HasPrefix(where, "/walk?"); i++ {
		number := numbered.FindStringSubmatch(page)[1]
		action := "UP"
		if i < len(want) {
			action = want[i]
		} else {
			want = append(want, action)
		}
		form := url.Values{"number": {number}, "action": {action}}
		if i == 1 { // two clicks are one step
			go client.PostForm(at+"/walk?name=play-anna", form)
		}
		status, where, page = post("/walk?name=play-anna", form)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, page)
		}
	}
	if !strings.HasPrefix(where, "/run?name=play-anna") {
		t.Errorf("it ended at %s", where)
	}
	dir := filepath.Join(folder, "play-anna")
	stored, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	for trial, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range trial.Steps {
			got = append(got, trial.Steps[i].Action)
		}
		if strings.Join(got, " ") != strings.Join(want[:len(got)], " ") || trial.Outcome == "error" || len(want)-len(got) > 1 {
			t.Errorf("%s after %v, chosen were %v", trial.Outcome, got, want)
		}
	}
	wrong := 0
	if _, err := stored.Check(t.Context(), "", func(problem string) { wrong++; t.Error(problem) }); err != nil || wrong > 0 {
		t.Error(err)
	}
	if _, where, _ = post("/play", url.Values{"name": {"anna"}}); !strings.HasPrefix(where, "/walk?name=play-anna-2") {
		t.Errorf("a second game is at %s", where)
	}
	if _, where, page = post("/stop?name=play-anna-2", nil); !strings.HasPrefix(where, "/run?") || strings.Contains(page, "failed") {
		t.Errorf("left: %s %s", where, page)
	}
}

// A run that another process makes stops when the page asks for it, and goes on
// from the page to its end.
func TestStopAndResume(t *testing.T) {
	client, at, folder := controlled(t)
	slow, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Delay: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	t.Setenv("V_BASE_URL", slow.URL)
	t.Setenv("V_API_KEY", "none")
	s, err := study.Parse("{base: quick, seeds: 6, tasks: detect, regimes: L1, models: [openai-api/v/ref/reader], detection: {modalities: text}}")
	if err != nil {
		t.Fatal(err)
	}
	session, err := run.Start(t.Context(), s, run.Options{Dir: filepath.Join(folder, "slow"), Pace: run.Pace{Concurrency: 1}})
	if err != nil {
		t.Fatal(err)
	}
	post := func(path string) string {
		t.Helper()
		r, err := client.PostForm(at+path, nil)
		status, _, page := body(t, r, err)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, page)
		}
		return page
	}
	post("/stop?name=slow")
	if _, err := session.Wait(); !errors.Is(err, run.ErrStopped) {
		t.Fatalf("it ended with %v", err)
	}
	r, err := client.PostForm(at+"/stop?name=slow", nil)
	if status, _, page := body(t, r, err); status != http.StatusBadRequest || !strings.Contains(page, "no process is at work") {
		t.Errorf("stopped twice: %d %s", status, page)
	}
	page := post("/resume?name=slow")
	for end := time.Now().Add(20 * time.Second); !strings.Contains(page, "(100%)") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := client.Get(at + "/run?name=slow")
		_, _, page = body(t, r, err)
	}
	if !strings.Contains(page, "(100%)") || !strings.Contains(page, ">finished<") {
		t.Errorf("it did not come to its end: %s", page)
	}
	for end := time.Now().Add(20 * time.Second); !strings.Contains(page, "finds stale entries") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := client.Get(at + "/run?name=slow")
		_, _, page = body(t, r, err)
	}
	if !strings.Contains(page, "What it comes to") || !strings.Contains(page, "<caption") {
		t.Errorf("its page has no findings or tables: %s", page)
	}
	if _, err := os.Stat(filepath.Join(folder, "slow", "stop.request")); err == nil {
		t.Error("what asked it to stop is still there")
	}
}

// An episode is continued from its page, and its branch stands beside it.
func TestBranched(t *testing.T) {
	client, at, folder := controlled(t)
	if _, err := start(t, folder, "first", "seeds: 1, tasks: navigate, regimes: L2, models: ref/believer, navigation: {modalities: text, episodes: 1}").Wait(); err != nil {
		t.Fatal(err)
	}
	stored, err := run.Open(filepath.Join(folder, "first"))
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	rows, _, err := stored.Rows(store.Query{Where: map[string][]string{"strategy": {"no-filter"}}})
	if err != nil {
		t.Fatal(err)
	}
	key := rows[0].Key
	if r, err := client.Get(at + "/trial?name=first&key=" + key); err != nil {
		t.Fatal(err)
	} else if _, _, page := body(t, r, err); !strings.Contains(page, `action="/branch?name=first"`) {
		t.Error("the episode's page does not branch")
	}
	for want, form := range map[string]url.Values{"the episode has steps": {"key": {key}, "at": {"999"}}, "unknown strategy": {"key": {key}, "at": {"1"}, "strategy": {"x"}}, "no such trial": {"key": {"x"}, "at": {"1"}}} {
		r, err := client.PostForm(at+"/branch?name=first", form)
		if status, _, page := body(t, r, err); status != http.StatusBadRequest || !strings.Contains(page, want) {
			t.Errorf("%v: %d %s", form, status, page)
		}
	}
	r, err := client.PostForm(at+"/branch?name=first", url.Values{"key": {key}, "at": {"1"}, "strategy": {"oracle"}})
	_, where, page := body(t, r, err)
	for end := time.Now().Add(20 * time.Second); !strings.Contains(page, "(100%)") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := client.Get(at + where)
		_, _, page = body(t, r, err)
	}
	link := trialLink.FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("%s has no trial: %s", where, page)
	}
	r, err = client.Get(at + html.UnescapeString(link[1]))
	if _, _, page = body(t, r, err); !strings.Contains(page, "This continues <a href=\"/trial?key="+key+"&amp;name=first\">an episode of first</a> from its step 1 on") || strings.Count(html.UnescapeString(page), `"strategy":`) < 2 {
		t.Errorf("the branch does not stand beside its episode: %s", page)
	}
}
