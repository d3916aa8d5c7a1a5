package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spatialstale/spatialstale/record"
)

// What stands here reads the databases of version 0.1, whose records are in a
// binary form of their own. Nothing else knows that form: such a database is
// read into tables of today, either for good, when the run is gone on with, or
// for the time that a Run is open.

// keptName is what the database of version 0.1 is called once one of today has
// taken its place.
const keptName = "run-0.1.db"

// readV1 makes a temporary database of today of an old one.
func readV1(old *database) (*database, error) {
	db, err := connectTemporary(old.path)
	if err != nil {
		return nil, explain(old.path, err)
	}
	v := &v1Reader{db: old, tasks: map[int]string{}, rows: newRecent[uint64](cachedBytes, func(row []record.Part) (n int) {
		for i := range row {
			n += len(row[i].Data)
		}
		return n
	})}
	var manifest []byte
	if err := old.queryRow("SELECT value FROM meta WHERE name = 'manifest'").Scan(&manifest); err != nil {
		return nil, errors.Join(v.broken("the manifest", err), db.close())
	}
	err = fillDatabase(db, 1, manifest, func(in *inserter) error {
		return errors.Join(v.plan(in), v.instances(in), v.results(in), v.calls(in))
	})
	if err != nil {
		return nil, errors.Join(explain(old.path, err), db.close())
	}
	db.version = schemaVersion
	return db, nil
}

// upgrade puts a database of today in the place of an old one, which is kept
// under another name. The caller holds the run's lock.
func upgrade(path string) (err error) {
	old, err := connect(path, reading)
	if err != nil {
		return openError(path, err)
	}
	err = old.identify()
	if err := errors.Join(err, old.close()); err != nil || old.version == schemaVersion {
		return err
	}
	// To itself: a reader's log must not meet the new file.
	if old, err = connect(path, replacing); err == nil {
		err = old.exec("BEGIN EXCLUSIVE")
	}
	if errorCode(err) == sqlite3.SQLITE_BUSY || errorCode(err) == sqlite3.SQLITE_LOCKED {
		return fmt.Errorf("%s was made by version 0.1 and is brought to today's form before it goes on; another process reads it, so wait until that has finished: %w", path, err)
	}
	if err != nil {
		return explain(path, err)
	}
	defer func() { err = errors.Join(err, old.close()) }()
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) { // of an earlier try
		return explain(partial, err)
	}
	defer os.Remove(partial)
	made, err := readV1(old)
	if err != nil {
		return err
	}
	if err := errors.Join(made.exec("VACUUM INTO ?", partial), made.close()); err != nil {
		return explain(partial, err)
	}
	return explain(path, replace(partial, path, filepath.Join(filepath.Dir(path), keptName)))
}

