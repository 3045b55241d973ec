"""The programs that draw in a browser: Vega, Vega-Lite and vega-embed as one script."""

from __future__ import annotations

from functools import cache


@cache
def bundle(program: str) -> str:
    """Give a program with all it needs of Vega; putting it together takes two seconds.

    Raises
    ------
    ValueError
        The script could end the element of a page it stands in.
    """
    import vl_convert  # a large library

    text = str(vl_convert.javascript_bundle(program))
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("the script of Vega cannot stand in a page")
    return text
