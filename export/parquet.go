package export

import (
	"errors"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/spatialstale/spatialstale/record"
)

// rowsPerGroup bounds the rows that are held in memory before they are written.
const rowsPerGroup = 1 << 16

// ParquetName returns the name of a table's Parquet file, given that of its
// JSONL file: "steps.parquet" for "steps.jsonl".
func ParquetName(jsonl string) string { return strings.TrimSuffix(jsonl, ".jsonl") + ".parquet" }

// Parquet writes a run to dir as five typed Parquet files, the tables of JSONL
// row by row: the same names, order and nulls. A position is a struct of row
// and col, a flip one of row, col and to. Columns are compressed with zstd.
//
// Like JSONL it is the same bytes for the same records, refuses when one of
// the files exists (the error wraps fs.ErrExist), and writes all or none.
func Parquet(run Source, dir string) error {
	var names []string
	for _, name := range []string{InstancesName, TrialsName, JudgmentsName, StepsName, CallsName} {
		names = append(names, ParquetName(name))
	}
	out, err := newOutput(dir, names...)
	if err != nil {
		return err
	}
	s := &parquetTables{
		instances: newParquetTable[instanceRow](out, ParquetName(InstancesName)),
		trials:    newParquetTable[trialRow](out, ParquetName(TrialsName)),
		judgments: newParquetTable[judgmentRow](out, ParquetName(JudgmentsName)),
		steps:     newParquetTable[stepRow](out, ParquetName(StepsName)),
		calls:     newParquetTable[callRow](out, ParquetName(CallsName)),
	}
	if err := errors.Join(pass(run, s), s.close()); err != nil {
		out.abandon()
		return explain(dir, err)
	}
	return out.finish()
}

// parquetTables writes records as rows of the five tables.
type parquetTables struct {
	instances *parquetTable[instanceRow]
	trials    *parquetTable[trialRow]
	judgments *parquetTable[judgmentRow]
	steps     *parquetTable[stepRow]
	calls     *parquetTable[callRow]
}

func (s *parquetTables) close() error {
	return errors.Join(s.instances.close(), s.trials.close(), s.judgments.close(), s.steps.close(), s.calls.close())
}

func (s *parquetTables) instance(in *record.Instance) error {
	return s.instances.add(newInstanceRow(in))
}

func (s *parquetTables) call(c *record.Call) error { return s.calls.add(newCallRow(c)) }

func (s *parquetTables) trial(t *record.Trial) error {
	if err := s.trials.add(newTrialRow(t)); err != nil {
		return err
	}
	for i := range t.Windows {
		w := &t.Windows[i]
		for k := range w.Judgments {
			if err := s.judgments.add(newJudgmentRow(t.Key, w, &w.Judgments[k])); err != nil {
				return err
			}
		}
	}
	for i := range t.Steps {
		if err := s.steps.add(newStepRow(t.Key, &t.Steps[i])); err != nil {
			return err
		}
	}
	return nil
}

// A parquetTable is a file under construction. Rows are handed over by the
// hundred, which costs the library far less than one by one.
type parquetTable[Row any] struct {
	writer *parquet.GenericWriter[Row]
	rows   []Row
}

func newParquetTable[Row any](out *output, name string, more ...parquet.WriterOption) *parquetTable[Row] {
	var to io.Writer = out.writers[name]
	return &parquetTable[Row]{
		writer: parquet.NewGenericWriter[Row](to, append([]parquet.WriterOption{
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
			parquet.CreatedBy("spatialstale", "1", ""),
			parquet.MaxRowsPerRowGroup(rowsPerGroup),
		}, more...)...),
		rows: make([]Row, 0, 256),
	}
}

func (t *parquetTable[Row]) add(r Row) error {
	t.rows = append(t.rows, r)
	if len(t.rows) < cap(t.rows) {
		return nil
	}
	return t.flush()
}

func (t *parquetTable[Row]) flush() error {
	_, err := t.writer.Write(t.rows)
	clear(t.rows)
	t.rows = t.rows[:0]
	return err
}

func (t *parquetTable[Row]) close() error { return errors.Join(t.flush(), t.writer.Close()) }
