"""Statistics as pure functions of arrays.

It imports no other folder.
"""

from __future__ import annotations

import sys
from importlib import util

import numpy as np


def _import_when_used(part: str) -> None:
    """Make a part of numpy a module that is executed when it is first used."""
    name = f"numpy.{part}"
    spec = util.find_spec(name) if name not in sys.modules else None
    if spec is not None and spec.loader is not None:
        spec.loader = util.LazyLoader(spec.loader)
        sys.modules[name] = module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        setattr(np, part, module)


# scipy.special reads every public name of numpy, and so imports its Fortran compiler and its test
# tools: a quarter of the time that scipy takes.
_import_when_used("f2py")
_import_when_used("testing")
