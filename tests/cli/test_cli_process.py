"""The program as the shell sees it: status, signals, pipes, and what is imported when."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-m", "discreet.cli"]
PRESET = "dhc-2022-08-25"


def _run(*arguments, **options):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.run([*PROGRAM, *arguments], check=False, **streams)


def test_status_and_streams():
    good = _run("account", PRESET, "--json")
    assert good.returncode == 0
    assert good.stdout.startswith("{")
    assert good.stderr == ""
    bad = _run("account", "nonsense")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("discreet: 'nonsense' is neither")
    assert bad.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("broken", "status"),
    [
        ("sys.modules['cyclopts'] = Interrupted()", 130),
        ("discreet.cli.run = lambda _: 0\nthreading.Timer(0.3, kill).start()", 0),
    ],
    ids=["while the commands are loaded", "when all is done"],
)
def test_an_interrupt_at_either_end(broken, status):
    code = (
        "import os, signal, sys, threading, time, discreet.cli\n"
        "class Interrupted:\n"
        "    def __getattr__(self, name): raise KeyboardInterrupt\n"
        "def kill(): os.kill(os.getpid(), signal.SIGINT)\n"
        "class Slow:\n"
        "    def __del__(self): time.sleep(1)\n"  # freed when the interpreter has ended
        f"{broken}\n"
        "sys.kept = Slow()\n"
        "from discreet.cli import main\n"
        "sys.exit(main())\n"
    )
    words = [sys.executable, "-c", code, "presets"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


@pytest.mark.parametrize(
    ("run", "status"),
    [
        ("exec('signal.raise_signal(signal.SIGINT)')", 130),  # as in every dataclass that is loaded
        ("signal.raise_signal(signal.SIGTERM)", 143),
        ("signal.raise_signal(signal.SIGHUP)", 129),
        ("as_a_library('SIGTERM')", 143),
    ],
)
def test_a_signal_gives_its_status(run, status, tmp_path):
    """Also where a library, as DuckDB, says of any signal that it was Ctrl-C. Python never ends by one."""
    code = (
        "import os, signal, sys, time, discreet.cli\n"
        "def as_a_library(name):\n"
        "    try: signal.raise_signal(getattr(signal, name))\n"
        "    except SystemExit: raise KeyboardInterrupt\n"
        f"discreet.cli.run = lambda _: {run}\n"
        "sys.exit(discreet.cli.main())\n"
    )
    (tmp_path / "stopped.py").write_text(code)
    program = [sys.executable, "-m", "stopped"]
    done = subprocess.run(program, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


@pytest.mark.parametrize("moment", ["made", "removing", "removed"])
def test_a_signal_while_something_is_made_or_removed(tmp_path, moment):
    """The directory of an output, one for temporary files, and a file: whatever the moment, nothing stays."""
    code = (
        "import os, signal, shutil, sys\n"
        "from pathlib import Path\n"
        "import discreet.cli\n"
        "from discreet.files import whole_file\n"
        "from discreet.ledger.commit import staging, whole_folder\n"
        "from discreet.records.engine import spill_directory\n"
        "def stop(): signal.raise_signal(signal.SIGTERM)\n"
        "def once(module, name, first):\n"
        "    real = getattr(module, name)\n"
        "    def broken(*given, **named):\n"
        "        setattr(module, name, real)\n"
        "        if first: stop()\n"
        "        done = real(*given, **named); stop(); return done\n"
        "    setattr(module, name, broken)\n"
        "def work(_):\n"
        "    if moment == 'made': once(os, maker, False)\n"
        "    with which() as made:\n"
        "        if moment != 'made':\n"
        "            for name in ('unlink', 'rmdir', 'rename', 'replace'):\n"
        "                once(os, name, moment == 'removing')\n"
        "discreet.cli.run = work\n"
        "out, moment, maker = Path(sys.argv[1]) / 'out', sys.argv[2], sys.argv[3]\n"
        "which = {'staging': lambda: staging(out), 'folder': lambda: whole_folder(out),\n"
        "         'spill': spill_directory, 'file': lambda: whole_file(out)}[sys.argv[4]]\n"
        "sys.exit(discreet.cli.main())\n"
    )
    for maker, which in (("mkdir", "staging"), ("mkdir", "folder"), ("mkdir", "spill"), ("open", "file")):
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path, moment, maker, which],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (143, "", ""), which
        assert [path.name for path in tmp_path.iterdir()] in ([], ["out"]), which
        out = tmp_path / "out"
        out.rmdir() if out.is_dir() else out.unlink(missing_ok=True)


def test_a_real_bug_shows_a_traceback(tmp_path):
    code = (
        "import discreet.budget as b, sys\n"
        "def broken(*_): raise ZeroDivisionError('a real bug')\n"
        "b.load = broken\n"
        "from discreet.cli import main\n"
        "sys.argv = ['discreet', 'account', 'x']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ZeroDivisionError: a real bug" in done.stderr


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from discreet.cli import run\n"
        "heavy = {'numpy', 'flint', 'matplotlib', 'cryptography'}\n"
        "for line in ('--help', 'account --help', 'presets', 'show dhc-2020', 'account nix'):\n"
        "    if line != '--help':\n"
        "        heavy -= {'numpy'}  # a release is made of noise, which is made of arrays\n"
        "    run(line.split())\n"
        "    assert not heavy & set(sys.modules), (line, heavy & set(sys.modules))\n"
        "run(['account', 'pl94-2020-units', '--delta', '1e-5'])\n"
        "assert 'numpy' in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_help_is_quick():
    times = []  # of the processor: what else the machine does must not matter
    for _ in range(3):
        start = os.times()
        subprocess.run([*PROGRAM, "--help"], stdout=subprocess.DEVNULL, check=True)
        end = os.times()
        times.append(end.children_user + end.children_system - start.children_user - start.children_system)
    assert min(times) < 0.6


def test_broken_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    for arguments in (["show", "dhc-2020"], ["presets", "--json"], ["--help"]):
        done = _run(*arguments, stdout=writer)
        assert (done.returncode, done.stderr) == (0, "")
    os.close(writer)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full: run on Linux")
def test_full_disk_behind_standard_output():
    with open("/dev/full", "w") as full:
        done = _run("presets", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "discreet: the output cannot be written: No space left on device\n"


def test_output_that_cannot_be_encoded(tmp_path):
    path = tmp_path / "accents.toml"
    path.write_text(
        'name = "é"\ntitle = "Größe"\nneighbours = "bounded"\n[[levels]]\nname = "Nação"\n'
        '[levels.queries]\n"ä" = { variance = 5 }\n'
    )
    done = _run("show", str(path), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "Gr\\xf6\\xdfe" in done.stdout


def _session(leader: int) -> list[str]:
    """The command lines of all living processes of a session."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] not in "ZX":
                    found.append((folder / "cmdline").read_text())
            except OSError:
                continue
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc: run on Linux")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_leaves_nothing_behind(tmp_path, number):
    command = [*PROGRAM, "account", "dhc-2020", "--jobs", "2", "--people", "2", "--certify"]
    command += ["--curve", str(tmp_path / "curve.csv"), "--plot", str(tmp_path / "plot.svg")]
    running = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        _wait(lambda: sum("spawn_main" in line for line in _session(running.pid)) == 2, 120)
        time.sleep(0.5)
        if number == signal.SIGINT:  # as a terminal does it: to the whole group
            os.killpg(running.pid, number)
        else:
            running.send_signal(number)
        out, err = running.communicate(timeout=120)
        assert running.returncode == 128 + number
        assert out == ""
        assert err == ""
        _wait(lambda: not _session(running.pid), 60)
        assert list(tmp_path.iterdir()) == []
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def _wait(done, seconds):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def test_progress_shows_on_a_terminal_only(tmp_path):
    pty = pytest.importorskip("pty", reason="needs a terminal: run on Linux or macOS")
    main, side = pty.openpty()
    done = _run("account", "pl94-2020-units", "--delta", "1e-5", stderr=side)
    os.close(side)
    seen = ""
    with contextlib.suppress(OSError):  # how Linux says that the other side is closed
        while part := os.read(main, 65536):
            seen += part.decode()
    os.close(main)
    assert done.returncode == 0
    assert "Comparing" not in done.stdout
    assert "Comparing paths" in seen
    assert "Time: " in seen
