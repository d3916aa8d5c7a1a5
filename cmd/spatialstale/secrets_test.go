package main

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/spatialstale/spatialstale/llm/llmtest"
)

// What must never be seen again. Each holds a word of its own, which stays
// whole however the rest is escaped.
var secretWords = map[string]string{
	"key":            `sk-"Xq7WcKey5Lm\9+/=`,
	"header":         `Bearer Hd3VzHeader8Tr <&>`,
	"proxy password": `p@Px6RbProxy2Ny:/w`,
}

// theWord is the part of a secret that is looked for.
func theWord(secret string) string {
	for _, w := range []string{"Xq7WcKey5Lm", "Hd3VzHeader8Tr", "Px6RbProxy2Ny"} {
		if strings.Contains(secret, w) {
			return w
		}
	}
	panic("a secret without a word")
}

// formsOf lists the bytes by which a word is known in a text: as it is, in
// hexadecimal, and in base64 wherever it begins.
func formsOf(word string) [][]byte {
	forms := [][]byte{[]byte(word), []byte(hex.EncodeToString([]byte(word))), []byte(strings.ToUpper(hex.EncodeToString([]byte(word))))}
	for before := range 3 {
		in := append(make([]byte, before), word...)
		out := base64.RawStdEncoding.EncodeToString(in)
		from, to := (before*8+5)/6, (len(in)*8)/6 // whole characters of the word alone
		forms = append(forms, []byte(out[from:to]))
	}
	return forms
}

