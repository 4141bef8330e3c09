"""The page of a plan: all that the text says, and nothing that needs a network or a script."""

import re
from html.parser import HTMLParser

from joinfold.explain.costs import cost_text
from joinfold.explain.costs_page import cost_page
from joinfold.planner.planned_query import PlannedQuery


class Elements(HTMLParser):
    """The texts by element, and that every element is closed in its turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))


def test_the_page_says_what_the_text_says(plan: PlannedQuery) -> None:
    sql = "SELECT '<script>alert(1)</script>' AS \"a&b\" FROM s [1 HOUR]"
    page = cost_page(plan, sql, ["a < b"])
    elements = Elements(page)
    texts = [text for _, text in elements.texts]
    assert sql in texts and "Warning: a < b" in texts
    assert ("pre", cost_text(plan).split("\n\n")[0]) in elements.texts
    shown = " ".join(texts)
    for word in re.findall(r"[\w.]+ ?[×%]|Why this plan: .*|sampled|declared", cost_text(plan)):
        assert word in shown
    assert "script" not in {tag for tag, _ in elements.texts} and elements.links == [] and "@import" not in page
    assert "url(" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
