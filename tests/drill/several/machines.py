"""Machines as network namespaces on a bridge, each with the processes that it has in production.

All of them are below one process, in namespaces that end with it: no network, process or mount of
this machine is touched, and nothing is left, however it ends.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg

from bench import loading
from bench.traffic import Disagreement
from tests.support import nginx_files

CHECKOUT = Path(__file__).resolve().parent.parent.parent.parent
DEPLOY = CHECKOUT / "deploy"
FOLDER = Path(os.environ.get("DRILL_FOLDER", "/nowhere"))  # what the machines write
NETWORK = "10.77.0."  # as in deploy/several
MACHINES = {"balancer": 2, "db1": 11, "db2": 12, "db3": 13, "node1": 21, "node2": 22}
MACHINES |= {"redis1": 31, "redis2": 32, "storage": 41}
DATABASES, NODES = ("db1", "db2", "db3"), ("node1", "node2")
CLIENTS = 60  # addresses on the bridge, where clients are; nginx limits what one has under way
POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nowhere"))
AGAIN = 'while :; do "$@"; sleep 1; done'  # as Restart=always in a unit
PATIENCE = 120.0  # seconds to start, or to heal
OWNER_URL = "postgresql://documents_owner:owner@127.0.0.1:5432/documents?connect_timeout=3"
THIS_NAME, THIS_ADDRESS, REDIS_PASSWORD = "THIS-NAME", "THIS-ADDRESS", "CHANGE-ME-REDIS"
VARIABLES = {
    "SECRET_KEY": "only-for-the-drill-0123456789-abcdefghijklmnopqrstuvwxyz",
    "ALLOWED_HOSTS": "api.example.com,127.0.0.1",
    "UPGRADE_URL": "https://www.example.com/plan",
    "TRUSTED_PROXIES": "1",
    "X_ACCEL_DOWNLOADS": "yes",
    "LOG_FORMAT": "json",
    "DATABASE_URL": "postgresql://documents:serving@127.0.0.1:5432/documents",
    "REDIS_URL": f"redis://:{REDIS_PASSWORD}@127.0.0.1:6379/0",
    "S3_ENDPOINT_URL": f"http://{NETWORK}41:9000",
    "S3_BUCKET": "documents",
    "S3_ACCESS_KEY_ID": "key",
    "S3_SECRET_ACCESS_KEY": "secret",
}


def address(machine: str) -> str:
    return f"{NETWORK}{MACHINES[machine]}"


def run(*words: object, **options: Any) -> str:
    """Runs a command to its end, and returns its output."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    output: str = done.stdout
    return output


def eventually(what: Callable[[], Any], sentence: str) -> Any:
    """Waits until `what()` is true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(Disagreement, httpx.HTTPError):
            if value := what():
                return value
        time.sleep(0.2)
    raise RuntimeError(f"Not within {PATIENCE:.0f} s: {sentence}")


def connect() -> None:
    """Makes the network. Clients are on the bridge itself."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "bridge", "type", "bridge")
    for number in range(100, 100 + CLIENTS):
        run("ip", "address", "add", f"{NETWORK}{number}/24", "dev", "bridge")
    run("ip", "link", "set", "bridge", "up")
    for name in MACHINES:
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", name, "master", "bridge", "up")
        run("ip", "-n", name, "address", "add", f"{address(name)}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")


def inside(machine: str, *words: object, user: str = "root") -> list[str]:
    """The command line that runs a program on a machine, or beside the clients."""
    where = ["ip", "netns", "exec", machine] if machine in MACHINES else []
    whose = [f"--reuid={user}", f"--regid={user}", "--init-groups"]
    return [*where, "setpriv", *whose, *map(str, words)]


def start(machine: str, *words: object, user: str = "root", **variables: str) -> None:
    """Starts a program, which starts again a second after its end."""
    with (FOLDER / "logs" / f"{machine}.log").open("ab") as log:
        subprocess.Popen(
            inside(machine, "sh", "-c", AGAIN, "sh", *words, user=user),
            cwd=CHECKOUT,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def send_signal(machine: str, number: int, program: bytes = b"") -> None:
    """To all processes of a machine, or those whose command line contains the program's name."""
    for _ in range(2):  # the second round is for those that were just being made
        for pid in run("ip", "netns", "pids", machine).split():
            with suppress(FileNotFoundError, ProcessLookupError):
                if program in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), number)


