"""What a suite is: a name, a line of help, what options mean to it, how it is run, and where its figures go."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

from joinfold.errors import UsageError
from joinfold_bench.environment import Say
from joinfold_bench.reporting.results import Results

HELP_COLUMN = 14


@dataclass(frozen=True, slots=True)
class Options:
    """What may be asked of a suite; where nothing is, it does what it usually does."""

    full: bool = False
    repeats: int | None = None
    cap: float | None = None
    seconds: int | None = None

    @property
    def given(self) -> list[str]:
        """The options that something was asked for by."""
        return [item.name for item in fields(self) if getattr(self, item.name) != item.default]


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite; ``options`` are those that it understands, each with what it means here."""

    name: str
    help: str
    options: Mapping[str, str]
    run: Callable[[Options, Say], Results]
    file: str

    def __post_init__(self) -> None:
        assert set(self.options) <= {item.name for item in fields(Options)}

    def check(self, options: Options) -> None:
        """Refuses an option that means nothing here."""
        for name in options.given:
            if name not in self.options:
                hint = f"it takes {', '.join(f'--{known}' for known in self.options)}."
                raise UsageError(f"the suite '{self.name}' has no --{name}", hint)

    def described(self) -> Iterator[str]:
        """Lines that say what it measures, and what may be asked of it."""
        yield f"{self.name:<{HELP_COLUMN}}{self.help}"
        for name, meaning in self.options.items():
            yield f"  {f'--{name}':<{HELP_COLUMN - 2}}{meaning}"
