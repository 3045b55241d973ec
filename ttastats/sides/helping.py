"""Which help texts has a function: those of the command line, in the names of Python?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from inspect import Parameter, Signature, cleandoc
from textwrap import fill
from typing import Any

from ttastats.base import arguments
from ttastats.sides.options import BudgetKeywords, GroupKeywords, SideKeywords, TargetKeywords

#: What several functions and commands say of a parameter.
SHARED = """
--margin MARGIN: Equivalence margin, such as 1%; at a budget in the unit of the quality.
--estimand: Mean of the times to compare. [default: mean]
--same-convergence: Assume equal epochs to the target; compare time per epoch.
--epochs-fixed: Declare that the epochs to the target are constant by design.
--fdr: Adjust p by Benjamini-Hochberg instead of Holm.
--max-runs N: With --sequential: most runs per side, fixed in advance. [default: (20)]
--ddof: Standard deviation: 1 = sample, 0 = population. [0<=x<=1]
--confidence LEVEL: Confidence level of intervals and verdicts, such as 80%.
"""
#: What parameters mean that are no options.
_OF_PYTHON = {
    **dict.fromkeys(
        ("source", "sources", "a", "b", "others"),
        "A Parquet file, logs (a folder, an archive, a file, a URL), several of them, or a frame; "
        "see `help(ttastats.api)`.",
    ),
    "options": "How the comparison is made: `tta.Options`, or a mapping of its fields.",
    "output": "Where to write.",
    "seed": "Seed of random splits.",
    "title": "Title of the page.",
    "view": "What is shown: `tta.View`.",
    "kind": "The kind of plot, such as `speedups`.",
    "points": "Number of targets.",
}
#: An example of each function.
EXAMPLES = {
    "claim": "claim('runs.parquet', seconds=80)",
    "compare": "compare('a.parquet', 'b.parquet', fail_on='slower:2%').check()",
    "effects": "effects('runs.parquet', on='system')",
    "export": "export('runs.parquet', 'runs.csv')",
    "filter": "filter('a.parquet', 'b.parquet', output='both.parquet', where='nodes<=8')",
    "history": "history('a.parquet')",
    "html_report": "html_report('a.parquet', 'b.parquet', output='page.html')",
    "latest_segment": "latest_segment('a.parquet')",
    "plot": "plot('speedups', 'a.parquet', 'b.parquet')",
    "plots": "plots('runs.parquet')",
    "power": "power(cv=0.14, effects=[0.05])",
    "problems": "problems('runs.parquet')",
    "rank": "rank('runs.parquet', mine='eight')",
    "read": "read('runs.parquet', where='seed<=1003').collect()",
    "runs": "runs('runs.parquet', target={'accuracy': 0.9})",
    "scaling": "scaling('runs.parquet')",
    "score": "score('runs.parquet')",
    "summary": "summary('runs.parquet', by='system', target='75%')",
    "targets": "targets('a.parquet', 'b.parquet')",
    "variance": "variance('runs.parquet')",
}
_RETURNS = {
    "Report": "Its `rows` and `frame` hold raw numbers under the keys of docs/keys.md; `print` "
    "shows it as the command does.",
    "Gated": "A report with the result of its conditions in `gate`, true if it passed.",
}
_RAISES = (
    "What cannot be answered, by the name of the parameter: a file that cannot be used, a "
    "malformed condition, no run that meets all, too few runs."
)
_ENTRY = re.compile(r"^(-\S.*?|[A-Z]+(?:\.\.\.)?): (.+(?:\n +.+)*)", re.MULTILINE)
_SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_PARAMETER = re.compile(r"^(\S.*)\n((?:    .*\n?|\n(?=    ))+)", re.MULTILINE)
_LIMITS = re.compile(r" \[[^\]]*\]$")


def entries(
    docstring: str | None, names: Mapping[str, str] = arguments.OPTIONS
) -> dict[str, tuple[str, str]]:
    """Return the option names and help texts in a docstring, by parameter."""
    texts = _ENTRY.findall(cleandoc(docstring or ""))
    called = [
        re.split(r"[ ,/]", head.lstrip("-").lower().replace("-", "_"))[0] for head, _ in texts
    ]
    return {
        names.get(name, name): (head, " ".join(text.split()))
        for name, (head, text) in zip(called, texts, strict=True)
    }


@cache
def _shared_texts() -> dict[str, str]:
    """Return the help texts of shared parameters."""
    texts = dict(_OF_PYTHON)
    for docstring in (
        SHARED,
        *(
            keywords.__doc__
            for keywords in (GroupKeywords, TargetKeywords, SideKeywords, BudgetKeywords)
        ),
    ):
        for name, (_, text) in entries(docstring).items():
            plain = _LIMITS.sub("", text).replace("Repeatable", "One or several")
            texts[name] = arguments.in_python(plain.replace("(repeatable)", "(one or several)"))
    return {name: _wrap_text(text) for name, text in texts.items()}


@cache
def _wrap_text(text: str) -> str:
    return fill(text, 96, initial_indent="    ", subsequent_indent="    ")


def completed(function: Any, signature: Signature) -> str:
    """Return the docstring of a function with its parameters, return value, errors and an example.

    What it says itself of a parameter stands; the rest are the words of the command line.
    """
    head, *sections = _SECTION.split(cleandoc(function.__doc__ or ""))
    texts_by_title = dict(zip(sections[::2], sections[1::2], strict=True))
    parameter_texts = dict(_PARAMETER.findall(texts_by_title.get("Parameters", "")))
    texts = {
        name: (line, text) for line, text in parameter_texts.items() for name in line.split(", ")
    }
    text_by_line: dict[str, str] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            continue
        line, text = texts.get(name) or (name, _shared_texts()[name])
        text_by_line.setdefault(line, text.rstrip())
    returned = str(signature.return_annotation)
    parts = {
        "Parameters": "\n".join(f"{line}\n{text}" for line, text in text_by_line.items()),
        "Returns": returned.removeprefix("None")
        and f"{returned}\n{_wrap_text(_RETURNS.get(returned, ''))}".rstrip(),
        "Raises": texts_by_title.get("Raises", "").rstrip()
        or f"TtastatsError\n{_wrap_text(_RAISES)}",
        "Examples": f">>> tta.{EXAMPLES[function.__name__]}"
        if function.__name__ in EXAMPLES
        else "",
    }
    bodies = (f"{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items() if text)
    return "\n\n".join([head.strip(), *bodies])