def write(machine: str, name: str, *changes: tuple[str, str]) -> Path:
    """Writes a file of deploy/several into the machine's folder, with these changes."""
    text = (DEPLOY / "several" / name).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = FOLDER / machine / name
    file.write_text(text)
    return file


def start_etcd(machine: str) -> None:
    changes = [(THIS_NAME, machine), (THIS_ADDRESS, address(machine))]
    changes.append(("/var/lib/etcd/documents", f"{FOLDER}/{machine}/members"))
    file = write(machine, "etcd", *changes)
    start(machine, "etcd", **dict(re.findall(r"^(\w+)=(.*)$", file.read_text(), re.M)))


def start_database(machine: str) -> None:
    folder = FOLDER / machine
    file = write(
        machine,
        "patroni.yml",
        (THIS_NAME, machine),
        (THIS_ADDRESS, address(machine)),
        ("/var/lib/postgresql/17/documents", f"{folder}/data"),
        ("/usr/lib/postgresql/17/bin", str(POSTGRES)),
        ("/var/run/postgresql", str(folder)),
        ("mode: automatic", "mode: 'off'"),  # it would reset this machine
    )
    shutil.chown(folder, "postgres", "postgres")
    start_etcd(machine)
    start(machine, "patroni", file, user="postgres", HOME=str(folder))


def start_redis(machine: str) -> None:
    """Redis and a Sentinel, which rewrite their files."""
    folder, redis, sentinel = FOLDER / machine, "redis.conf", FOLDER / machine / "sentinel.conf"
    if not sentinel.exists():
        text = f'bind {address(machine)}\ndir {folder}\nsave ""\n'
        text += f"requirepass {REDIS_PASSWORD}\nmasterauth {REDIS_PASSWORD}\n"
        text += f"replicaof {address('redis1')} 6379\n" if machine == "redis2" else ""
        (folder / redis).write_text(text)
        changes = (THIS_ADDRESS, address(machine)), ("/var/lib/redis", str(folder))
        write(machine, "sentinel.conf", *changes)
    if machine != "balancer":
        start(machine, "redis-server", folder / redis)
    start(machine, "redis-server", sentinel, "--sentinel")


def start_storage(machine: str) -> None:
    (FOLDER / machine / "documents").mkdir(exist_ok=True)
    words = ["--addr", f"{address(machine)}:9000", "--config=", "--auth-key", "key,secret"]
    start(machine, CHECKOUT / ".venv/bin/rclone", "serve", "s3", FOLDER / machine, *words)


def start_balancer(machine: str) -> None:
    file = write(machine, "haproxy-balancer.cfg", ("/etc/haproxy", str(FOLDER)))
    start(machine, "haproxy", "-db", "-f", file)
    start_redis(machine)


def start_proxy(machine: str) -> None:
    """What leads to PostgreSQL's leader and Redis' master."""
    (FOLDER / machine).mkdir(exist_ok=True)
    start(machine, "haproxy", "-db", "-f", write(machine, "haproxy-node.cfg"))


def start_node(machine: str) -> None:
    start_proxy(machine)
    unit = (DEPLOY / "systemd/documents-api@.service").read_text().replace("\\\n", "")
    common = (DEPLOY / "systemd/common.conf").read_text()
    variables = dict(re.findall(r"^Environment=(\w+)=(.*)$", unit + common, re.M))
    [command] = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    for port in ("8001", "8002"):
        start(machine, *shlex.split(command.replace("%i", port)), **VARIABLES, **variables)
    folder, storage = FOLDER / machine, f"{address('storage')}:9000"
    options: dict[str, Any] = {"pages": 8100, "http_port": 80, "tls": True}
    words = nginx_files.install(folder, 443, (8001, 8002), storage, **options)
    nginx, site = folder / "nginx.conf", folder / "site.conf"
    text = nginx.read_text().replace("listen 127.0.0.1:", "listen ")
    nginx.write_text(text.replace(f"{folder}/tls", str(FOLDER)))
    text = site.read_text().replace("127.0.0.1 yes;", f"127.0.0.1 yes; {address('balancer')} yes;")
    real = f"set_real_ip_from {address('balancer')};\nreal_ip_header X-Forwarded-For;\n"
    site.write_text(f"{text}{real}")
    start(machine, *words)


