"""Asks a run by Python's sqlite3 and by DuckDB, and prints the first answer of
each as lines of values with bars between them.

    python ask.py RUN_DB JSON_LIST_OF_QUERIES
"""

import glob
import json
import re
import sqlite3
import sys

import duckdb


def show(name, rows):
    print(name)
    for row in rows:
        print("|".join(map(str, row)))
    print()


def by_sqlite(path, queries):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    answers = [db.execute(q).fetchall() for q in queries]
    show("sqlite3 " + sqlite3.sqlite_version, answers[0])


def by_duckdb(path, queries):
    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    try:
        # It may be installed as a package, where nothing can be fetched.
        packaged = [f for p in sys.path for f in glob.glob(p + "/duckdb_extension_sqlite_scanner/extensions/*/*.duckdb_extension")]
        con.execute(f"LOAD '{packaged[0]}'" if packaged else "INSTALL sqlite; LOAD sqlite")
    except duckdb.Error as e:
        print("not by DuckDB: its extension cannot be loaded here:", str(e).splitlines()[0], end="\n\n")
        return
    con.execute(f"ATTACH '{path}' AS run (TYPE sqlite, READ_ONLY)")
    answers = [con.execute(re.sub(r"FROM (\w+)", r"FROM run.\1", q)).fetchall() for q in queries]
    show("duckdb " + duckdb.__version__, answers[0])


path, queries = sys.argv[1], json.loads(sys.argv[2])
by_sqlite(path, queries)
by_duckdb(path, queries)
