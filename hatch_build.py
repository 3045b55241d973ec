"""Compiles the one C source at installation, where a compiler is at hand; all works without it."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("parsers", "ttastats_parsers")
#: The oldest Python whose stable ABI is used: one build serves it and every later one.
OLDEST = (3, 11)


class CompileHook(BuildHookInterface):
    """Puts the compiled module beside its source, and into the wheel."""

    def initialize(self, _version: str, build_data: dict[str, Any]) -> None:
        """Compile; a wheel without the module is one for every platform."""
        if os.environ.get("TTASTATS_PURE"):
            return  # the wheel of a release for platforms that no compiled one fits
        try:
            built = _compiled(Path(self.root))
        except Exception as error:  # each compiler has its own
            self.clean([])  # a module of an older source would be worse than none
            self.app.display_warning(f"without compiled scanning, which is slower: {error}")
            return
        self.clean([], but=built)
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{OLDEST[0]}{OLDEST[1]}-abi3-{_platform()}"
        build_data["artifacts"].append(f"/{PACKAGE.as_posix()}/{built.name}")

    def clean(self, _versions: list[str], but: Path | None = None) -> None:
        """Remove what was compiled, but for one file."""
        for built in _built(Path(self.root)):
            if built != but:
                built.unlink(missing_ok=True)  # another may install from this checkout


def _compiled(root: Path) -> Path:
    """Compile, and return the file of the module. Raises what the compiler's errors are."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    limited = f"0x{OLDEST[0]:02X}{OLDEST[1]:02X}0000"
    extension = Extension(
        "ttastats_parsers._scan",
        [str(root / PACKAGE / "_scan.c")],
        define_macros=[("Py_LIMITED_API", limited)],
        extra_compile_args=[] if sysconfig.get_platform().startswith("win") else ["-O3"],
        py_limited_api=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        command = build_ext(Distribution({"ext_modules": [extension]}))
        command.build_lib = command.build_temp = folder
        command.ensure_finalized()
        command.run()
        (made,) = Path(folder, "ttastats_parsers").iterdir()
        target = root / PACKAGE / made.name
        # At once: tests or another installation may be reading it from this checkout.
        (beside := Path(f"{target}.{os.getpid()}")).write_bytes(made.read_bytes())
        beside.replace(target)
    return target


def _built(root: Path) -> list[Path]:
    return [p for p in (root / PACKAGE).glob("_scan.*") if p.suffix in {".so", ".pyd"}]


def _platform() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
