"""A page has no serious finding of axe-core: light and dark, narrow and wide, all of it opened."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.made import draw_all, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

#: Plots are looked at once: the contrast of each of their words takes long.
WITHOUT_PLOTS = "{exclude: [['.drawing']]}"


def findings(page: Page, where: str = WITHOUT_PLOTS) -> list[str]:
    """Return what axe-core finds, with the first place of each."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    page.evaluate(Path(spec.origin).with_name("axe.min.js").read_text("utf-8") + "; 0")
    return page.evaluate(f"""async () => {{
        const {{violations}} = await axe.run({where}, {{preload: false}});
        return violations.filter(({{impact}}) => ['serious', 'critical'].includes(impact))
            .map(({{id, nodes}}) => `${{id}}: ${{nodes[0].html}}`);
    }}""")  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "width", "scheme"), [
    ("several", 375, "dark"), ("summarised", 375, "light"), ("profiled", 1600, "dark"),
])  # fmt: skip
def test_everybody_can_read_a_page(
    browser: Browser, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(name)
    with opened(browser, path, width=width, scheme=scheme, bypass_csp=True) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert findings(page) == []


def test_plots_have_names(browser: Browser, profiled: Path) -> None:
    with opened(browser, profiled, bypass_csp=True) as page:
        draw_all(page)
        assert findings(page, "'.drawing'") == []
