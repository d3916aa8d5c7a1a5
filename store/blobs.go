package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spatialstale/spatialstale/record"
)

// Prompt parts and replies are stored in rows of several, because texts that
// were written together resemble each other: one by one they took twice the
// space and twice the time. A blob's number is its row's number times
// blobsPerRow, plus its place in the row.
const (
	blobsPerRow = 256
	bytesPerRow = 64 << 10 // a row is written when it has reached this
)

// knownBlobs is how many sums a generation of the writer's memory holds; the
// whole takes about 10 MB at most.
const knownBlobs = 1 << 16

// A blobWriter gives every distinct content one number. What it no longer
// remembers, the database tells.
type blobWriter struct {
	insertRow, insertSum, find *sql.Stmt

	known   *recent[[32]byte, uint64]
	partial bool                // the database has blobs that known never held
	rows    map[string]*blobRow // by kind: the rows that are being filled
	last    int64               // number of the latest row
	packed  []byte
}

// A blobRow is a row that is not yet written.
type blobRow struct {
	number int64
	sums   []byte // 32 bytes a blob
	data   []byte // each content behind its length
}

func newBlobWriter(db *database) (*blobWriter, error) {
	b := &blobWriter{known: newRecent[[32]byte, uint64](knownBlobs, nil), rows: map[string]*blobRow{}}
	err := db.prepareAll(
		prepared{&b.insertRow, "INSERT INTO blobs(id, kind, sums, packed, data) VALUES (?, ?, ?, ?, ?)"},
		prepared{&b.insertSum, "INSERT INTO sums(sum, blob) VALUES (?, ?)"},
		prepared{&b.find, "SELECT blob FROM sums WHERE sum = ?"},
	)
	if err != nil {
		return nil, err
	}
	err = db.queryRow("SELECT coalesce(max(id), 0) FROM blobs").Scan(&b.last)
	b.partial = b.last > 0
	return b, err
}

// blobID returns the number of the content with that sum, keeping it if it is
// new. It is generic because most texts are known, and then are not copied.
func blobID[T string | []byte](b *blobWriter, kind string, sum *[32]byte, content T) (uint64, error) {
	if id, ok := b.known.get(*sum); ok {
		return id, nil
	}
	if b.partial || b.known.dropped {
		var id int64
		switch err := b.find.QueryRow(sum[:]).Scan(&id); {
		case err == nil:
			b.known.put(*sum, uint64(id))
			return uint64(id), nil
		case !errors.Is(err, sql.ErrNoRows):
			return 0, err
		}
	}
	row := b.rows[kind]
	if row == nil {
		row = &blobRow{}
		b.rows[kind] = row
	}
	if len(row.sums) == 0 {
		b.last++
		row.number = b.last
	}
	id := row.number*blobsPerRow + int64(len(row.sums)/len(sum))
	row.sums = append(row.sums, sum[:]...)
	row.data = binary.AppendUvarint(row.data, uint64(len(content)))
	row.data = append(row.data, content...)
	if _, err := b.insertSum.Exec(sum[:], id); err != nil {
		return 0, err
	}
	b.known.put(*sum, uint64(id))
	if len(row.sums) == blobsPerRow*len(sum) || len(row.data) >= bytesPerRow {
		return uint64(id), b.write(kind, row)
	}
	return uint64(id), nil
}

// flush writes the rows that are being filled.
func (b *blobWriter) flush() error {
	for kind, row := range b.rows {
		if err := b.write(kind, row); err != nil {
			return err
		}
	}
	return nil
}

func (b *blobWriter) write(kind string, row *blobRow) error {
	if len(row.sums) == 0 {
		return nil
	}
	body, packed := row.data, packedRaw
	if kind == record.PartText { // a PNG is compressed already
		if body, packed = pack(thorough, b.packed[:0], row.data); packed == packedZstd {
			b.packed = body
		}
	}
	_, err := b.insertRow.Exec(row.number, kind, row.sums, packed, body)
	row.sums, row.data = row.sums[:0], row.data[:0]
	return err
}

// What a reader keeps in case it comes again, a generation: contents by their
// bytes, sums by their number.
const (
	cachedBytes = 8 << 20
	cachedSums  = 1 << 16
)

// A blobReader looks contents up by their number, a row at a time.
type blobReader struct {
	getRow, getSums *sql.Stmt

	rows *recent[uint64, []record.Part]
	sums *recent[uint64, []byte]
}

func newBlobReader(db *database) (*blobReader, error) {
	b := &blobReader{
		rows: newRecent[uint64](cachedBytes, func(row []record.Part) (n int) {
			for i := range row {
				n += len(row[i].Data)
			}
			return n
		}),
		sums: newRecent[uint64](cachedSums*32, func(sums []byte) int { return len(sums) }),
	}
	return b, db.prepareAll(
		prepared{&b.getRow, "SELECT kind, sums, packed, data FROM blobs WHERE id = ?"},
		prepared{&b.getSums, "SELECT sums FROM blobs WHERE id = ?"},
	)
}

// part returns a whole blob. Its data is shared and must not be changed.
func (b *blobReader) part(id uint64) (record.Part, error) {
	number, place := id/blobsPerRow, int(id%blobsPerRow)
	row, ok := b.rows.get(number)
	if !ok {
		var err error
		if row, err = b.read(number); err != nil {
			return record.Part{}, fmt.Errorf("blob %d: %w", id, err)
		}
		b.rows.put(number, row)
	}
	if place >= len(row) {
		return record.Part{}, fmt.Errorf("blob %d: its row has only %d", id, len(row))
	}
	return row[place], nil
}

func (b *blobReader) read(number uint64) ([]record.Part, error) {
	var (
		kind       string
		sums, data []byte
		packed     int
	)
	if err := b.getRow.QueryRow(int64(number)).Scan(&kind, &sums, &packed, &data); err != nil {
		return nil, err
	}
	data, err := unpack(nil, data, packed)
	if err != nil {
		return nil, err
	}
	return splitRow(kind, sums, data)
}

// splitRow takes apart what blobID has put together.
func splitRow(kind string, sums, data []byte) ([]record.Part, error) {
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

// sum returns a blob's sum without reading the rest of it.
func (b *blobReader) sum(id uint64) (sum [32]byte, err error) {
	number, place := id/blobsPerRow, int(id%blobsPerRow)
	sums, ok := b.sums.get(number)
	if !ok {
		if err := b.getSums.QueryRow(int64(number)).Scan(&sums); err != nil {
			return sum, fmt.Errorf("blob %d: %w", id, err)
		}
		b.sums.put(number, sums)
	}
	if 32*place+32 > len(sums) {
		return sum, fmt.Errorf("blob %d: its row has only %d", id, len(sums)/32)
	}
	return [32]byte(sums[32*place:]), nil
}

// text returns a blob as a text.
func (b *blobReader) text(id uint64) (string, error) {
	p, err := b.part(id)
	return string(p.Data), err
}
