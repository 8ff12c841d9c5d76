"""What a program may try against the machine, and that it fails."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix.errors import SandboxError
from dnnfix.records import RunOutcome, Trace
from dnnfix.run.job import Budget, Job, Tier
from dnnfix.run.project import Project
from dnnfix.run.runner import Runner
from dnnfix.run.zygote import Kind

Run = Callable[..., Trace]
PYTHON = Path(sys.executable)
LATEST = 10
"""A program that does not end by itself is ended within so many times its seconds, however busy the machine is."""


class ShownCards(Runner):
    """Runs every program as one on a GPU; there need be none."""

    def _kind(self, job: Job, project: Project) -> Kind:
        return replace(super()._kind(job, project), gpu=True)


@pytest.fixture(scope="session", params=[Runner, pytest.param(ShownCards, marks=pytest.mark.slow)], ids=["cpu", "gpu"])
def runner(request: pytest.FixtureRequest, tier: Tier) -> Iterator[Runner]:
    """One runner per tier, for programs on a GPU and for others."""
    with request.param(PYTHON, tier=tier) as one:
        yield one


def processes(mark: str) -> list[int]:
    """Processes of this machine whose command line has the mark."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(name))
    return found


def wait_until_gone(mark: str, seconds: float = 30.0) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def test_a_program_that_does_no_harm_finishes(run: Run) -> None:
    trace = run("print('fine')")
    assert (trace.outcome, trace.printed) == (RunOutcome.FINISHED, "fine\n")


