"""What GitHub does with a workflow or an action, as far as ours need it: steps in order, in bash.

Artifacts are folders, `artifacts/RUN/NAME`; `gh` answers from them and from a list of comments, as
its host would; `pip` installs nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests import programs

_GH = """
import json, os, pathlib, shutil, subprocess, sys
host, words = pathlib.Path(os.environ["HOST"]), sys.argv[1:]
def option(name):
    return words[words.index(name) + 1] if name in words else None
if words[:2] == ["run", "download"]:
    artifact = host / "artifacts" / words[2] / option("--name")
    if not artifact.is_dir():
        sys.exit("no artifact matches any of the names or patterns provided")
    shutil.copytree(artifact, ".", dirs_exist_ok=True)
    sys.exit()
assert words[0] == "api"
url = next(word for word in words if word.startswith("repos/"))
comments = json.loads((host / "comments.json").read_text())
if "/actions/artifacts?name=nights" in url:
    answer = {"artifacts": json.loads((host / "artifacts.json").read_text())}
elif option("--method") is None:
    answer = comments
else:
    body = pathlib.Path(option("-F").removeprefix("body=@")).read_text()
    if option("--method") == "POST":
        comments.append({"id": len(comments) + 1, "user": {"type": "Bot"}, "body": body})
    else:
        comments[int(url.rpartition("/")[2]) - 1]["body"] = body
    (host / "comments.json").write_text(json.dumps(comments))
    answer = {}
if option("--jq"):
    jq = ["jq", "-r", option("--jq")]
    sys.exit(subprocess.run(jq, input=json.dumps(answer), text=True).returncode)
"""
#: Starts each command as a fork of one process, which has imported what commands import: a process
#: of its own takes seven tenths of a second for that. It ends when its standard input is closed.
_SERVER = """
import json, os, select, socket, sys
import polars, rich.console, rich.text
import ttastats.answers.compare, ttastats.answers.history, ttastats.report.as_markdown
import ttastats.report.as_table, ttastats_parsers.mlperf_mllog
from ttastats import __main__, api
for name in ("compare", "filter", "history", "ingest"):
    getattr(api, name)
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
        client, _ = server.accept()
        said, files, _, _ = socket.recv_fds(client, 1 << 20, 3)
        child = os.fork()
        if not child:
            for number, file in enumerate(files):
                os.dup2(file, number)
            sys.stdin, sys.stdout, sys.stderr = (open(n, "rww"[n], closefd=False) for n in range(3))
            folder, variables, sys.argv = json.loads(said)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)
            __main__.main()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        client.send(str(code).encode())
        for file in (client.detach(), *files):
            os.close(file)
"""
_CLIENT = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(os.environ["COMMANDS"])
said = json.dumps([os.getcwd(), dict(os.environ), ["ttastats", *sys.argv[1:]]])
socket.send_fds(server, [said.encode()], [0, 1, 2])
sys.exit(int(server.recv(9) or b"1"))
"""
_PROGRAMS = {
    "date": "echo $((1700000000 + 86400 * ${NIGHT:-1}))",
    "ttastats": f'exec "{sys.executable}" -S "$HOST/ttastats.py" "$@"',
    "python": f'[ "$2" != pip ] || exit "${{PIP:-0}}"\nexec "{sys.executable}" "$@"',
    "python3": '[ "$2" = venv ]\nmkdir -p "$3"\nln -sfn "$HOST/bin" "$3/bin"',
    "gh": f'exec "{sys.executable}" "$HOST/gh.py" "$@"',
}