// find returns the names of the secrets that a text shows.
func findSecrets(text []byte) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(secretWords)) {
		for _, form := range formsOf(theWord(secretWords[name])) {
			if bytes.Contains(text, form) {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

// The search itself would fail if it overlooked a secret in any form.
func TestFindSecrets(t *testing.T) {
	for name, secret := range secretWords {
		for _, text := range []string{
			secret, fmt.Sprintf("%q", secret), base64.StdEncoding.EncodeToString([]byte("user:" + secret)), base64.URLEncoding.EncodeToString([]byte("me:" + secret)),
			base64.StdEncoding.EncodeToString([]byte("a" + secret)), hex.EncodeToString([]byte(secret)),
		} {
			if got := findSecrets([]byte("… " + text + " …")); !slices.Equal(got, []string{name}) {
				t.Errorf("%q in %q: %q", name, text, got)
			}
		}
	}
	if got := findSecrets([]byte("nothing")); got != nil {
		t.Errorf("%q", got)
	}
}

// An echo is a provider that shows whatever it is sent in its errors, in one
// form after another.
type echo struct {
	behind  http.Handler
	refuse  atomic.Bool // every key
	calls   atomic.Int32
	carried atomic.Int32 // requests that carried all the secrets
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, header, proxy := r.Header.Get("Authorization"), r.Header.Get("X-Team"), r.Header.Get("Proxy-Authorization")
	if strings.Contains(key, secretWords["key"]) && header == secretWords["header"] && proxy != "" {
		e.carried.Add(1)
	}
	said := strings.Join([]string{key, header, proxy, r.URL.String()}, " | ")
	forms := []string{
		fmt.Sprintf(`{"error":{"message":%q}}`, "This cannot be taken: "+said),
		fmt.Sprintf(`{"error":{"message":%q,"code":%q}}`, "headers: "+fmt.Sprintf("%q", said), header),
		"<html><title>" + said + "</title></html>",
		said,
	}
	n := int(e.calls.Add(1))
	w.Header().Set("X-Echo", "yes")
	switch {
	case e.refuse.Load():
		w.WriteHeader(http.StatusUnauthorized)
	case n%7 == 0:
		w.Header().Set("Retry-After-Ms", "5")
		w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway}[n/7%3])
	case n%41 == 0: // the trial fails, and its record says why
		w.WriteHeader(http.StatusBadRequest)
	default:
		e.behind.ServeHTTP(w, r)
		return
	}
	_, _ = w.Write([]byte(forms[n%len(forms)]))
}

// TestSecrets runs a study with a key from a file, a secret header and a proxy
// with a password, at a provider that echoes all of them in its errors: refused,
// killed, resumed, failed, exported, reported, checked, traced and pinged. It
// would fail if any of the three stood in any form in a file that is left
// behind, in what the database holds, packed or not, or in what was said.
func TestSecrets(t *testing.T) {
	control, err := llmtest.New(llmtest.Options{Control: "ref/mixed", Delay: 10 * time.Millisecond, Refuse: []string{"temperature"}})
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	provider := &echo{behind: control}
	server := httptest.NewServer(provider)
	defer server.Close()

	keys, dir := t.TempDir(), t.TempDir()
	envFile := filepath.Join(keys, "keys.env")
	if err := os.WriteFile(envFile, []byte("TEAM_API_KEY='"+secretWords["key"]+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	home, run := filepath.Join(dir, "home"), filepath.Join(dir, "run")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	where := strings.TrimPrefix(server.URL, "http://")
	prepared := func(args ...string) *exec.Cmd {
		cmd := command(t, args...)
		cmd.Dir = home
		cmd.Env = append(cmd.Env, "HOME="+home, "TMPDIR="+home,
			"TEAM_BASE_URL=http://models.test/v1",
			"HTTP_PROXY=http://me:"+strings.NewReplacer("@", "%40", ":", "%3A", "/", "%2F").Replace(secretWords["proxy password"])+"@"+where, "http_proxy=", "NO_PROXY=", "no_proxy=")
		return cmd
	}
	said := func(what string, code int, stdout, stderr string) {
		t.Helper()
		if found := findSecrets([]byte(stdout + "\n" + stderr)); found != nil {
			t.Errorf("%s (exit %d) shows the %s", what, code, strings.Join(found, ", the "))
		}
	}
	asked := []string{"--env-file", envFile, "--header", "X-Team=" + secretWords["header"], "--concurrency", "8"}
	study := append([]string{"run", "quick", "--seeds", "2", "--episodes", "1", "--temperature", "0.5", "--model", "openai-api/team/m", "--extra-body", `{"user":"someone"}`}, asked...)

	provider.refuse.Store(true)
	code, stdout, stderr := finish(t, prepared(append(study, "--out", filepath.Join(dir, "refused"))...))
	said("a refused run", code, stdout, stderr)
	if code != exitFailed || !strings.Contains(stderr, "auth: HTTP 401") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	code, stdout, stderr = finish(t, prepared(append([]string{"models", "--ping", "--model", "openai-api/team/m"}, asked[:4]...)...))
	said("a refused ping", code, stdout, stderr)
	provider.refuse.Store(false)

	cmd := prepared(append(study, "--out", run, "--json")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for before := provider.calls.Load(); provider.calls.Load() < before+150; {
		time.Sleep(5 * time.Millisecond)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	said("a killed run", -1, out.String(), errs.String())
	if _, err := os.Stat(filepath.Join(run, "run.db-wal")); err != nil {
		t.Errorf("the killed run left no log to look into: %v", err)
	}
	searchFiles(t, "after the kill", dir)

	code, stdout, stderr = finish(t, prepared("resume", run, "--env-file", envFile))
	said("a resumption without the header", code, stdout, stderr)
	if code != exitUsage || !strings.Contains(stderr, "X-Team, whose value it does not hold") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	code, stdout, stderr = finish(t, prepared(append([]string{"resume", run}, asked...)...))
	said("a resumption", code, stdout, stderr)
	if code != exitStopped || !strings.Contains(stderr, "trials failed") || !strings.Contains(stderr, "temperature is left out from now on") && !strings.Contains(errs.String(), "temperature is left out from now on") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	searchDatabase(t, filepath.Join(run, "run.db"))
	for _, args := range [][]string{
		{"export", run, "--format", "jsonl", "--out", filepath.Join(dir, "jsonl")}, {"export", run, "--format", "parquet", "--out", filepath.Join(dir, "parquet")},
		{"report", run}, {"report", run, "--format", "json"}, {"report", run, "--format", "md"}, {"report", run, "--rescore"}, {"check", run}, {"trace", run}, {"compare", run, run},
		{"resume", run, "--set", "temperature=1"}, append([]string{"resume", run, "--add", "seeds=3"}, asked[2:]...),
		{"run", "--replay", run, "--out", filepath.Join(dir, "replayed")}, append([]string{"models", "--json"}, asked[:2]...),
	} {
		code, stdout, stderr := finish(t, prepared(args...))
		said(strings.Join(args[:2], " "), code, stdout, stderr)
	}
	searchFiles(t, "at the end", dir)
	if n := provider.carried.Load(); n < 200 {
		t.Errorf("only %d requests carried the secrets: the test looks for what was not sent", n)
	}
}

// searchFiles looks into every file.
func searchFiles(t *testing.T, when, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if found := findSecrets(append(b, path...)); found != nil {
			t.Errorf("%s, %s holds the %s", when, path, strings.Join(found, ", the "))
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
}

// searchDatabase looks into every value of every table, and into what is packed
// there.
func searchDatabase(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	unpacker, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unpacker.Close()
	rows, err := db.Query("SELECT name FROM sqlite_schema WHERE type = 'table'")
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	unpacked := 0
	for _, table := range tables {
		unpacked += searchTable(t, db, table, unpacker)
	}
	if len(tables) < 5 || unpacked < 10 {
		t.Errorf("%d tables, %d packed values: the test no longer knows how a run is stored", len(tables), unpacked)
	}
}

func searchTable(t *testing.T, db *sql.DB, table string, unpacker *zstd.Decoder) (unpacked int) {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			text := fmt.Append(nil, v)
			if raw, ok := v.([]byte); ok {
				text = raw
				if plain, err := unpacker.DecodeAll(raw, nil); err == nil && len(plain) > 0 {
					unpacked++
					text = append(slices.Clip(text), plain...)
				}
			}
			if found := findSecrets(text); found != nil {
				t.Errorf("%s.%s holds the %s", table, columns[i], strings.Join(found, ", the "))
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return unpacked
}
