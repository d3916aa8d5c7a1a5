package provenance

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say what a log keeps. The zero value keeps no reasons, has no end in
// time, and one of DefaultBytes.
type Options struct {
	Keep    time.Duration // how long a verdict is kept; 0 for no end
	Bytes   int64         // the most that all of it may take; 0 is DefaultBytes
	Reasons bool          // keep the model's words, which may repeat an entry's
	Now     func() time.Time
	// Warn is told when verdicts go sooner than Keep says, for want of Bytes; nil
	// for nobody.
	Warn func(text string)
}

// DefaultBytes is the most that a log takes unless told otherwise: about half a
// million verdicts.
const DefaultBytes = 256 << 20

// A log is a folder of files, each of verdicts of one hour. Several programs may
// write to it at once, each to files of its own.
const (
	span      = time.Hour
	fileTime  = "20060102T150405.000Z"
	suffix    = ".jsonl"
	keyFile   = "key"
	keyLength = 32
	fileShare = 16 // of Bytes, for one file
)

// A Log keeps verdicts in a folder. It is safe for concurrent use.
type Log struct {
	dir     string
	options Options
	key     Key

	mu    sync.Mutex
	file  *os.File // nil until something is kept
	began time.Time
	size  int64
}

// Open opens a log in a folder, which is made if need be, and lets go of what is
// too old. Its key is in the folder as well; a copy of the log without it tells
// nothing of texts.
func Open(dir string, o Options) (*Log, error) {
	if o.Keep < 0 || o.Bytes < 0 {
		return nil, errors.New("log of verdicts: how long and how much is kept must not be negative")
	}
	if o.Bytes == 0 {
		o.Bytes = DefaultBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("log of verdicts: %w", err)
	}
	key, err := makeKey(dir)
	if err != nil {
		return nil, fmt.Errorf("log of verdicts: %w", err)
	}
	l := &Log{dir: dir, options: o, key: key}
	return l, l.prune()
}

// ReadKey returns the key of a log.
func ReadKey(dir string) (Key, error) {
	text, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keyLength {
		return nil, fmt.Errorf("%s is no key of a log", filepath.Join(dir, keyFile))
	}
	return key, nil
}

// makeKey returns the key of a log, which it makes the first time. Two programs
// that begin at once have the same.
func makeKey(dir string) (Key, error) {
	key, err := ReadKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	f, err := os.CreateTemp(dir, keyFile+"-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, randomHex(keyLength))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), filepath.Join(dir, keyFile)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return ReadKey(dir)
}

// randomHex is so many random bytes.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// Append keeps the verdicts of an audit.
func (l *Log) Append(a *Audit) error {
	now := l.options.Now()
	named := *a
	if named.ID == "" {
		named.ID = randomHex(8)
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, v := range named.Verdicts(l.key, now, l.options.Reasons) {
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("log of verdicts: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.next(now); err != nil {
		return fmt.Errorf("log of verdicts: %w", err)
	}
	n, err := l.file.Write(lines.Bytes())
	l.size += int64(n)
	if err != nil {
		l.close() // what was written of a line is left behind; the next file is whole
		return fmt.Errorf("log of verdicts: %w", err)
	}
	return nil
}

// Close ends a log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.close()
}

func (l *Log) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// next begins another file where the last is full or old.
func (l *Log) next(now time.Time) error {
	if l.file != nil && now.Sub(l.began) < span && l.size < l.options.Bytes/fileShare {
		return nil
	}
	if err := errors.Join(l.close(), l.prune()); err != nil {
		return err
	}
	name := now.UTC().Format(fileTime) + "-" + randomHex(4) + suffix
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	l.file, l.began, l.size = f, now, 0
	return nil
}

// prune removes files that are old, and the oldest while all take too much.
func (l *Log) prune() error {
	files, err := filesOf(l.dir)
	if err != nil {
		return err
	}
	now := l.options.Now()
	total := int64(0)
	for i := range files {
		total += files[i].size
	}
	most := l.options.Bytes - l.options.Bytes/fileShare // leaves room for a file to come
	early := 0
	for _, f := range files {
		old := l.options.Keep > 0 && f.began.Add(span).Before(now.Add(-l.options.Keep))
		if !old && total <= most {
			continue
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.size
		if !old {
			early++
		}
	}
	if early > 0 && l.options.Warn != nil {
		l.options.Warn(fmt.Sprintf("%s: the oldest %d files of verdicts went sooner than asked: all may take %d MB", l.dir, early, l.options.Bytes>>20))
	}
	return nil
}

// Prune removes what is older than keep from a log that nobody need have open,
// to the hour.
func Prune(dir string, keep time.Duration, now time.Time) error {
	l := &Log{dir: dir, options: Options{Keep: keep, Bytes: 1 << 62, Now: func() time.Time { return now }}}
	return l.prune()
}

// logFile is a file of verdicts.
type logFile struct {
	path  string
	began time.Time
	size  int64
}

// filesOf lists the files of a log, the oldest first.
func filesOf(dir string) ([]logFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []logFile
	for _, e := range entries {
		stamp, _, _ := strings.Cut(e.Name(), "-")
		began, err := time.Parse(fileTime, stamp)
		if err != nil || filepath.Ext(e.Name()) != suffix {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another program has removed it
		}
		if err != nil {
			return nil, err
		}
		files = append(files, logFile{filepath.Join(dir, e.Name()), began, info.Size()})
	}
	slices.SortStableFunc(files, func(a, b logFile) int { return a.began.Compare(b.began) })
	return files, nil
}

// Read returns the verdicts of a log since a time, the oldest file first. A line
// that cannot be read is an error among them; the end of a file that was cut off
// in writing is passed over.
func Read(dir string, since time.Time) iter.Seq2[Verdict, error] {
	return func(yield func(Verdict, error) bool) {
		files, err := filesOf(dir)
		if err != nil {
			yield(Verdict{}, err)
			return
		}
		for _, f := range files {
			if f.began.Add(span).Before(since) {
				continue
			}
			if !readFile(f.path, since, yield) {
				return
			}
		}
	}
}

func readFile(path string, since time.Time, yield func(Verdict, error) bool) bool {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return yield(Verdict{}, err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return yield(Verdict{}, err)
		}
		v, err := parse(line)
		if err != nil {
			err = fmt.Errorf("%s:%d: %w", path, n, err)
		} else if v.Time.Before(since) {
			continue
		}
		if !yield(v, err) {
			return false
		}
	}
}

// parse reads a line.
func parse(line []byte) (v Verdict, err error) {
	if err := json.Unmarshal(line, &v); err != nil {
		return Verdict{}, fmt.Errorf("no verdict: %w", err)
	}
	if v.Version != version {
		return Verdict{}, fmt.Errorf("a verdict of version %d; this program reads %d", v.Version, version)
	}
	return v, nil
}