@dataclass
class Host:
    """A host with the artifacts, comments and variables of a repository."""

    folder: Path
    #: The socket of the process that starts commands, as `serve_commands` gives it.
    commands: Path
    run: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    #: What each step printed.
    printed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "gh.py").write_text(_GH)
        (self.folder / "ttastats.py").write_text(_CLIENT)
        self.write("comments", [])
        self.write("artifacts", [])
        for name, lines in _PROGRAMS.items():
            program = self.folder / "bin" / name
            program.write_text(f"#!/usr/bin/env bash\n{lines}\n")
            program.chmod(0o755)

    def read(self, name: str) -> Any:
        """Return what the host holds: artifacts or comments."""
        return json.loads((self.folder / f"{name}.json").read_text())

    def write(self, name: str, content: Any) -> None:
        """Set what the host holds: artifacts or comments."""
        (self.folder / f"{name}.json").write_text(json.dumps(content))

    def artifact(self, name: str) -> Path:
        """Return the folder of an artifact of the present run."""
        return self.folder / "artifacts" / str(self.run) / name

    def take_steps(
        self,
        steps: list[Mapping[str, Any]],
        workspace: Path,
        context: Mapping[str, str] | None = None,
        *,
        cancel: str = "",
    ) -> str:
        """Take the steps of a job in a folder; return how the job ends.

        `cancel` names the step in which somebody cancels the job.
        """
        workspace.mkdir(parents=True, exist_ok=True)
        known = {"github.token": "token", "github.ref_name": "main", **(context or {})}
        status = "success"
        for step in steps:
            name = step.get("name", step.get("uses", ""))
            runs = {"": status == "success", "${{ !cancelled() }}": status != "cancelled"}
            if not runs[step.get("if", "")]:
                continue
            if name == cancel:
                status = "cancelled"
            elif not self._take(step, workspace, known):
                status = "failure"
        return status

    def _take(self, step: Mapping[str, Any], workspace: Path, known: Mapping[str, str]) -> bool:
        if "uses" in step:
            getattr(self, f"_{step['uses'].partition('@')[0].partition('/')[2].replace('-', '_')}")(
                step["with"], workspace
            )
            return True
        given = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: known[match[1]], value)
            for name, value in step.get("env", {}).items()
        }
        assert "${{" not in step["run"], "text of others becomes part of a script"
        files = {
            "GITHUB_STEP_SUMMARY": self.folder / "summary.md",
            "GITHUB_OUTPUT": self.folder / "out",
        }
        files["GITHUB_OUTPUT"].write_text("")
        standard = {
            "PATH": os.pathsep.join([str(self.folder / "bin"), os.environ["PATH"]]),
            "HOST": str(self.folder),
            "COMMANDS": str(self.commands),
            "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_REPOSITORY": "owner/repository",
            "GITHUB_RUN_NUMBER": str(self.run),
            "GITHUB_SHA": f"{self.run:040x}",
            "RUNNER_ENVIRONMENT": "github-hosted",
        }
        environment = (
            standard | {name: str(path) for name, path in files.items()} | self.environment
        )
        shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
        process = programs.call(
            *shell, cwd=workspace, env=programs.environment(**environment, **given)
        )
        self.printed[step["name"]] = process.stdout + process.stderr
        text = files["GITHUB_OUTPUT"].read_text()
        for match in re.finditer(r"^(\w+)(?:=(.*)|<<(\w+)\n((?s:.*))\n\3)$", text, re.MULTILINE):
            self.outputs[match[1]] = match[4] if match[2] is None else match[2]
        return process.returncode == 0

    def _checkout(self, _given: Mapping[str, Any], _workspace: Path) -> None:
        """Leave the workspace as the test has made it."""

    _setup_python = _checkout

    def _upload_artifact(self, given: Mapping[str, Any], workspace: Path) -> None:
        found = [workspace / path for path in given["path"].split() if (workspace / path).exists()]
        if not found:
            return  # with a warning
        target = self.artifact(given["name"])
        target.mkdir(parents=True)
        for path in found:
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, target / path.name)
        about = {"id": self.run, "head_branch": "main", "repository_id": 1, "head_repository_id": 1}
        made = f"2026-01-{self.run:02}T02:00:00Z"
        artifact = {"expired": False, "created_at": made, "workflow_run": about}
        self.write("artifacts", [artifact, *self.read("artifacts")])

    def _download_artifact(self, given: Mapping[str, Any], workspace: Path) -> None:
        shutil.copytree(self.artifact(given["name"]), workspace, dirs_exist_ok=True)


@contextmanager
def serve_commands(folder: Path) -> Iterator[Path]:
    """Let one process start all commands; give the socket at which it is asked."""
    at = folder / "commands"
    server = programs.start("-c", _SERVER, at, stdin=subprocess.PIPE, stderr=None)
    try:
        programs.wait_until(at.exists, within=server)
        yield at
    finally:
        programs.finish(server)


def jobs(workflow: Path) -> dict[str, Any]:
    """Return the jobs of a workflow by their names."""
    found: dict[str, Any] = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return found
