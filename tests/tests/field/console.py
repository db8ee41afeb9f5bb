"""The console as drivers use it: NAME CONNINFO."""

import asyncio
import decimal
import sys

import asyncpg
import psycopg
import psycopg2

COUNTERS = [
    "server_assignment_count", "xact_count", "query_count", "received", "sent", "xact_time",
    "query_time", "wait_time", "client_parse_count", "server_parse_count", "bind_count",
]

TABLES = [
    "active_sockets", "clients", "config", "databases", "dns_hosts", "dns_zones", "lists", "mem",
    "peer_pools", "peers", "pools", "servers", "sockets", "state", "stats", "stats_averages",
    "stats_totals", "totals", "users", "version",
]

# What PostgreSQL's type oids are in Python.
TYPES = {20: int, 23: int, 25: str, 1700: decimal.Decimal}


def check_table(names, oids, rows):
    assert len(names) == len(oids) > 0
    for row in rows:
        for name, oid, value in zip(names, oids, row):
            assert value is None or isinstance(value, TYPES[oid]), (name, oid, value)


def psycopg3(conninfo):
    for binary in [False, True]:
        # Everything is prepared on the server.
        with psycopg.connect(conninfo, prepare_threshold=0, autocommit=True) as conn:
            for table in TABLES * 2:
                cursor = conn.cursor(binary=binary)
                rows = cursor.execute(f"SHOW {table}").fetchall()
                columns = cursor.description
                check_table([c.name for c in columns], [c.type_code for c in columns], rows)
            try:
                conn.execute("SHOW %s", ["version"])
            except psycopg.errors.SyntaxError as error:
                assert error.sqlstate == "42601"
            else:
                raise AssertionError("no error")
            assert conn.execute("SHOW version").fetchone()[0].startswith("PgBouncer 1.25")
    # Transactions, as they are by default, nested ones too.
    with psycopg.connect(conninfo) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        with conn.transaction():
            assert len(conn.execute("SHOW state").fetchall()) == 3
        conn.rollback()
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with conn.pipeline():
            cursors = [conn.execute("SHOW lists") for _ in range(5)]
        assert all(len(cursor.fetchall()) == 14 for cursor in cursors)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for sql in ["SHOW nonsense", "RESUME nowhere"]:
            try:
                conn.execute(sql)
            except psycopg.errors.ProtocolViolation:
                pass
            else:
                raise AssertionError("no error")
        assert conn.execute("SHOW version").fetchone()


def psycopg_2(conninfo):
    conn = psycopg2.connect(conninfo)
    cursor = conn.cursor()
    for table in TABLES:
        cursor.execute(f"SHOW {table}")
        columns = cursor.description
        check_table([c[0] for c in columns], [c[1] for c in columns], cursor.fetchall())
    conn.commit()
    conn.reset()
    conn.close()


def asyncpg_(conninfo):
    asyncio.run(with_asyncpg(conninfo))


async def with_asyncpg(conninfo):
    named = dict(word.split("=") for word in conninfo.split())
    named["database"] = named.pop("dbname")
    conn = await asyncpg.connect(**named)
    for table in TABLES * 2:
        statement = await conn.prepare(f"SHOW {table}")
        columns = statement.get_attributes()
        rows = await statement.fetch()
        check_table([c.name for c in columns], [c.type.oid for c in columns], rows)
    async with conn.transaction():
        assert await conn.fetchval("SELECT 1") == 1
        # A portal that gives its rows in pieces.
        rows = [row async for row in conn.cursor("SHOW config", prefetch=7)]
        assert len(rows) > 70, len(rows)
    assert rows == await conn.fetch("SHOW config")
    try:
        await conn.fetch("SHOW $1", "version")
    except asyncpg.PostgresSyntaxError:
        pass
    else:
        raise AssertionError("no error")
    await conn.execute("RELOAD")
    await conn.close()
    # A pool resets its connections.
    async with asyncpg.create_pool(**named, min_size=2, max_size=2) as pool:
        for _ in range(6):
            version = await pool.fetchval("SHOW version")
            assert version.startswith("PgBouncer 1.25"), version


def scanners(conninfo):
    """CloudNativePG and others read these by position, with types of their own."""
    with psycopg.connect(conninfo, autocommit=True, cursor_factory=psycopg.ClientCursor) as conn:
        cursor = conn.execute("SHOW STATS")
        names = [column.name for column in cursor.description]
        totals = [f"total_{name}" for name in COUNTERS]
        averages = [f"avg_{name}" for name in COUNTERS]
        averages[3] = "avg_recv"
        assert names == ["database"] + totals + averages, names
        rows = cursor.fetchall()
        for row in rows:
            assert len(row) == 23 and isinstance(row[0], str)
            assert all(0 <= number < 2**63 and number == int(number) for number in row[1:])
        assert len({row[0] for row in rows}) == len(rows) > 1
        cursor = conn.execute("SHOW POOLS")
        rows = cursor.fetchall()
        for row in rows:
            database, user, *numbers, mode, hosts = row
            assert len(row) == 17 and len(numbers) == 13, row
            assert all(type(number) is int and 0 <= number < 2**31 for number in numbers), row
            assert mode in ["session", "transaction", "statement"] and hosts is None, row
        assert len({row[:2] for row in rows}) == len(rows) > 1


globals()[sys.argv[1]](sys.argv[2])
