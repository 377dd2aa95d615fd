"""docs/incidents.md: faults made by hand, and what the page's first commands show then.

`tests.drill.recovery` runs it.
"""

from tests.drill.__main__ import CHECKOUT, guide, step
from tests.drill.root import Root

PAGE = CHECKOUT / "docs/incidents.md"
GET = 'curl -sk -m 9 -H "Authorization: Bearer $(cat /root/documents-api-demo-key)" https://api.example.com/api/v1'
FIND = rf"""{GET}/documents?limit=1 | sed 's/.*"data":\[{{"id":"\([^"]*\)".*/\1/' >/root/id"""
SEND = f"""for i in 1 2 3; do for path in /me /documents "/documents/$(cat /root/id)/download"; do
  {GET}$path >/dev/null &
done; sleep 0.5; done; wait"""
SIGNAL = """for each in /proc/[0-9]*; do
  if [ "$(cat "$each/comm" 2>/dev/null)" = %s ]; then kill -%s "${each#/proc/}"; fi
done"""
PSQL = "runuser -u postgres -- psql -X -d documents -c"
LOCK = f'(setsid {PSQL} "BEGIN; LOCK %s; SELECT pg_sleep(60)" >/root/lock 2>&1 &); sleep 1'
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
UNLOCK = f"{PSQL} \"{END} query LIKE 'BEGIN; LO%'\""
DISCONNECT = f"-c \"{END} usename = 'documents'\""
# How to make it and to end it, and what the page says that the first commands show.
FAULTS = {
    "Redis stopped": ("service redis-server stop", "service redis-server start", "requests pass:"),
    "Redis silent": (
        SIGNAL % ("redis-server", "STOP"),
        SIGNAL % ("redis-server", "CONT"),
        '"counter":{"state":"failed"',
    ),
    "PostgreSQL stopped": (
        "service postgresql stop",
        "service postgresql start",
        "Connection refused",
    ),
    "PostgreSQL silent": (
        SIGNAL % ("postgres", "STOP"),
        SIGNAL % ("postgres", "CONT"),
        "timeout expired",
    ),
    "read-only": (
        f'{PSQL} "ALTER ROLE documents SET default_transaction_read_only = on" {DISCONNECT}',
        f'{PSQL} "ALTER ROLE documents RESET default_transaction_read_only" {DISCONNECT}',
        "read-only transaction",
    ),
    "locked documents": (LOCK % "documents_document", UNLOCK, "due to lock timeout"),
    "no connections": (
        f'{PSQL} "ALTER ROLE documents CONNECTION LIMIT 1" {DISCONNECT}',
        f'{PSQL} "ALTER ROLE documents CONNECTION LIMIT -1"',
        "too many connections",
    ),
    "storage silent": (
        SIGNAL % ("rclone", "STOP"),
        SIGNAL % ("rclone", "CONT"),
        '"object_storage":{"state":"failed"',
    ),
    "no instance": (
        "systemctl stop documents-api@8001 documents-api@8002",
        "systemctl start documents-api@8001 documents-api@8002",
        "Failed to connect",
    ),
}


def inflict(root: Root) -> None:
    """Makes each fault, and fails unless the page's commands show what it says."""
    blocks = [block for _, block in guide(PAGE)]
    root.run(FIND)
    for name, (make, end, shown) in FAULTS.items():
        assert shown in PAGE.read_text(), shown
        with step(f"  {name}: {shown}"):
            for log in (root.folder / "run/units").glob("*.log"):
                log.write_text("")  # what an earlier fault has left
            root.run(make)
            root.run(SEND)
            output = root.run(f"set +e +o pipefail\n{blocks[0]}")  # a shell as people have it
            root.run(end)
            assert shown in output, output
            root.run("sleep 2")
    root.run(blocks[1])
