"""`enable_logging`: spans of the library become records of Python's `logging`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tetrys as tt

BEFORE = """
import logging, os, sys
import numpy as np, tetrys as tt
logging.basicConfig(stream=sys.stdout, format="%(process)d|%(name)s|%(levelname)s|%(message)s")
table = lambda url: tt.write_table(url, {"time": np.arange(3), "a.x": np.arange(3)}, index=["time"])
"""


def records(folder: Path, script: str) -> list[list[str]]:
    """Runs a script in a process of its own, because a process has one subscriber, and returns what it logged."""
    done = subprocess.run([sys.executable, "-c", BEFORE + script], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [line.split("|", 3) for line in done.stdout.splitlines()]


def test_each_step_is_a_record_with_its_url_and_duration(tmp_path: Path) -> None:
    found = records(tmp_path, 'tt.enable_logging(); table("t"); tt.row_loader(tt.open_table("t")).get_row(1)')
    assert {(name, level) for _, name, level, _ in found} == {("tetrys", "DEBUG")}
    # The progress of long work has an event for each batch of rows, and is not logged.
    assert all(" took " in message for *_, message in found), found
    steps = {message.split(" took ")[0]: message for *_, message in found}
    assert {"open", "plan", "fetch", "commit"} <= set(steps)
    for step in ("open", "fetch", "commit"):
        assert " ms (" in steps[step] and f'url="file://{tmp_path}/t' in steps[step], steps[step]


def test_nothing_is_recorded_before_the_call_below_the_level_and_after_the_end(tmp_path: Path) -> None:
    assert records(tmp_path, 'table("a")') == []
    assert records(tmp_path, 'tt.enable_logging("INFO"); table("b")') == []
    found = records(tmp_path, 'tt.enable_logging(); table("c"); tt.enable_logging(logging.CRITICAL); table("d")')
    assert found and not [message for *_, message in found if '/d"' in message]
    found = records(tmp_path, 'tt.enable_logging("ERROR"); table("e"); tt.enable_logging(logging.DEBUG); table("f")')
    assert found and not [message for *_, message in found if '/e"' in message]


def test_a_forked_process_goes_on(tmp_path: Path) -> None:
    script = """
tt.enable_logging()
table("t")
if (child := os.fork()) == 0:
    tt.open_table("t")
    sys.exit(0)  # `os._exit` would leave out what still waits.
assert os.waitpid(child, 0)[1] == 0
"""
    found = records(tmp_path, script)
    by_process = {process: {message.split()[0] for other, _, _, message in found if other == process} for process, *_ in found}
    parent, child = sorted(by_process.values(), key=lambda steps: "open" in steps)
    assert "commit" in parent and "open" in child, found


def test_a_slow_handler_holds_up_no_read_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    script = """
import threading
ready = threading.Event()
class Slow(logging.Handler):
    def emit(self, record): ready.wait()
table("t")
logging.getLogger("tetrys").addHandler(Slow())
tt.enable_logging()
rows = tt.row_loader(tt.open_table("t"))
for _ in range(15_000): rows.get_row(1)
ready.set()
"""
    *_, (_, name, level, message) = records(tmp_path, script)
    assert (name, level) == ("tetrys", "WARNING") and message.endswith("records are left out: 10000 waited for Python already")


def test_a_kill_during_logging_ends_the_process(tmp_path: Path) -> None:
    script = BEFORE + 'tt.enable_logging()\nprint("ready", flush=True)\nwhile True: table(f"t{os.getpid()}"); os.rename(f"t{os.getpid()}", os.urandom(8).hex())'
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None and running.stdout.readline() == b"ready\n"
        os.kill(running.pid, signal.SIGINT)
        while running.stdout.readline():
            pass
        assert running.wait(timeout=300) != 0


@pytest.mark.parametrize("wrong", ["debug", "", None, -1, 51, True, 10.0])
def test_another_level_is_refused(wrong: object) -> None:
    with pytest.raises(tt.Invalid, match="level"):
        tt.enable_logging(wrong)  # type: ignore[arg-type]
