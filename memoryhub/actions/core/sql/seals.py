"""The SQL with which the seals of an audit entry are written."""

from memoryhub.actions.core.sql import Statement

NEWEST = Statement(
    "select home, number, digest, may_go, salt from memoryhub_seal where kind = %s and row = %s"
    " order by number desc limit 1"
)
FORGET_SALTS = Statement("update memoryhub_seal set salt = null where kind = %s and row = %s and salt is not null")
ADD = Statement(
    "insert into memoryhub_seal (chain, seq, home, kind, row, number, digest, may_go, salt)"
    " values (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
