"""What applications do with psycopg 3, one function each; run as `driver.py NAME CONNINFO`.

A function that returns has seen what it should; anything else is an exception.
"""

import concurrent.futures
import io
import sys
import threading

import psycopg


def connect(conninfo, **options):
    return psycopg.connect(conninfo, prepare_threshold=None, **options)


def autocommit(conninfo):
    with connect(conninfo, autocommit=True) as conn:
        for n in range(50):
            assert conn.execute("SELECT %s::int + 1", [n]).fetchone() == (n + 1,)
        values = [None, "ü€🐘", b"\0\1\xff", 1.5, [1, 2, None], {"a": 1}]
        values[-1] = psycopg.types.json.Jsonb(values[-1])
        row = conn.execute("SELECT %s::text, %s::text, %b::bytea, %s, %s, %s", values).fetchone()
        assert row == (None, "ü€🐘", b"\0\1\xff", 1.5, [1, 2, None], {"a": 1}), row


def transactions(conninfo):
    with connect(conninfo) as conn:
        conn.execute("CREATE TABLE py_transactions (n int)")
        conn.commit()
        for commit in (True, False, True):
            conn.execute("INSERT INTO py_transactions VALUES (1)")
            conn.commit() if commit else conn.rollback()
        assert conn.execute("SELECT count(*) FROM py_transactions").fetchone() == (2,)
        with conn.transaction():
            conn.execute("INSERT INTO py_transactions VALUES (2)")
            try:
                with conn.transaction():
                    conn.execute("SELECT 1/0")
            except psycopg.errors.DivisionByZero:
                pass
        assert conn.execute("SELECT count(*) FROM py_transactions").fetchone() == (3,)
        conn.rollback()
        try:
            conn.execute("SELECT nothing")
        except psycopg.errors.UndefinedColumn:
            conn.rollback()
        conn.execute("DROP TABLE py_transactions")


def pipeline(conninfo):
    with connect(conninfo, autocommit=True) as conn:
        conn.execute("CREATE TABLE py_pipeline (n int PRIMARY KEY)")
        with conn.pipeline():
            cursors = [conn.execute("SELECT %s::int", [n]) for n in range(200)]
        assert [cursor.fetchone() for cursor in cursors] == [(n,) for n in range(200)]
        # A failure takes back its own group alone, and the pipeline can be left.
        try:
            with conn.pipeline() as pipe:
                conn.execute("INSERT INTO py_pipeline VALUES (1)")
                pipe.sync()
                conn.execute("INSERT INTO py_pipeline VALUES (2)")
                conn.execute("INSERT INTO py_pipeline VALUES (1)")
                conn.execute("INSERT INTO py_pipeline VALUES (3)")
                pipe.sync()
        except psycopg.errors.UniqueViolation:
            pass
        else:
            raise AssertionError("no error")
        with conn.pipeline() as pipe:
            conn.execute("INSERT INTO py_pipeline VALUES (4)")
            pipe.sync()
            with conn.transaction():
                conn.execute("INSERT INTO py_pipeline VALUES (5)")
                conn.execute("INSERT INTO py_pipeline VALUES (6)")
        rows = conn.execute("SELECT n FROM py_pipeline ORDER BY n").fetchall()
        assert rows == [(1,), (4,), (5,), (6,)], rows
        with conn.pipeline():
            conn.cursor().executemany(
                "INSERT INTO py_pipeline VALUES (%s)", [(n,) for n in range(10, 1000)]
            )
        conn.execute("DROP TABLE py_pipeline")


def server_side_cursors(conninfo):
    with connect(conninfo) as conn:
        with conn.cursor("named") as cursor:
            cursor.itersize = 100
            cursor.execute("SELECT n, repeat('x', 1000) FROM generate_series(1, 5000) n")
            assert [row[0] for row in cursor] == list(range(1, 5001))
        with conn.cursor("scrolled", scrollable=True) as cursor:
            cursor.execute("SELECT n FROM generate_series(1, 100) n")
            cursor.scroll(50)
            assert cursor.fetchone() == (51,)
            cursor.scroll(0, mode="absolute")
            assert cursor.fetchmany(2) == [(1,), (2,)]


def copy(conninfo):
    with connect(conninfo) as conn, conn.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE py_copy (n int, t text) ON COMMIT DROP")
        with cursor.copy("COPY py_copy FROM STDIN") as copying:
            for n in range(20000):
                copying.write_row((n, f"row {n}"))
        sink = io.BytesIO()
        with cursor.copy("COPY (SELECT * FROM py_copy ORDER BY n) TO STDOUT") as copying:
            for block in copying:
                sink.write(block)
        assert sink.getvalue().count(b"\n") == 20000
        with cursor.copy("COPY py_copy TO STDOUT (FORMAT BINARY)") as copying:
            copying.set_types(["int4", "text"])
            assert sum(row[0] for row in copying.rows()) == sum(range(20000))
        conn.rollback()
        conn.execute("CREATE TABLE py_copied (n int)")
        conn.commit()
        # One that the client gives up, and one that the server does.
        try:
            with cursor.copy("COPY py_copied FROM STDIN") as copying:
                copying.write_row((1,))
                raise RuntimeError("given up")
        except RuntimeError:
            conn.rollback()
        try:
            with cursor.copy("COPY py_copied FROM STDIN") as copying:
                copying.write("not a number\n" * 100000)
        except psycopg.errors.InvalidTextRepresentation:
            conn.rollback()
        assert conn.execute("SELECT count(*) FROM py_copied").fetchone() == (0,)
        conn.execute("DROP TABLE py_copied")


def cancel(conninfo):
    with connect(conninfo, autocommit=True) as conn:
        for way in (conn.cancel, conn.cancel_safe):
            timer = threading.Timer(0.3, way)
            timer.start()
            try:
                conn.execute("SELECT pg_sleep(60)")
            except psycopg.errors.QueryCanceled:
                pass
            else:
                raise AssertionError("not cancelled")
            timer.join()
            assert conn.execute("SELECT 1").fetchone() == (1,)


def prepared(conninfo):
    with psycopg.connect(conninfo, prepare_threshold=0, autocommit=True) as conn:
        for n in range(300):
            sql = f"SELECT %s::int + {n % 150}"
            assert conn.execute(sql, [n]).fetchone() == (n + n % 150,)


def many_threads(conninfo):
    def work(number):
        with connect(conninfo, autocommit=True) as conn:
            for n in range(40):
                name = conn.execute("SELECT %s::text || %s", [f"{number}/", n]).fetchone()
                assert name == (f"{number}/{n}",), name
                with conn.transaction():
                    pids = {conn.execute("SELECT pg_backend_pid()").fetchone() for _ in range(3)}
                    assert len(pids) == 1, pids

    with concurrent.futures.ThreadPoolExecutor(20) as threads:
        for done in [threads.submit(work, number) for number in range(20)]:
            done.result()


def large_objects(conninfo):
    with connect(conninfo) as conn:
        oid = conn.execute("SELECT lo_from_bytea(0, %s)", [b"x" * 5_000_000]).fetchone()[0]
        data = conn.execute("SELECT lo_get(%s)", [oid]).fetchone()[0]
        assert len(data) == 5_000_000
        conn.execute("SELECT lo_unlink(%s)", [oid])


globals()[sys.argv[1]](sys.argv[2])
