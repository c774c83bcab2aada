"""A PostgreSQL server of our own: started from its binaries as an ordinary user, on loopback, in a fresh
folder."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path


def binaries() -> Path | None:
    """Where initdb and pg_ctl are, or None."""
    folders = [str(Path(found).parent) for found in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    on_path = shutil.which("initdb")
    if not folders and on_path:
        folders = [str(Path(on_path).resolve().parent)]
    return Path(sorted(folders)[-1]) if folders else None


class Server:
    """A running server; every test takes a schema of its own from it."""

    def __init__(self) -> None:
        found = binaries()
        assert found is not None
        self.bin = found
        self.folder = Path(tempfile.mkdtemp(prefix="brdp-pg-"))
        # initdb refuses root
        self.user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.folder.chmod(0o755)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.data = self.folder / "data"
        self._run("initdb", "-D", str(self.data), "-A", "trust", "-E", "UTF8", "--locale=C")
        self.count = 0
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        kwargs = {"user": self.user, "group": self.user} if os.getuid() == 0 else {}
        if os.getuid() == 0:
            kwargs["extra_groups"] = []
        subprocess.run(
            [str(self.bin / program), *arguments],
            check=True,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            **kwargs,
        )

    def start(self) -> None:
        options = (
            f"-c listen_addresses=127.0.0.1 -c port={self.port} "
            f"-c unix_socket_directories={self.folder} -c max_connections=60"
        )
        log = self.folder / "log"
        self._run(
            "pg_ctl", "-D", str(self.data), "-w", "-t", "30", "-l", str(log), "-o", options, "start"
        )

    def kill(self) -> None:
        """SIGKILL to the server and everything it started: a power cut, as far as it can tell."""
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True
        ).stdout.split()
        for pid in [postmaster, *map(int, children)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(
            Path(f"/proc/{pid}").exists() for pid in [postmaster, *map(int, children)]
        ):
            time.sleep(0.02)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def database(self) -> str:
        """A URL under which nothing is there yet: a schema of its own, far cheaper than a database."""
        import psycopg

        self.count += 1
        name = f"brdp_{self.count}"
        url = f"postgresql://{self.user}@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{url}?options=-csearch_path%3D{name}"

    def configure(self, name: str, value: str) -> None:
        """Change a setting of the running server, for every connection."""
        import psycopg

        url = f"postgresql://{self.user}@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(url, autocommit=True) as connection:
            before = connection.execute("SELECT pg_conf_load_time()").fetchone()
            connection.execute(f"ALTER SYSTEM SET {name} = {value}")
            connection.execute("SELECT pg_reload_conf()")
            deadline = time.monotonic() + 10
            while connection.execute("SELECT pg_conf_load_time()").fetchone() == before:
                assert time.monotonic() < deadline
                time.sleep(0.02)

    def stop(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)
