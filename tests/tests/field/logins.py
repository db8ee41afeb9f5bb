"""Logs in by psycopg and says how that went; run as `logins.py CONNINFO PASSWORD USER...`."""

import re
import sys

import psycopg


def login(conninfo, user, password):
    try:
        with psycopg.connect(conninfo, user=user, password=password) as conn:
            return conn.execute("SELECT session_user").fetchone()[0]
    except psycopg.OperationalError as error:
        return re.split(": +", str(error).strip())[-1]


conninfo, password, *users = sys.argv[1:]
for user in users:
    print(login(conninfo, user, password))
