package store

// schemaVersion is the version of the tables, kept in SQLite's user_version. A
// change of the tables raises it and brings a migration; the layout of the
// records inside has a version of its own.
const schemaVersion = 1

// applicationID marks our databases in SQLite's application_id: "SSTL".
const applicationID = 0x5353544c

// What the columns named packed say of the column behind them.
const (
	packedRaw  = 0
	packedZstd = 1
)

// schema creates the tables. Its comments stay in the database, for people who
// open it with the sqlite3 tool.
const schema = `
CREATE TABLE meta ( -- 'manifest': the text of manifest.json
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE trials ( -- the plan, in its order
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
  episode  INTEGER NOT NULL
) STRICT;

CREATE TABLE results ( -- the trials that have ended
  trial   INTEGER PRIMARY KEY REFERENCES trials,
  outcome TEXT NOT NULL,
  packed  INTEGER NOT NULL, -- 0 as it is, 1 zstd
  record  BLOB NOT NULL
) STRICT;

CREATE TABLE instances (
  ordinal INTEGER PRIMARY KEY,
  seed    INTEGER NOT NULL,
  regime  TEXT NOT NULL,
  packed  INTEGER NOT NULL, -- 0 as it is, 1 zstd
  record  BLOB NOT NULL
) STRICT;

CREATE TABLE blobs ( -- prompt parts and replies, up to 256 a row
  id     INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,    -- text or png
  sums   BLOB NOT NULL,    -- 32 bytes each: SHA-256 of a text's bytes, of an image's pixels
  packed INTEGER NOT NULL, -- 0 as it is, 1 zstd
  data   BLOB NOT NULL     -- each content behind its length as a varint
) STRICT;

CREATE TABLE sums ( -- where the content with a sum is
  sum  BLOB PRIMARY KEY,
  blob INTEGER NOT NULL -- row of blobs times 256, plus the place in the row
) STRICT, WITHOUT ROWID;

CREATE TABLE calls ( -- the calls of one trial that were written together
  id     INTEGER PRIMARY KEY, -- ascending in the order of writing
  trial  INTEGER NOT NULL REFERENCES trials,
  count  INTEGER NOT NULL,
  packed INTEGER NOT NULL, -- 0 as it is, 1 zstd
  data   BLOB NOT NULL
) STRICT;

CREATE INDEX calls_trial ON calls(trial);
`