def test_the_home_folder_cannot_be_read(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("CANARY")
    homes = [str(Path.home()), "/root", "/home", str(tmp_path)]
    trace = run(f"""
import os, pwd
for place in {homes!r} + [os.path.expanduser("~")]:
    for folder, folders, files in os.walk(place):
        for name in files:
            path = os.path.join(folder, name)
            if "site-packages" in path or "/lib/python3" in path or "/.pyenv/" in path or os.getcwd() in path:
                continue
            try:
                print("READ", path, open(path, "rb").read(100))
            except OSError:
                pass
try:
    print("READ", open({str(secret)!r}).read())
except OSError as error:
    print("refused", type(error).__name__)
""")
    assert "refused" in trace.printed
    assert "CANARY" not in trace.printed
    assert not [line for line in trace.printed.splitlines() if line.startswith("READ") and "/bin/" not in line], (
        trace.printed
    )


def test_tokens_of_the_environment_do_not_reach_it(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "CANARY-TOKEN")
    text = b"""
import glob, os
print(dict(os.environ))
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        print(path, open(path, "rb").read())
    except OSError:
        pass
"""
    with Runner(PYTHON, tier=tier) as runner:
        trace = runner.run(Job("program.py", text))
    assert trace.outcome is RunOutcome.FINISHED
    assert "HOME" in trace.printed and "CANARY-TOKEN" not in trace.printed


def test_a_crash_that_hydra_would_keep_to_itself_is_seen(run: Run) -> None:
    trace = run("""
import os, sys
try:
    raise ValueError("no such shape")
except ValueError:
    if os.environ.get("HYDRA_FULL_ERROR") != "1":  # what hydra asks before it prints the error and exits
        sys.exit(1)
    raise
""")
    assert trace.crash is not None and trace.crash.message == "no such shape"


def test_nothing_outside_can_be_written(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "mine.txt"
    own.write_text("as it was")
    program = tmp_path / "program.py"
    mark = f"dnnfix-escaped-{os.getpid()}"
    places = [
        str(own),
        str(tmp_path / "new.txt"),
        f"/tmp/{mark}",
        f"/var/tmp/{mark}",
        f"/usr/{mark}",
        f"/dev/shm/{mark}",
    ]
    text = f"""
import os
for place in {places!r}:
    for act in (lambda: open(place, "w").write("changed"), lambda: os.unlink(place), lambda: os.chmod(place, 0o777),
                lambda: os.truncate(place, 0), lambda: os.rename(place, place + "x"), lambda: os.utime(place, (1, 1))):
        try:
            act()
        except OSError:
            pass
open("mine.txt", "w").write("the copy may be changed")
"""
    program.write_text(text)
    before = own.stat()
    trace = run(text, path=str(program))
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    after = own.stat()
    assert own.read_text() == "as it was"
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
    assert not [place for place in places[1:] if os.path.exists(place)]


@pytest.fixture
def listeners(tmp_path: Path) -> Iterator[tuple[dict[str, object], list[str]]]:
    """Servers of this process, by address, and the names of those that somebody reached."""
    reached: list[str] = []
    servers = []
    addresses: dict[str, object] = {
        "internet": ("127.0.0.1", 0),
        "file": str(tmp_path / "server"),
        "abstract": f"\0dnnfix{tmp_path}",
    }
    for name, address in list(addresses.items()):
        server = socket.socket(socket.AF_INET if name == "internet" else socket.AF_UNIX)
        server.bind(address)  # type: ignore[arg-type]
        server.listen()
        addresses[name] = server.getsockname() if name == "internet" else address

        def accept(server: socket.socket = server, name: str = name) -> None:
            try:
                server.accept()
                reached.append(name)
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        servers.append(server)
    yield addresses, reached
    for server in servers:
        server.close()


def test_no_socket_leads_outside(run: Run, listeners: tuple[dict[str, object], list[str]]) -> None:
    addresses, reached = listeners
    trace = run(f"""
import socket
for name, address in {addresses!r}.items():
    try:
        with socket.socket(socket.AF_INET if name == "internet" else socket.AF_UNIX) as one:
            one.settimeout(2)
            one.connect(address)
            print("REACHED", name)
    except OSError as error:
        print("refused", name)
try:
    socket.getaddrinfo("example.com", 80)
    print("REACHED names")
except OSError:
    print("refused names")
import urllib.request
urllib.request.urlopen("http://192.0.2.1/", timeout=3)
""")
    assert trace.outcome is RunOutcome.NEEDS_NETWORK, trace.detail
    assert trace.printed.count("refused") == 4 and "REACHED" not in trace.printed
    assert reached == []


def test_other_processes_cannot_be_killed(run: Run) -> None:
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        trace = run(f"""
import os, signal
own = os.getpid()
for process in [{os.getpid()}, {bystander.pid}, os.getppid(), *range(1, 5000)]:
    if process not in (0, own):
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            pass
print("tried")
""")
        assert trace.printed == "tried\n"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert run("print('still there')").printed == "still there\n"


def test_other_processes_cannot_be_looked_into(run: Run) -> None:
    trace = run(f"""
import ctypes, glob, os
libc = ctypes.CDLL(None, use_errno=True)
for path in glob.glob("/proc/[0-9]*"):
    if path.split("/")[-1] == str(os.getpid()) or os.path.realpath("/proc/self") == path:
        continue
    for name in ("environ", "mem", "maps", "auxv", "syscall"):
        try:
            with open(path + "/" + name, "rb") as stream:
                if stream.read(1):  # what a process that has just ended shows is empty
                    print("READ", path, name)
        except OSError:
            pass
    for name in ("root", "cwd", "fd"):
        try:
            os.listdir(path + "/" + name)
            print("LISTED", path, name)
        except OSError:
            pass
for process in ({os.getpid()}, os.getppid(), 1, 2):
    if process != os.getpid() and libc.ptrace(16, process, 0, 0) == 0:
        print("TRACED", process)
print("done")
""")
    assert trace.printed == "done\n", trace.printed


def test_privileges_are_gone(run: Run) -> None:
    trace = run("""
import ctypes, os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["CapEff"], 16), int(status["CapPrm"], 16), status["NoNewPrivs"].strip(), status["Seccomp"].strip())
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, result):
    print(name, "refused" if result != 0 else "DONE")
refused("user namespace", libc.unshare(0x10000000))
refused("mount namespace", libc.unshare(0x20000))
refused("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
refused("keys", 0 if libc.syscall(250, 0, -3, 0) >= 0 else 1)
refused("rings", 0 if libc.syscall(425, 1, None) >= 0 else 1)
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper"):
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("OPENED", path)
    except OSError:
        pass
""")
    lines = trace.printed.splitlines()
    assert lines[0] == "0 0 1 2", trace.printed
    assert all(line.endswith("refused") for line in lines[1:]), trace.printed


def test_a_fork_bomb_is_ended(run: Run) -> None:
    mark = f"bomb-{os.getpid()}"
    begun = time.monotonic()
    trace = run(
        f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"{mark[:14]}", 0, 0, 0)
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
        seconds=4.0,
        processes=40,
    )
    assert time.monotonic() - begun < LATEST * 4.0
    assert trace.outcome in {RunOutcome.KILLED, RunOutcome.TIMEOUT}
    named = [p for p in os.listdir("/proc") if p.isdigit() and comm(p) == mark[:14]]
    assert named == []
    assert run("print('after')").printed == "after\n"


def comm(process: str) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


@pytest.mark.parametrize(
    "hog",
    [
        "hoard = []\nwhile True: hoard.append(bytearray(10**7))",
        "import mmap\nhoard = []\nwhile True:\n m = mmap.mmap(-1, 10**7); m.write(b'x' * 10**7); hoard.append(m)",
        "import os\nfor _ in range(4):\n if os.fork() == 0: break\nhoard = []\nwhile True: hoard.append(bytearray(10**6))",
    ],
    ids=["own memory", "shared memory", "several processes"],
)
def test_memory_is_bounded(run: Run, hog: str) -> None:
    trace = run(hog, seconds=8.0, memory=300 * 2**20)
    assert trace.outcome is RunOutcome.OUT_OF_MEMORY, (trace.outcome, trace.detail)
    assert trace.peak_memory < 900 * 2**20


@pytest.mark.parametrize(
    "filler",
    [
        "stream = open('big', 'wb')\nwhile True: stream.write(b'x' * 10**6)",
        "n = 0\nwhile True:\n n += 1\n with open('f%d' % n, 'wb') as s: s.write(b'x' * 10**6)",
        "import os\nn = 0\nwhile True:\n n += 1\n with open(os.path.join(os.environ['TMPDIR'], 'f%d' % n), 'wb') as s: s.write(b'x' * 10**6)",
        "n = 0\nwhile True:\n n += 1\n with open('/dev/shm/f%d' % n, 'wb') as s: s.write(b'x' * 10**6)",
    ],
    ids=["one file", "many files", "temporary files", "shared memory"],
)
def test_the_disk_is_bounded(run: Run, filler: str) -> None:
    begun = time.monotonic()
    trace = run(filler, seconds=60.0, disk=20 * 2**20)
    assert trace.outcome in {RunOutcome.ENVIRONMENT, RunOutcome.KILLED}, (trace.outcome, trace.detail)
    assert time.monotonic() - begun < 59  # by the disk, not by the time


@pytest.mark.parametrize(
    "lasting",
    [
        "while True: pass",
        "import signal, time\nfor n in range(1, 65):\n try: signal.signal(n, signal.SIG_IGN)\n except (OSError, ValueError): pass\ntime.sleep(1000)",
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
        "import time\ntry:\n time.sleep(1000)\nexcept BaseException:\n time.sleep(1000)",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    ],
    ids=["loop", "ignored signals", "blocked signals", "caught exceptions", "thread"],
)
def test_time_is_bounded(run: Run, lasting: str) -> None:
    begun = time.monotonic()
    trace = run(lasting, seconds=2.0)
    assert trace.outcome is RunOutcome.TIMEOUT
    assert time.monotonic() - begun < LATEST * 2.0
    assert trace.printed == ""
    assert ("at line" in trace.detail) == (not lasting.startswith(("import signal", "import threading"))), trace.detail


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", {mark!r}])
    os._exit(0)
time.sleep({wait})
"""


def test_a_daemon_does_not_outlive_its_trial(run: Run) -> None:
    mark = f"daemon-{os.getpid()}"
    trace = run(DAEMON.format(mark=mark, wait=0.7))
    assert trace.outcome is RunOutcome.FINISHED
    assert wait_until_gone(mark) == []


def test_nothing_runs_after_close(tier: Tier) -> None:
    mark = f"left-{os.getpid()}"
    runner = Runner(PYTHON, tier=tier)
    jobs = [Job("program.py", DAEMON.format(mark=mark, wait=100).encode(), budget=Budget(seconds=100))] * 2
    many = runner.run_many(jobs, 2)

    def wait() -> None:
        with contextlib.suppress(SandboxError):
            next(many)

    threading.Thread(target=wait, daemon=True).start()
    deadline = time.monotonic() + 60
    while len(processes(mark)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(processes(mark)) >= 2
    runner.close()
    assert wait_until_gone(mark) == []


def test_nothing_is_left_after_the_parent_is_killed(tier: Tier, tmp_path: Path) -> None:
    mark = f"orphan-{os.getpid()}"
    script = f"""
from pathlib import Path
from dnnfix.run.job import Budget, Job, Tier
from dnnfix.run.runner import Runner
Runner(Path({str(PYTHON)!r}), tier=Tier({tier.value!r})).run(
    Job("program.py", {DAEMON.format(mark=mark, wait=100).encode()!r}, budget=Budget(seconds=100)))
"""
    parent = subprocess.Popen(
        [str(PYTHON), "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
    )
    deadline, seen = time.monotonic() + 60, 0
    while seen < 5 and time.monotonic() < deadline:  # a fork of the parent has its command line for a moment too
        seen = seen + 1 if [p for p in processes(mark) if p != parent.pid] else 0
        time.sleep(0.1)
    assert seen == 5
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert wait_until_gone(mark) == []
    deadline = time.monotonic() + 30
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


def test_a_link_does_not_lead_out(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("CANARY")
    project = tmp_path / "project"
    project.mkdir()
    (project / "link.txt").symlink_to(secret)
    (project / "folder").symlink_to(secret.parent)
    (project / ".env").write_text("CANARY")
    (project / "data.csv").write_text("1,2\n")
    text = f"""
import os
print(open("data.csv").read())
os.symlink({str(secret)!r}, "own")
os.symlink("/", "top")
for path in ("link.txt", "folder/secret.txt", "own", "top" + {str(secret)!r}, ".env", "../secret.txt"):
    try:
        print(path, open(path).read())
    except OSError as error:
        print("refused")
"""
    program = project / "program.py"
    program.write_text(text)
    trace = run(text, path=str(program))
    assert trace.printed.count("refused") == 6 and "CANARY" not in trace.printed, trace.printed
    assert "1,2" in trace.printed


def test_trials_do_not_see_each_other(runner: Runner) -> None:
    writer = b"""
import os, time
for place in (".", os.environ["TMPDIR"], os.environ["HOME"], "/tmp", "/dev/shm"):
    try:
        open(os.path.join(place, "note.txt"), "w").write("CANARY")
    except OSError:
        pass
time.sleep(3)
"""
    reader = b"""
import os, time
time.sleep(1)
import glob
found = set()
places = ["/tmp", "/dev/shm", "/scratch", "/var/tmp", os.environ["HOME"], os.environ["TMPDIR"], "..", "../..", "../../.."]
places += glob.glob("/proc/[0-9]*/root/scratch") + glob.glob("/proc/[0-9]*/cwd") + glob.glob("/tmp/dnnfix-*/*")
for place in places:
    for folder, folders, files in os.walk(place):
        for name in files:
            if name == "note.txt":
                try:
                    found.add(open(os.path.join(folder, name)).read())
                except OSError:
                    pass
print(sorted(found))
"""
    budget = Budget(seconds=15)
    jobs = [Job("writer.py", writer, budget=budget), Job("reader.py", reader, budget=budget)]
    traces = {job.path: trace for job, trace in runner.run_many(jobs, 2)}
    assert traces["writer.py"].outcome is RunOutcome.FINISHED, traces["writer.py"].detail
    assert traces["reader.py"].printed == "[]\n"


def test_a_flood_of_output_is_thrown_away(run: Run) -> None:
    trace = run(
        "import sys\nprint('first')\nfor _ in range(3000): sys.stdout.write('x' * 10**5)\nprint('last')",
        seconds=20,
        output=10000,
    )
    assert trace.outcome is RunOutcome.FINISHED
    assert len(trace.printed) < 11000
    assert trace.printed.startswith("first") and trace.printed.endswith("last\n")
    assert any("printed 300" in note for note in trace.notes)


def test_rubbish_in_the_trace_is_survived(run: Run) -> None:
    rubbish = textwrap.dedent("""
        import os
        lines = [b'{"event": "step", "index": "no"}', b"[]", b"[" * 100000, b'{"event": 3}', b"\\xff\\xfe", b'{"event": "end"}',
                 b'{"event": "component", "id": {}}', b'{"event": "crash", "frames": 3}', b'{"event":"call","id":1,"inputs":[[]]}']
        for descriptor in range(3, 100):
            for line in lines:
                try:
                    os.write(descriptor, line + b"\\n")
                except OSError:
                    break
    """)
    trace = run(rubbish)
    assert trace.outcome is RunOutcome.FINISHED
    assert trace.network is None and trace.steps == ()


def test_a_trace_without_end_is_cut_off(run: Run) -> None:
    trace = run(
        """
import os
while True:
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, b"x" * 60000)
        except OSError:
            pass
""",
        seconds=30,
    )
    assert trace.outcome is RunOutcome.KILLED, trace.detail
