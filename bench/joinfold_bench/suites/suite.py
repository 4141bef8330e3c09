"""A suite: its name, a line of help, its options, the function that runs it, and the file for its figures."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

from joinfold.errors import UsageError
from joinfold_bench.environment import Say
from joinfold_bench.reporting.results import Results

HELP_COLUMN = 14


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command. An option that is not given has the default of the suite."""

    full: bool = False
    repeats: int | None = None
    cap: float | None = None
    seconds: int | None = None
    variants: bool = False

    @property
    def given(self) -> list[str]:
        """The names of the options that were given."""
        return [item.name for item in fields(self) if getattr(self, item.name) != item.default]


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite. ``options`` has the options that it accepts, each with a line of help."""

    name: str
    help: str
    options: Mapping[str, str]
    run: Callable[[Options, Say], Results]
    file: str

    def __post_init__(self) -> None:
        assert set(self.options) <= {item.name for item in fields(Options)}

    def check(self, options: Options) -> None:
        """Refuses an option that the suite does not accept."""
        for name in options.given:
            if name not in self.options:
                hint = f"its options are {', '.join(f'--{known}' for known in self.options)}."
                raise UsageError(f"the suite '{self.name}' has no option --{name}", hint)

    def described(self) -> Iterator[str]:
        """The lines of help: what it measures, and its options."""
        yield f"{self.name:<{HELP_COLUMN}}{self.help}"
        for name, meaning in self.options.items():
            yield f"  {f'--{name}':<{HELP_COLUMN - 2}}{meaning}"
