"""Pages of the site that are made from the code and from files beside `docs/`: a hook of MkDocs."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[2]
#: Files outside `docs/` that are pages of the site.
OUTSIDE = {
    "README.md": "index.md",
    "parsers/README.md": "formats.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)

#: What stands below the options in the help of a command.
EXAMPLES = re.compile(r"\x08\nExamples:\n((?:  .*\n)+)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not files of `docs/`."""
    from mkdocs.structure.files import File

    pages = {page: moved(source) for source, page in OUTSIDE.items()}
    pages |= {"reference/commands.md": commands(), "reference/api.md": api()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Name what a page links to outside `docs/`, since it is no part of the site."""
    if page.file.src_uri in {*OUTSIDE.values(), "reference/commands.md", "reference/api.md"}:
        return markdown
    return with_links(markdown, PurePosixPath("docs", page.file.src_uri).parent)


def moved(source: str) -> str:
    """Give a page outside `docs/` as the site has it."""
    return with_links((ROOT / source).read_text("utf-8"), PurePosixPath(source).parent)


def with_links(text: str, folder: PurePosixPath) -> str:
    """Lead links of a page in a folder to the pages of the site, and name other files."""
    return LINK.sub(lambda found: _link(found, folder), text)


def _link(found: re.Match[str], folder: PurePosixPath) -> str:
    target = _normal(folder / found["path"])
    page = OUTSIDE.get(str(target)) or _page(target)
    if page is None:
        return f"{found['text']} (`{target}`)"
    return f"{found['image']}[{found['text']}]({page}{found['anchor'] or ''})"


def _page(target: PurePosixPath) -> str | None:
    return str(target.relative_to("docs")) if target.is_relative_to("docs") else None


def _normal(path: PurePosixPath) -> PurePosixPath:
    parts: list[str] = []
    for part in path.parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return PurePosixPath(*parts)


def commands() -> str:
    """Give every command with its arguments and options."""
    import typer
    from typer.cli import get_docs_for_click

    from ttastats.cli import app

    command = typer.main.get_command(app)
    context = command.make_context("ttastats", [], resilient_parsing=True)
    text = get_docs_for_click(obj=command, ctx=context, name="ttastats")
    text = EXAMPLES.sub(lambda found: f"**Examples**:\n\n```console\n{_typed(found[1])}```\n", text)
    return text.replace("# `ttastats`", "# Commands and options", 1)


def _typed(lines: str) -> str:
    return re.sub(r"^  ", "$ ", lines, flags=re.MULTILINE)


def api() -> str:
    """Give every public name of the package."""
    import ttastats

    names = [name for name in ttastats.__all__ if not name.startswith("__")]
    promise = "What stays the same between versions: `CONTRIBUTING.md`."
    return f"# Python\n\n    import ttastats as tta\n\n{promise}\n\n" + "\n".join(
        f"::: ttastats.{name}\n" for name in sorted(names, key=str.lower)
    )
