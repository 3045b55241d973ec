"""The renderer of plots, vl-convert, in a process of its own: it may end without ending ours.

Its JavaScript engine aborts the process where it gets less address space than it reserves, and
its other parts where text is no XML. The process starts in 20 ms, answers one call after another,
and ends with the program.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from threading import Lock
from typing import IO, Any, cast

from ttastats.base import atomic
from ttastats.base.atomic import user_folder
from ttastats.base.errors import TtastatsError

#: The child looks for modules where this process does, and nowhere else before it knows.
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from {module} import {function}; {function}()"
)
_lock = Lock()
_running: list[subprocess.Popen[bytes]] = []
atexit.register(lambda: _stop_renderer())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)  # two processes cannot share the answers


def call_renderer(function: str, *values: Any, **keywords: Any) -> bytes:
    """Return the result of a function of vl-convert, called in its own process.

    An error if it refuses the plot, or if the process ends.
    """
    question = json.dumps([function, values, keywords]).encode() + b"\n"
    with _lock:
        process = _renderer_process()
        try:
            questions = cast("IO[bytes]", process.stdin)
            answers = cast("IO[bytes]", process.stdout)
            questions.write(question)
            questions.flush()
            refused, size = json.loads(answers.readline())
            answer = answers.read(size)
            if len(answer) < size:
                raise EOFError
        except (OSError, ValueError, EOFError) as error:
            process.communicate()  # nothing more is asked, so that it ends if it has not
            _running.clear()
            status = process.returncode
            how = f"exit status {status}" if status >= 0 else signal.Signals(-status).name
            raise TtastatsError(
                f"the renderer ended without an answer ({how})",
                where="plot",
                remedy="It reserves much address space: remove the limit, if there is one "
                "(ulimit -v unlimited).",
            ) from error
        except BaseException:  # an answer that nobody reads would be that of the next call
            _stop_renderer()
            raise
    if refused:  # what it says stands in the first two lines, below is where in its program
        reason = " ".join(answer.decode().splitlines()[:2])
        raise TtastatsError(
            f"the renderer cannot draw this plot: {reason}",
            where="plot",
            remedy="Please report the command with its input.",
        )
    return answer


@cache
def vega_script() -> str:
    """Return the script of Vega, Vega-Lite and vega-embed, which defines `vegaEmbed`.

    It is kept in a file, since bundling takes two seconds.
    """
    path = None
    with suppress(RuntimeError):  # there is no home folder
        path = user_folder() / f"vega-{version('vl-convert-python')}.js"
    if path and path.is_file():
        text, path = path.read_text("utf-8"), None
    else:
        text = call_renderer("javascript_bundle", "window.vegaEmbed = vegaEmbed;").decode()
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("the script of Vega cannot stand in a page")
    if path:
        with suppress(OSError, TtastatsError):  # it cannot be written to
            path.parent.mkdir(parents=True, exist_ok=True)
            for old in path.parent.glob("vega-*.js"):
                old.unlink()
            atomic.write_text(path, text)
    return text


def _renderer_process() -> subprocess.Popen[bytes]:
    """Return the process of the renderer, started if none runs."""
    if _running and _running[0].poll() is not None:
        _stop_renderer()
    if not _running:
        program = _CHILD.format(module=__name__, function=serve_calls.__name__)
        _running.append(
            subprocess.Popen(  # noqa: S603 - the words are our own
                [sys.executable, "-I", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # the traces of its native parts help nobody
            )
        )
        cast("IO[bytes]", _running[0].stdin).write(json.dumps(sys.path).encode() + b"\n")
    return _running[0]


def _stop_renderer() -> None:
    for process in _running:
        process.kill()
        process.communicate()
    _running.clear()


def serve_calls() -> None:
    """Answer calls on standard input until it ends, as the renderer process."""
    import vl_convert  # a large library

    from ttastats.output.plots import theme

    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the libraries print is no answer
    vl_convert.register_font_directory(str(theme.font_folder()))
    while line := sys.stdin.buffer.readline():
        function, values, keywords = json.loads(line)
        refused = False
        try:
            answer = getattr(vl_convert, function)(*values, **keywords)
        except ValueError as error:
            refused, answer = True, str(error)
        data = answer.encode() if isinstance(answer, str) else answer or b""
        answers.write(json.dumps([refused, len(data)]).encode() + b"\n" + data)
        answers.flush()
