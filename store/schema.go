package store

// schemaVersion is the version of the tables, kept in SQLite's user_version. A
// change of the tables raises it and brings a migration. Version 1 is the
// layout of program version 0.1 (see v1.go).
const schemaVersion = 2

// applicationID marks our databases in SQLite's application_id: "SSTL".
const applicationID = 0x5353544c

// schema creates the tables, and the views that answer what people ask. Its
// comments stay in the database, for those who open it with the sqlite3 tool.
// DuckDB reads the views as well: by its own rules, so they keep to what is SQL
// in both, and a column holds either texts or bytes.
//
// A checksum is a CRC-32C over the other columns of its row: SQLite does not
// notice a bit that the disk has changed, and a trial under another strategy
// would be counted there.
const schema = `
CREATE TABLE meta ( -- 'manifest': the text of manifest.json; 'first_format': the version of the tables at first
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE plan ( -- the planned trials, in their order
  ordinal  INTEGER PRIMARY KEY,
  key      TEXT NOT NULL UNIQUE,
  task     TEXT NOT NULL,
  model    TEXT NOT NULL,
  modality TEXT NOT NULL,
  regime   TEXT NOT NULL,
  seed     INTEGER NOT NULL,
  rows     INTEGER NOT NULL,
  cols     INTEGER NOT NULL,
  strategy TEXT NOT NULL,
  batch    INTEGER NOT NULL,
  framing  TEXT NOT NULL,
  episode  INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;

CREATE TABLE results ( -- the trials that have ended
  trial           INTEGER PRIMARY KEY REFERENCES plan,
  version         INTEGER NOT NULL, -- of the record
  outcome         TEXT NOT NULL,
  error           TEXT NOT NULL,    -- '' unless the outcome is error
  tp              INTEGER NOT NULL,
  fp              INTEGER NOT NULL,
  fn              INTEGER NOT NULL,
  tn              INTEGER NOT NULL,
  unanswered      INTEGER NOT NULL,
  death_row       INTEGER,
  death_col       INTEGER,
  death_memory_id TEXT,
  death_cause     TEXT,
  moves           INTEGER,          -- NULL for a detection, and where unknown
  fallbacks       INTEGER NOT NULL,
  dropped_flips   INTEGER NOT NULL,
  windows         BLOB,             -- JSON, compressed by zstd where that saves something
  steps           BLOB,             -- the same; a field that is false or absent is left out
  checksum        INTEGER NOT NULL
) STRICT;

CREATE TABLE instances (
  ordinal INTEGER PRIMARY KEY,
  record  TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE blobs ( -- prompt parts and replies, each content once
  id   INTEGER PRIMARY KEY,
  sum  BLOB NOT NULL UNIQUE, -- SHA-256 of a text's bytes, of an image's pixels
  kind TEXT NOT NULL,        -- text or png
  text TEXT,                 -- of a text
  file BLOB                  -- of an image
) STRICT;

CREATE TABLE prompts (
  id     INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL, -- over the sums of the parts
  parts  TEXT NOT NULL  -- JSON: the ids of the blobs
) STRICT;

CREATE TABLE calls (
  id                 INTEGER PRIMARY KEY, -- ascending in the order of writing
  trial              INTEGER NOT NULL REFERENCES plan,
  slot               TEXT NOT NULL,
  purpose            TEXT NOT NULL,
  model              TEXT,                -- NULL where it is the trial's
  prompt             INTEGER NOT NULL REFERENCES prompts,
  reply              INTEGER NOT NULL REFERENCES blobs,
  reasoning          INTEGER REFERENCES blobs,
  finish             TEXT NOT NULL,
  server_model       TEXT,
  input_tokens       INTEGER,
  cached_tokens      INTEGER,
  cache_write_tokens INTEGER,
  output_tokens      INTEGER,
  reasoning_tokens   INTEGER,
  latency_ns         INTEGER NOT NULL,
  booleans           TEXT,                -- JSON
  timings            TEXT,                -- JSON: the server's own times; the batch that it answered in
  UNIQUE (trial, slot)
) STRICT;

CREATE VIEW episodes AS -- success, death and timeout are 1 or 0, and NULL for a trial that failed
SELECT p.key AS trial, p.model, p.modality, p.regime, p.seed, p.rows, p.cols, p.strategy, p.batch, p.framing, p.episode,
  r.outcome, r.error,
  CASE r.outcome WHEN 'error' THEN NULL WHEN 'success' THEN 1 ELSE 0 END AS success,
  CASE r.outcome WHEN 'error' THEN NULL WHEN 'death' THEN 1 ELSE 0 END AS death,
  CASE r.outcome WHEN 'error' THEN NULL WHEN 'timeout' THEN 1 ELSE 0 END AS timeout,
  r.moves, r.death_cause, r.death_row, r.death_col, r.death_memory_id, r.fallbacks, r.dropped_flips,
  r.tp, r.fp, r.fn, r.tn, r.unanswered
FROM plan p JOIN results r ON r.trial = p.ordinal WHERE p.task = 'navigate';

CREATE VIEW detections AS
SELECT p.key AS trial, p.model, p.modality, p.regime, p.seed, p.rows, p.cols, p.strategy, p.batch, p.framing,
  r.outcome, r.error, r.tp, r.fp, r.fn, r.tn, r.unanswered,
  CASE WHEN r.outcome <> 'error' THEN 1.0 * r.tp / nullif(r.tp + r.fp, 0) END AS "precision",
  CASE WHEN r.outcome <> 'error' THEN 1.0 * r.tp / nullif(r.tp + r.fn, 0) END AS recall,
  CASE WHEN r.outcome <> 'error' THEN 2.0 * r.tp / nullif(2 * r.tp + r.fp + r.fn, 0) END AS f1,
  CASE WHEN r.outcome <> 'error' THEN 1.0 * r.fp / nullif(r.fp + r.tn, 0) END AS fpr
FROM plan p JOIN results r ON r.trial = p.ordinal WHERE p.task = 'detect';

CREATE VIEW replies AS
SELECT p.key AS trial, p.task, coalesce(c.model, p.model) AS model, p.modality, p.regime, p.seed, p.strategy, p.episode,
  c.slot, c.purpose, b.text AS reply, t.text AS reasoning, c.finish, c.server_model,
  c.input_tokens, c.cached_tokens, c.cache_write_tokens, c.output_tokens, c.reasoning_tokens,
  c.latency_ns / 1000000.0 AS latency_ms, lower(hex(q.sha256)) AS prompt_sha256, c.prompt
FROM calls c JOIN plan p ON p.ordinal = c.trial JOIN prompts q ON q.id = c.prompt
  JOIN blobs b ON b.id = c.reply LEFT JOIN blobs t ON t.id = c.reasoning;

CREATE VIEW prompt_parts AS -- what was sent, part by part: replies.prompt leads here
SELECT q.id AS prompt, e.key AS part, b.kind, b.text, b.file
FROM prompts q, json_each(q.parts) e JOIN blobs b ON b.id = e.value;
`
