package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spatialstale/spatialstale/record"
)

// An inserter writes records as rows. It is the only code that does, whether a
// run is created, goes on, or is brought over from an older version.
type inserter struct {
	insertSpec, insertInstance, insertResult *sql.Stmt
	insertCall, insertPrompt                 *sql.Stmt
	insertBlob, findBlob                     *sql.Stmt

	// What was written lately, to be referred to again. A blob that is no longer
	// remembered is looked up; a prompt is then written once more, which does no
	// harm.
	blobs   *recent[[32]byte, int64]
	prompts *recent[promptKey, int64]
	partial bool // the database has blobs that were never remembered
	parts   []byte
}

// A promptKey is a prompt's sum by its parts, and the one that it was said to
// have.
type promptKey struct{ sum, said [32]byte }

// How many sums a generation of the inserter's memory holds; the whole takes
// some 10 MB at most.
const rememberedSums = 1 << 16

func newInserter(db *database) (*inserter, error) {
	in := &inserter{
		blobs:   newRecent[[32]byte, int64](rememberedSums, nil),
		prompts: newRecent[promptKey, int64](rememberedSums, nil),
	}
	err := db.prepareAll(
		prepared{&in.insertSpec, "INSERT INTO plan(ordinal, " + specColumns + ", checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		prepared{&in.insertInstance, "INSERT INTO instances(ordinal, record) VALUES (?, ?)"},
		prepared{&in.insertResult, "INSERT INTO results(trial, " + resultColumns + ", checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		prepared{&in.insertCall, "INSERT INTO calls(trial, " + callColumns + ") VALUES (?1, ?2, ?3, nullif(?4, (SELECT model FROM plan WHERE ordinal = ?1)), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"},
		prepared{&in.insertPrompt, "INSERT INTO prompts(sha256, parts) VALUES (?, ?)"},
		prepared{&in.insertBlob, "INSERT INTO blobs(sum, kind, text, file) VALUES (?, ?, ?, ?)"},
		prepared{&in.findBlob, "SELECT id FROM blobs WHERE sum = ?"},
	)
	if err != nil {
		return nil, err
	}
	return in, db.queryRow("SELECT count(*) > 0 FROM (SELECT 1 FROM blobs LIMIT 1)").Scan(&in.partial)
}

func (in *inserter) spec(ordinal int, s *record.Spec) error {
	fields := specFields(s)
	_, err := in.insertSpec.Exec(append(append([]any{ordinal}, fields...), checksum(fields))...)
	return err
}

func (in *inserter) instance(ordinal int, i *record.Instance) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	_, err = in.insertInstance.Exec(ordinal, string(text))
	return err
}

func (in *inserter) result(ordinal int, r *resultRow) error {
	fields := r.fields()
	_, err := in.insertResult.Exec(append(append([]any{ordinal}, fields...), checksum(fields))...)
	return err
}

// callSums are computed by those who hand over a call, of whom there are many.
type callSums struct{ prompt, reply, reasoning [32]byte }

func newCallSums(call *record.Call) (s callSums) {
	s.prompt = promptSum(call.Prompt)
	s.reply = sha256.Sum256([]byte(call.Reply))
	if call.Reasoning != "" {
		s.reasoning = sha256.Sum256([]byte(call.Reasoning))
	}
	return s
}

// errTwice says that a trial has a call in that slot already.
var errTwice = errors.New("the slot is taken")

func (in *inserter) call(ordinal int, call *record.Call, sums *callSums) error {
	prompt, err := in.prompt(call, sums)
	if err != nil {
		return err
	}
	reply, err := blobID(in, record.PartText, &sums.reply, call.Reply)
	if err != nil {
		return err
	}
	var reasoning *int64
	if call.Reasoning != "" {
		id, err := blobID(in, record.PartText, &sums.reasoning, call.Reasoning)
		if err != nil {
			return err
		}
		reasoning = &id
	}
	var booleans, timings any
	if call.Booleans != nil {
		finiteBooleans := slices.Clone(call.Booleans)
		for i, b := range finiteBooleans {
			finiteBooleans[i].True, finiteBooleans[i].False = finite(b.True), finite(b.False)
		}
		if booleans, err = jsonText(finiteBooleans); err != nil {
			return err
		}
	}
	if call.Timings != nil || call.Batch != "" {
		if timings, err = jsonText(timingsRow{call.Timings, call.Batch}); err != nil {
			return err
		}
	}
	var serverModel any
	if call.ServerModel != "" {
		serverModel = call.ServerModel
	}
	_, err = in.insertCall.Exec(ordinal, call.Slot, call.Purpose, call.Model, prompt, reply, reasoning, call.Finish, serverModel,
		call.InputTokens, call.CachedTokens, call.CacheWriteTokens, call.OutputTokens, call.ReasoningTokens, int64(call.Latency), booleans, timings)
	if errorCode(err) == sqlite3.SQLITE_CONSTRAINT {
		return errTwice
	}
	return err
}

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// prompt returns the number of a call's prompt.
func (in *inserter) prompt(call *record.Call, sums *callSums) (int64, error) {
	key := promptKey{sums.prompt, call.PromptSHA256}
	if id, ok := in.prompts.get(key); ok {
		return id, nil
	}
	in.parts = append(in.parts[:0], '[')
	for i := range call.Prompt {
		p := &call.Prompt[i]
		id, err := blobID(in, p.Kind, &p.Sum, p.Data)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			in.parts = append(in.parts, ',')
		}
		in.parts = strconv.AppendInt(in.parts, id, 10)
	}
	in.parts = append(in.parts, ']')
	done, err := in.insertPrompt.Exec(call.PromptSHA256[:], string(in.parts))
	if err != nil {
		return 0, err
	}
	id, err := done.LastInsertId()
	in.prompts.put(key, id)
	return id, err
}

// blobID returns the number of the content with that sum, keeping it if it is
// new. It is generic because most texts are known, and then are not copied.
func blobID[T string | []byte](in *inserter, kind string, sum *[32]byte, content T) (int64, error) {
	if id, ok := in.blobs.get(*sum); ok {
		return id, nil
	}
	if in.partial || in.blobs.dropped {
		var id int64
		switch err := in.findBlob.QueryRow(sum[:]).Scan(&id); {
		case err == nil:
			in.blobs.put(*sum, id)
			return id, nil
		case !errors.Is(err, sql.ErrNoRows):
			return 0, err
		}
	}
	var text, file any
	if kind == record.PartText {
		text = string(content)
	} else {
		file = []byte(content)
	}
	done, err := in.insertBlob.Exec(sum[:], kind, text, file)
	if err != nil {
		return 0, err
	}
	id, err := done.LastInsertId()
	in.blobs.put(*sum, id)
	return id, err
}

// promptSum is llm's sum of a prompt: SHA-256 over the sums of its parts.
func promptSum(parts []record.Part) [32]byte {
	buf := make([]byte, 0, 16*sha256.Size)
	for i := range parts {
		buf = append(buf, parts[i].Sum[:]...)
	}
	return sha256.Sum256(buf)
}
