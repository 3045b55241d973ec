"""The programs that draw in a browser: Vega, Vega-Lite and vega-embed as one script."""

from __future__ import annotations

from functools import cache

from ttastats.output.plots import renderer


@cache
def program() -> str:
    """Return what defines `vegaEmbed` for the scripts of a page; building it takes a second.

    Raises
    ------
    ValueError
        The script could end the element of a page it stands in.
    """
    text = renderer.call("javascript_bundle", "window.vegaEmbed = vegaEmbed;").decode()
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("the script of Vega cannot stand in a page")
    return text
