"""Golden files of cases: what is wrong, its text, and exactly what a user sees.

    == what is wrong
    the text, as many lines as it takes
    --
    exactly what is reported

To add a case, write its first three parts and run its test with `REGENERATE=1`. Then read the report as a user would.
"""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("REGENERATE"))


@dataclass(frozen=True)
class Case:
    path: Path
    title: str
    text: str
    report: str

    def __str__(self) -> str:
        text = self.text + "\n" if self.text else ""
        return f"== {self.title}\n{text}--\n{self.report}\n"

    @property
    def id(self) -> str:
        return f"{self.path.name}: {self.title}"

    def check(self, report: str) -> None:
        """Compares with the golden report, or puts another one into the file."""
        if not REGENERATE:
            assert report == self.report
            return
        head, cases = read_cases(self.path)
        updated = [replace(case, report=report) if case.title == self.title else case for case in cases]
        self.path.write_text(head + "\n".join(map(str, updated)), encoding="utf-8")


def read_cases(path: Path) -> tuple[str, list[Case]]:
    """The comment at the top of a golden file, and its cases."""
    head, *sections = re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    cases = []
    for section in sections:
        title, rest = section.split("\n", 1)
        text, report = re.split(r"^--\n", rest, maxsplit=1, flags=re.MULTILINE)
        cases.append(Case(path, title, text.removesuffix("\n"), report.rstrip("\n")))
    return head, cases


def cases_in(folder: str, *names: str) -> list[Case]:
    """The cases of some golden files of a folder, or of all."""
    paths = [GOLDEN / folder / name for name in names] or sorted((GOLDEN / folder).glob("*.txt"))
    return [case for path in paths for case in read_cases(path)[1]]
