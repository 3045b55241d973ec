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

#: Public names in the order in which somebody needs them.
GROUPS = {
    "Read logs": ("ingest", "read", "from_frame", "guess", "filter", "export", "Account"),
    "Ask": (
        "compare", "summary", "rank", "runs", "variance", "effects", "history", "latest_segment",
        "power", "scaling", "targets", "problems",
    ),
    "What an answer is": (
        "Report", "Gated", "Question", "Options", "View", "TtastatsError", "GateFailed",
    ),
    "Draw": ("html_report", "plot", "plots"),
    "Official rules and contests": ("score", "rcp", "claim", "judge_record"),
    "Record a training loop": ("record", "profile"),
    "Profiles": ("profiled", "compare_profiles", "profile_page", "plot_profiles"),
}  # fmt: skip


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not files of `docs/`."""
    from mkdocs.structure.files import File

    pages = {page: moved(source) for source, page in OUTSIDE.items()}
    pages["index.md"] = result_first(pages["index.md"])
    pages |= {"reference/commands.md": commands(), "reference/api.md": api()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Name what a page links to outside `docs/`, since it is no part of the site."""
    if page.file.src_uri == "ci_gate.md":
        page.meta["search"] = {"boost": 4}  # where who searches for `--fail-on` wants to go
    if page.file.src_uri in {*OUTSIDE.values(), "reference/commands.md", "reference/api.md"}:
        return markdown
    return with_links(markdown, PurePosixPath("docs", page.file.src_uri).parent)


#: Where the theme would fetch what searches in a folder from.
SHIM = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Search with the program of the site, which must stand before that of the theme."""
    return output.replace(SHIM, "../" * page.url.count("/") + "search.js")


def moved(source: str) -> str:
    """Return a page outside `docs/` as the site has it."""
    return with_links((ROOT / source).read_text("utf-8"), PurePosixPath(source).parent)


def result_first(text: str) -> str:
    """Move the answer and the plot of the example up to where a reader begins."""
    (answer,) = re.findall(r"```text\n [A-Z ]+  (.*?)\n\n", text, re.DOTALL)
    (plot,) = re.findall(r"^!\[[^\]]*\]\([^)]*\)\n", text, re.MULTILINE)
    head, question, rest = text.replace(plot, "").split("\n\n", 2)
    caption = f"Two systems of the example, a line per run: {' '.join(answer.split())}"
    return f"{head}\n\n{question}\n\n{plot}\n{caption}\n\n{rest}"


def with_links(text: str, folder: PurePosixPath) -> str:
    """Lead links of a page in a folder to the pages of the site, and name other files."""
    return LINK.sub(lambda found: _link(found, folder), text)


def _link(found: re.Match[str], folder: PurePosixPath) -> str:
    target = _normal(folder / found["path"])
    page = OUTSIDE.get(str(target)) or _page(target)
    if page is None:
        named = found["text"].strip("`") == str(target)
        return f"`{target}`" if named else f"{found['text']} (`{target}`)"
    return f"{found['image']}[{found['text']}]({page}{found['anchor'] or ''})"


def _page(target: PurePosixPath) -> str | None:
    return str(target.relative_to("docs")) if target.is_relative_to("docs") else None


def _normal(path: PurePosixPath) -> PurePosixPath:
    parts: list[str] = []
    for part in path.parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return PurePosixPath(*parts)


def commands() -> str:
    """Return every command with its arguments and options, in the groups of the help."""
    import typer

    from ttastats.cli import app
    from ttastats.cli.commands import GROUPS as COMMANDS

    group: Any = typer.main.get_command(app)
    context = group.make_context("ttastats", [], resilient_parsing=True)
    text = "# Commands and options\n"
    for title, names in COMMANDS.items():
        text += f"\n## {title}\n"
        for name in names:
            command = group.get_command(context, name)
            own = typer.Context(command, info_name=name, parent=context)
            text += f"\n### `ttastats {name}`\n\n{command.help}\n\n"
            usage = " ".join([own.command_path, *command.collect_usage_pieces(own)])
            text += f"```console\n$ {usage}\n```\n"
            examples = "\n".join(f"$ {line.strip()}" for line in command.epilog.splitlines()[2:])
            text += f"\n**Examples**\n\n```console\n{examples}\n```\n"
            for heading, records in command.sections(own).items():
                lines = (f"* `{option}`: {_escaped(words)}" for option, words in records)
                text += f"\n**{heading}**\n\n" + "\n".join(lines) + "\n"
    return text


def _escaped(words: str) -> str:
    return re.sub(r"([*_<\[\]])", r"\\\1", words)


def api() -> str:
    """Return every public name of the package, grouped by purpose."""
    promise = "What stays the same between versions: `CONTRIBUTING.md`."
    groups = "\n".join(
        f"## {title}\n\n" + "\n".join(f"::: ttastats.{name}\n" for name in names)
        for title, names in GROUPS.items()
    )
    return f"# Python\n\n    import ttastats as tta\n\n{promise}\n\n{groups}"