// replace gives a file the name of another, which is kept under a third. At any
// moment one of the two has the name.
func replace(file, name, kept string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(name, kept); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("the old database cannot be kept under another name: %w", err)
	}
	if err := os.Rename(file, name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

type v1Reader struct {
	db    *database
	tasks map[int]string                 // by place in the plan
	rows  *recent[uint64, []record.Part] // of blobs
}

func (v *v1Reader) broken(what string, err error) error { return (&Run{db: v.db}).broken(what, err) }

// each runs a query and hands over its rows.
func (v *v1Reader) each(what, query string, row func(*sql.Rows) error) (err error) {
	(&Run{db: v.db}).each(what, query, nil, row, func(e error) bool { err = e; return true })
	return err
}

func (v *v1Reader) plan(in *inserter) error {
	return v.each("the plan", "SELECT ordinal, "+specColumns+" FROM trials ORDER BY ordinal", func(rows *sql.Rows) error {
		var ordinal int
		var s record.Spec
		if err := rows.Scan(append([]any{&ordinal}, specFields(&s)...)...); err != nil {
			return err
		}
		v.tasks[ordinal] = s.Task
		return in.spec(ordinal, &s)
	})
}

func (v *v1Reader) instances(in *inserter) error {
	return v.each("the instances", "SELECT ordinal, packed, record FROM instances ORDER BY ordinal", func(rows *sql.Rows) error {
		var i record.Instance
		ordinal, err := scanV1(rows, &i, (*v1Decoder).instance)
		if err != nil {
			return err
		}
		return in.instance(ordinal, &i)
	})
}

func (v *v1Reader) results(in *inserter) error {
	return v.each("the trials", "SELECT trial, packed, record FROM results ORDER BY trial", func(rows *sql.Rows) error {
		var t record.Trial
		ordinal, err := scanV1(rows, &t, (*v1Decoder).trial)
		if err != nil {
			return fmt.Errorf("trial %d of the plan: %w", ordinal, err)
		}
		t.Task = v.tasks[ordinal] // which the number of moves depends on
		row, err := newResultRow(&t)
		if err != nil {
			return err
		}
		return in.result(ordinal, row)
	})
}

func (v *v1Reader) calls(in *inserter) error {
	return v.each("the calls", "SELECT trial, packed, data FROM calls ORDER BY id", func(rows *sql.Rows) error {
		var calls []v1Call
		ordinal, err := scanV1(rows, &calls, (*v1Decoder).calls)
		if err != nil {
			return fmt.Errorf("calls of trial %d of the plan: %w", ordinal, err)
		}
		for i := range calls {
			if err := v.call(in, ordinal, &calls[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *v1Reader) call(in *inserter, ordinal int, k *v1Call) (err error) {
	call := &k.Call
	if call.Reply, err = v.text(k.reply); err != nil {
		return err
	}
	if k.reasoning != 0 {
		if call.Reasoning, err = v.text(k.reasoning); err != nil {
			return err
		}
	}
	call.Prompt = make([]record.Part, len(k.prompt))
	for i, id := range k.prompt {
		if call.Prompt[i], err = v.part(id); err != nil {
			return err
		}
	}
	sums := newCallSums(call)
	if call.PromptSHA256 = sums.prompt; k.promptSum != nil {
		call.PromptSHA256 = *k.promptSum
	}
	return in.call(ordinal, call, &sums)
}

// part returns a text or picture by its number: that of its row times 256, plus
// the place in the row.
func (v *v1Reader) part(id uint64) (record.Part, error) {
	number, place := id/256, int(id%256)
	row, ok := v.rows.get(number)
	if !ok {
		var err error
		if row, err = v.blobs(number); err != nil {
			return record.Part{}, fmt.Errorf("blob %d: %w", id, err)
		}
		v.rows.put(number, row)
	}
	if place >= len(row) {
		return record.Part{}, fmt.Errorf("blob %d: its row has only %d", id, len(row))
	}
	return row[place], nil
}

func (v *v1Reader) text(id uint64) (string, error) {
	p, err := v.part(id)
	return string(p.Data), err
}

func (v *v1Reader) blobs(number uint64) ([]record.Part, error) {
	var (
		kind       string
		sums, data []byte
		packed     int
	)
	if err := v.db.queryRow("SELECT kind, sums, packed, data FROM blobs WHERE id = ?", int64(number)).Scan(&kind, &sums, &packed, &data); err != nil {
		return nil, err
	}
	data, err := v1Unpack(data, packed)
	if err != nil {
		return nil, err
	}
	return v1SplitBlobs(kind, sums, data)
}

// v1SplitBlobs takes a row of blobs apart: each content is behind its length.
func v1SplitBlobs(kind string, sums, data []byte) ([]record.Part, error) {
	parts := make([]record.Part, len(sums)/32)
	for i := range parts {
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) {
			return nil, errMalformed
		}
		end := n + int(length)
		parts[i] = record.Part{Sum: [32]byte(sums[32*i:]), Kind: kind, Data: data[n:end:end]}
		data = data[end:]
	}
	if len(sums)%32 != 0 || len(data) > 0 {
		return nil, errMalformed
	}
	return parts, nil
}

// v1MostPacked is the most that a compressed row may grow to.
const v1MostPacked = 32 << 20

var v1Decompressor = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(v1MostPacked)))

func v1Unpack(data []byte, packed int) ([]byte, error) {
	switch packed {
	case 0:
		return data, nil
	case 1:
		return v1Decompressor.DecodeAll(data, nil)
	}
	return nil, fmt.Errorf("unknown packing %d", packed)
}

// scanV1 reads a row of a number, a packing and a packed value.
func scanV1[T any](rows *sql.Rows, into *T, walk func(*v1Decoder, *T)) (ordinal int, err error) {
	var packed int
	var data sql.RawBytes
	if err := rows.Scan(&ordinal, &packed, &data); err != nil {
		return 0, err
	}
	body, err := v1Unpack(data, packed)
	if err != nil {
		return ordinal, err
	}
	return ordinal, v1Decode(body, into, walk)
}

// v1Decode reads a record of layout 1 or 2; version 0.1 wrote 2.
func v1Decode[T any](data []byte, into *T, walk func(*v1Decoder, *T)) error {
	d := v1Decoder{buf: data}
	if d.version = d.uint(); d.version > 2 {
		return fmt.Errorf("record layout %d: %w", d.version, ErrNewer)
	}
	walk(&d, into)
	if len(d.buf) > 0 || d.version == 0 {
		d.fail()
	}
	return d.err
}

// A v1Decoder reads values. Whole numbers are varints; every text and every
// fraction stands in full where it is first used and is a small number from
// then on; a list is its length plus one, or 0 for nil, and its elements.
type v1Decoder struct {
	version   uint64
	buf       []byte // what is still to be read
	err       error  // the first error
	texts     []string
	fractions []float64
}

// fail notes that what is read was never written; from then on every value
// reads as zero.
func (d *v1Decoder) fail() {
	d.buf = nil
	if d.err == nil {
		d.err = errMalformed
	}
}

func (d *v1Decoder) uint() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *v1Decoder) int64() int64 {
	v, n := binary.Varint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *v1Decoder) int() int { return int(d.int64()) }

func (d *v1Decoder) flag() bool {
	v := d.uint()
	if v > 1 {
		d.fail()
	}
	return v == 1
}

// text reads 0, a length and the bytes of a new text, or one more than the
// number of a known one.
func (d *v1Decoder) text() string {
	if no := d.uint(); no > 0 {
		if no > uint64(len(d.texts)) {
			d.fail()
			return ""
		}
		return d.texts[no-1]
	}
	n := d.uint()
	if n > uint64(len(d.buf)) || d.err != nil {
		d.fail()
		return ""
	}
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	d.texts = append(d.texts, s)
	return s
}

// fraction reads 0 for nil, 1 and eight bytes for a new number, or two more than
// the number of a known one.
func (d *v1Decoder) fraction() *float64 {
	var v float64
	switch no := d.uint(); {
	case no == 0:
		return nil
	case no == 1:
		if len(d.buf) < 8 {
			d.fail()
			return nil
		}
		v = math.Float64frombits(binary.LittleEndian.Uint64(d.buf))
		d.buf = d.buf[8:]
		d.fractions = append(d.fractions, v)
	case no-2 < uint64(len(d.fractions)):
		v = d.fractions[no-2]
	default:
		d.fail()
		return nil
	}
	return &v
}

// v1List reads a list with the walk for one element. It grows as elements come,
// so that a length alone takes no memory.
func v1List[T any](d *v1Decoder, element func(*v1Decoder, *T)) []T {
	n := d.uint()
	if n == 0 {
		return nil
	}
	list := []T{}
	for range n - 1 {
		if len(d.buf) == 0 { // an element takes a byte at least
			d.fail()
			return nil
		}
		var v T
		element(d, &v)
		list = append(list, v)
	}
	return list
}

// v1Optional reads a value that may be absent.
func v1Optional[T any](d *v1Decoder, value func(*v1Decoder, *T)) *T {
	if !d.flag() {
		return nil
	}
	v := new(T)
	value(d, v)
	return v
}

func (d *v1Decoder) textInto(s *string) { *s = d.text() }
func (d *v1Decoder) intInto(i *int)     { *i = d.int() }
func (d *v1Decoder) idInto(id *uint64)  { *id = d.uint() }

// trial reads a trial but for its Spec, which is in the plan.
func (d *v1Decoder) trial(t *record.Trial) {
	t.Version, t.Outcome, t.Error = d.int(), d.text(), d.text()
	t.Counts = record.Counts{TP: d.int(), FP: d.int(), FN: d.int(), TN: d.int(), Unanswered: d.int()}
	t.Windows = v1List(d, (*v1Decoder).window)
	t.Steps = v1List(d, (*v1Decoder).step)
	t.Death = v1Optional(d, (*v1Decoder).death)
}

func (d *v1Decoder) window(w *record.Window) {
	w.Index, w.Step = d.int(), d.int()
	w.Visible = v1List(d, (*v1Decoder).textInto)
	w.Judgments = v1List(d, (*v1Decoder).judgment)
	w.Replies = v1List(d, (*v1Decoder).parsed)
}

func (d *v1Decoder) judgment(j *record.Judgment) {
	j.MemoryID, j.Pos, j.Claim, j.Truth, j.Verdict = d.text(), d.pos(), d.text(), d.flag(), d.text()
	j.Score, j.Confidence, j.Reason = d.fraction(), d.fraction(), d.text()
	j.Repairs = v1List(d, (*v1Decoder).textInto)
	if d.version >= 2 {
		j.StaleLogprob, j.ValidLogprob = d.fraction(), d.fraction()
	}
}

func (d *v1Decoder) parsed(p *record.Parsed) {
	p.Slot, p.Outcome = d.text(), d.text()
	p.Repairs = v1List(d, (*v1Decoder).textInto)
	p.UnknownIDs = d.int()
}

func (d *v1Decoder) step(s *record.Step) {
	s.T, s.Pos, s.Action, s.Next, s.Cell, s.Fallback = d.int(), d.pos(), d.text(), d.pos(), d.text(), d.flag()
	s.Event, s.Dropped = v1List(d, (*v1Decoder).flip), v1List(d, (*v1Decoder).flip)
	s.Memory = d.text()
	s.Removed, s.Visible = v1List(d, (*v1Decoder).textInto), v1List(d, (*v1Decoder).textInto)
	s.Reply = d.text()
}

func (d *v1Decoder) death(r *record.DeathRecord) {
	r.Pos = d.pos()
	r.MemoryID = v1Optional(d, (*v1Decoder).textInto)
	r.Cause = d.text()
}

func (d *v1Decoder) pos() record.Pos { return record.Pos{d.int(), d.int()} }

func (d *v1Decoder) flip(f *record.Flip) { f.Pos, f.To = d.pos(), d.text() }

func (d *v1Decoder) instance(in *record.Instance) {
	in.Seed, in.Regime = d.int(), d.text()
	in.Rows, in.RowsAfter = v1List(d, (*v1Decoder).textInto), v1List(d, (*v1Decoder).textInto)
	in.Events = v1List(d, (*v1Decoder).event)
	in.Memory = v1List(d, (*v1Decoder).entry)
}

func (d *v1Decoder) event(e *record.Event) {
	e.Step, e.Flips = d.int(), v1List(d, (*v1Decoder).flip)
}

func (d *v1Decoder) entry(e *record.MemoryEntry) {
	e.ID, e.Pos, e.Claim, e.Text, e.Visited = d.text(), d.pos(), d.text(), d.text(), d.flag()
}

// A v1Call is a call whose texts and pictures are numbers of blobs.
type v1Call struct {
	record.Call
	prompt    []uint64
	promptSum *[32]byte // nil when it is that of the prompt's parts, as it should be
	reply     uint64
	reasoning uint64 // 0 when there was none
}

func (d *v1Decoder) calls(all *[]v1Call) { *all = v1List(d, (*v1Decoder).call) }

func (d *v1Decoder) call(k *v1Call) {
	k.Slot, k.Purpose, k.Model = d.text(), d.text(), d.text()
	k.prompt = v1List(d, (*v1Decoder).idInto)
	k.promptSum = v1Optional(d, (*v1Decoder).sum)
	k.reply, k.reasoning = d.uint(), d.uint()
	k.Finish, k.ServerModel = d.text(), d.text()
	k.InputTokens, k.OutputTokens = v1Optional(d, (*v1Decoder).intInto), v1Optional(d, (*v1Decoder).intInto)
	k.Latency = time.Duration(d.int64())
	if d.version >= 2 {
		k.CachedTokens, k.CacheWriteTokens = v1Optional(d, (*v1Decoder).intInto), v1Optional(d, (*v1Decoder).intInto)
		k.ReasoningTokens = v1Optional(d, (*v1Decoder).intInto)
		k.Booleans = v1List(d, (*v1Decoder).boolean)
	}
}

func (d *v1Decoder) sum(s *[32]byte) {
	if len(d.buf) < len(s) {
		d.fail()
		return
	}
	d.buf = d.buf[copy(s[:], d.buf):]
}

func (d *v1Decoder) boolean(b *record.Boolean) {
	b.At, b.True, b.False = d.int(), d.fraction(), d.fraction()
}
