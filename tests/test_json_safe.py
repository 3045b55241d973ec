"""Values as JSON: nothing that JSON does not know, and nothing that ends a script element."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import inf, nan

import pytest

from ttastats.base.json_safe import json_value, script_json


def test_what_json_does_not_know_is_null_or_text_however_deep() -> None:
    value = {"a": [nan, (inf, 1.5)], "at": datetime(2020, 1, 2, tzinfo=UTC), "b": True}
    plain = {"a": [None, [None, 1.5]], "at": "2020-01-02T00:00:00+00:00", "b": True}
    assert json_value(value) == plain
    assert json_value([inf, -inf, nan]) == [None] * 3


def test_nothing_ends_a_script_element_and_all_is_read_back() -> None:
    for text in ("</script>", "<!--", "]]>", "a\u2028b", "&lt;", "ä€"):
        written = script_json({"name": text})
        assert not set("<>&\u2028\u2029") & set(written)
        assert json.loads(written) == {"name": text}
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json([nan])