START: dict[str, Callable[[str], None]] = {
    "storage": start_storage,
    **dict.fromkeys(DATABASES, start_database),
    **dict.fromkeys(("redis1", "redis2"), start_redis),
    "balancer": start_balancer,
    **dict.fromkeys(NODES, start_node),
}


def boot(machine: str) -> None:
    """Starts what a machine starts when it boots."""
    (FOLDER / machine).mkdir(exist_ok=True)
    START[machine](machine)


def cluster() -> dict[str, dict[str, Any]]:
    """What Patroni says of each database's machine, by its name."""
    for machine in DATABASES:
        with suppress(OSError, ValueError, KeyError):
            url = f"http://{address(machine)}:8008/cluster"
            with urllib.request.urlopen(url, timeout=1) as response:
                return {each["name"]: each for each in json.load(response)["members"]}
    return {}


def leader() -> str:
    """The machine with the leader; "" while there is none."""
    found = [name for name, each in cluster().items() if each["role"] == "leader"]
    return found[0] if found else ""


def complete() -> bool:
    """Whether a leader, a synchronous standby and another standby run."""
    states = sorted((each["role"], each["state"]) for each in cluster().values())
    standbys = [("replica", "streaming"), ("sync_standby", "streaming")]
    return states == [("leader", "running"), *standbys]


def redis_master() -> str:
    def role(machine: str) -> str:
        words = ("redis-cli", "-h", address(machine), "--no-auth-warning", "-a", REDIS_PASSWORD)
        return run(*words, "role").split()[0]

    [found] = [each for each in ("redis1", "redis2") if role(each) == "master"]
    return found


def rows(sql: str, *parameters: object) -> list[tuple[Any, ...]]:
    """The rows of a statement at the leader; none while there is no leader."""
    with suppress(psycopg.OperationalError), psycopg.connect(OWNER_URL) as connection:
        return connection.execute(sql.encode(), parameters).fetchall()
    return []


def set_up(scale: loading.Scale) -> None:
    """Starts all machines, with data, as docs/several-machines.md does."""
    run("mount", "-t", "tmpfs", "none", "/run")  # where ip keeps the names of namespaces
    run("mount", "-t", "tmpfs", "none", "/dev/shm")  # what a killed PostgreSQL leaves
    (FOLDER / "hosts").write_text(f"127.0.0.1 localhost\n{address('balancer')} api.example.com\n")
    run("mount", "--bind", FOLDER / "hosts", "/etc/hosts")
    connect()
    certificate, key = FOLDER / "certificate.pem", FOLDER / "key.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=api.example.com"]
    words += ["-addext", "subjectAltName=DNS:api.example.com"]
    run("openssl", *words, "-keyout", key, "-out", certificate)
    shutil.copy(certificate, FOLDER / "nodes-ca.pem")
    both = certificate.read_text() + key.read_text()
    (FOLDER / "certificate-and-key.pem").write_text(both)
    for machine in MACHINES:
        if machine not in NODES:
            boot(machine)
    eventually(complete, "PostgreSQL has a leader and two standbys")
    psql = (POSTGRES / "psql", "-X", "-h", FOLDER / leader(), "-d", "postgres")
    environment = {**os.environ, "OWNER_PASSWORD": "owner", "SERVING_PASSWORD": "serving"}
    roles = inside(leader(), *psql, "-f", DEPLOY / "roles.sql", user="postgres")
    run(*roles, env=environment)
    start_proxy("clients")
    eventually(lambda: rows("SELECT 1"), "HAProxy leads to the leader")
    environment = {**os.environ, **VARIABLES, "DATABASE_URL": OWNER_URL}
    run(sys.executable, "manage.py", "migrate", env=environment, cwd=CHECKOUT)
    os.environ["SECRET_KEY"] = VARIABLES["SECRET_KEY"]
    with psycopg.connect(OWNER_URL, autocommit=True) as connection:
        loading.load(connection, FOLDER / "storage" / "documents", scale)
    for machine in NODES:
        boot(machine)
