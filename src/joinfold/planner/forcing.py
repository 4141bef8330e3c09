"""Forced plans: `Plan` from Python, OPTION in SQL, ``--plan`` on the command line.

What is not given is chosen as usual. A plan that cannot run is refused, and the message says what can.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import get_args

from joinfold.errors import QueryError, UsageError, suggestion
from joinfold.kernels.structures import STRUCTURES
from joinfold.logical.expressions import Value
from joinfold.notebook import facts, fragment, heading, paragraphs
from joinfold.physical.choice import (
    HASH,
    SUMS,
    TREE,
    FoldChoice,
    Index,
    MethodName,
    WindowKind,
    can_fuse,
    can_sum,
    finding_index,
    usual_choice,
)
from joinfold.physical.probe_order import steps_from
from joinfold.physical.stage import Body, JoiningStage, is_plain
from joinfold.physical.timing import ByWindowId, Timing
from joinfold.planner.chaining import in_chain, needs_chain, usual_root
from joinfold.planner.declaring import Declared, checked_count, checked_rate
from joinfold.planner.planned_query import PlannedQuery

METHOD_NAMES: tuple[str, ...] = get_args(MethodName)
INDEXES = (*STRUCTURES, SUMS.structure)
SMALLEST, LARGEST = 4, 2**20
SHARED = ("pairs", "nothing")
SWITCH = ("on", "off")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_INDEX = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*$")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to force: a method, the inputs that are aggregated early, an index for inputs, the order of probing.

    In a join over different keys also the ``root``, the input that is joined last. In a plain join under SYNC ON WINDOW
    ID also what result windows ``share``: 'pairs' of sub-windows, or 'nothing'.

    The other parameters force nothing. ``rate`` (rows per second), ``keys`` and ``groups`` (how many different ones)
    declare what is known about inputs. ``adapt='off'`` keeps a running query to its plan.

    ``jf.Plan(method="tc", early=("a",), index={"a": "hash", "b": "btree(order=50)"})``
    """

    method: str | None = None
    early: tuple[str, ...] | None = None
    index: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    root: str | None = None
    share: str | None = None
    rate: Mapping[str, float] = field(default_factory=dict)
    keys: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, float] = field(default_factory=dict)
    adapt: str | None = None

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in METHOD_NAMES:
            raise UsageError(f"unknown method '{self.method}'", f"the methods are: {', '.join(METHOD_NAMES)}.")
        for name, aliases in (("early", self.early), ("order", self.order)):
            if isinstance(aliases, str):
                raise UsageError(
                    f"{name} must be a tuple of inputs, not a string",
                    f"write {name}={tuple(own.strip() for own in aliases.split(','))!r}.",
                )
            if aliases is not None and not isinstance(aliases, Sequence):
                raise UsageError(f"{name} must be a tuple of inputs, not {aliases!r}", f"write {name}=('a',).")
        if not isinstance(self.index, Mapping):
            raise UsageError("index must be a mapping from inputs to indexes", "write index={'a': 'hash'}.")
        for alias, text in self.index.items():
            if not isinstance(text, str):
                raise UsageError(f"the index of '{alias}' cannot be {text!r}", "write index={'a': 'hash'}.")
            _index(text)
        if self.root is not None and not isinstance(self.root, str):
            raise UsageError("root must be the alias of an input", "write root='a'.")
        if self.share not in (None, *SHARED):
            raise UsageError(f"result windows cannot share '{self.share}'", f"they can share: {', '.join(SHARED)}.")
        for name, numbers in (("rate", self.rate), ("keys", self.keys), ("groups", self.groups)):
            if not isinstance(numbers, Mapping):
                raise UsageError(f"{name} must be a mapping from inputs to numbers", f"write {name}={{'a': 1000}}.")
            for alias, number in numbers.items():
                (checked_rate if name == "rate" else checked_count)(number, f"the {name} of '{alias}'")
        if self.adapt not in (None, *SWITCH):
            raise UsageError(f"adapt cannot be '{self.adapt}'", f"it can be: {', '.join(SWITCH)}.")

    def _repr_html_(self) -> str:
        """What is forced and declared, as HTML for a notebook."""
        given = {own.name: _shown(value) for own in fields(self) if (value := getattr(self, own.name))}
        return fragment(heading("Plan"), facts(given) if given else paragraphs(["Nothing is forced or declared."]))

    @property
    def forces(self) -> bool:
        """Whether anything is forced. Declared numbers and ``adapt`` force nothing."""
        return replace(self, rate={}, keys={}, groups={}, adapt=None) != Plan()

    @property
    def inputs_named(self) -> tuple[str, ...]:
        """All inputs that the plan names, except the root."""
        return (*(self.early or ()), *self.index, *(self.order or ()), *self.rate, *self.keys, *self.groups)

    def declared(self, alias: str) -> Declared:
        """What the plan declares about an input."""
        return Declared(self.rate.get(alias), self.keys.get(alias), self.groups.get(alias))

    @staticmethod
    def of(settings: Mapping[str, Value]) -> "Plan":
        """A plan from the settings of OPTION, such as early = 'a, b', index = 'a hash, b btree', rate = 'a 50'."""
        given: dict[str, object] = {}
        for name, value in settings.items():
            if name not in _READERS:
                near = suggestion(name, _READERS)
                hint = f"did you mean '{near}'? " if near else ""
                raise UsageError(f"unknown option '{name}'", f"{hint}The options are: {', '.join(_READERS)}.")
            if name == "adapt" and isinstance(value, bool):
                value = "on" if value else "off"
            if not isinstance(value, str):
                raise UsageError(f"option '{name}' must be a string, not {value!r}", f"write {name} = '…'.")
            given[name] = _READERS[name](value)
        return Plan(**given)  # type: ignore[arg-type]

    @staticmethod
    def given(plan: "Plan | Mapping[str, object] | str | None") -> "Plan | None":
        """A plan as a user gives it: itself, its arguments as a dict, or the text of --plan."""
        if plan is None or isinstance(plan, Plan):
            return plan
        if isinstance(plan, str):
            return Plan.parse(plan)
        if not isinstance(plan, Mapping):
            raise UsageError(f"a plan cannot be {plan!r}", "give a jf.Plan(method='tc'), or a dict of its arguments.")
        for name in plan:
            if name not in _READERS:
                near = suggestion(str(name), _READERS)
                hint = f"did you mean '{near}'? " if near else ""
                raise UsageError(f"a plan has no '{name}'", f"{hint}It has: {', '.join(_READERS)}.")
        return Plan(**plan)  # type: ignore[arg-type]

    @staticmethod
    def wanted(options: Iterable[tuple[str, Value]], forced: "Plan | None") -> "Plan":
        """The plan of OPTION, overridden by what is ``forced`` from Python or the command line."""
        written = Plan.of(dict(options))
        return written if forced is None else forced.over(written)

    @staticmethod
    def parse(text: str) -> "Plan":
        """A plan from the text of --plan, such as 'method=tc; early=a; index=a hash, b btree'."""
        settings: dict[str, Value] = {}
        for part in filter(str.strip, text.split(";")):
            name, equals, value = part.partition("=")
            if not equals or not value.strip():
                raise UsageError(f"'{part.strip()}' is not of the form name=value", "write 'method=tc; index=a hash'.")
            name = name.strip().lower()
            if name in settings:
                raise UsageError(f"option '{name}' is given twice", "give each option once.")
            settings[name] = value.strip()
        return Plan.of(settings)

    def over(self, other: "Plan") -> "Plan":
        """This plan, with what it leaves open taken from another."""
        return Plan(
            self.method or other.method,
            other.early if self.early is None else self.early,
            {**other.index, **self.index},
            self.order or other.order,
            self.root or other.root,
            self.share or other.share,
            {**other.rate, **self.rate},
            {**other.keys, **self.keys},
            {**other.groups, **self.groups},
            self.adapt or other.adapt,
        )


def _shown(value: str | tuple[str, ...] | Mapping[str, object]) -> str:
    """A setting of a plan, written as OPTION writes it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{alias} {own}" for alias, own in value.items())
    return value if isinstance(value, str) else ", ".join(value)


def refuse_inputs(plan: PlannedQuery, wanted: Plan) -> None:
    """Refuses a plan that names an unknown input, or a relation."""
    aliases = plan.timing.names
    for alias in wanted.inputs_named:
        if alias in aliases:
            continue
        if any(input_.alias == alias for input_ in plan.query.inputs):
            hint = f"relations are joined before the plan begins; the inputs with a window are: {', '.join(aliases)}."
            raise QueryError(f"the plan names '{alias}', which is a relation", hint=hint)
        raise QueryError(f"the plan names an unknown input '{alias}'", hint=f"the inputs are: {', '.join(aliases)}.")


def as_asked(plan: PlannedQuery, wanted: Plan) -> PlannedQuery:
    """The forced plan, with what is left open chosen as usual; raises `QueryError` for a plan that cannot run.

    A join over different keys is a chain of folds, unless something is forced that only one fold of all inputs has.
    """
    refuse_inputs(plan, wanted)
    aliases, stage = plan.timing.names, plan.answering
    is_chain = needs_chain(stage) and not replace(wanted, root=None).forces
    if wanted.root is not None:
        _refuse_root(aliases, wanted.root, is_chain)
    if not is_chain:
        return replace(plan, choices=(*plan.choices[:-1], _choice(stage, plan.timing, wanted)))
    return in_chain(plan, usual_root(stage.body, plan.timing) if wanted.root is None else aliases.index(wanted.root))


def _refuse_root(aliases: Sequence[str], root: str, is_chain: bool) -> None:
    if root not in aliases:
        raise QueryError(f"the plan names an unknown input '{root}'", hint=f"the inputs are: {', '.join(aliases)}.")
    if not is_chain:
        hint = "leave out the root. A forced method, early, index or order also excludes it."
        raise QueryError("only a join over different keys, without a cycle, has a root", hint=hint)


def _choice(stage: JoiningStage, timing: Timing, wanted: Plan) -> FoldChoice:
    """The choice for one stage of all inputs; refuses what the stage cannot do."""
    usual = usual_choice(stage)
    if not wanted.forces:
        return usual
    body = stage.body
    if wanted.share is not None and not (is_plain(stage) and isinstance(timing.rule, ByWindowId)):
        raise QueryError("only a plain join under SYNC ON WINDOW ID can share pairs", hint="leave out share.")
    if is_plain(stage) and (wanted.method or wanted.early is not None):
        raise QueryError("a plain join has nothing to aggregate", hint="only index and order can be chosen for it.")
    if wanted.method == "ic" and body.extremes:
        hint = "TC and PC can. Without a forced method, each aggregate gets one that can."
        raise QueryError("IC cannot maintain a MIN or MAX", hint=hint)
    if wanted.method in ("tc", "pc") and body.is_open_ended:
        hint = "IC does not need to know. Leave out the method, or use windows that do not count rows."
        raise QueryError(
            f"{wanted.method.upper()} must know when rows leave, and windows that count rows cannot tell", hint=hint
        )
    if wanted.early and body.is_open_ended and body.extremes:
        hint = "write early = none, or use windows that do not count rows."
        raise QueryError(
            "where windows count rows, MIN and MAX need every row, so nothing can be aggregated early", hint=hint
        )
    early = usual.early if wanted.early is None else _early(body, timing.names, wanted.early)
    order = _order(body, timing.names, wanted.order)
    choice = FoldChoice(wanted.method or "ic", early, (), order)  # type: ignore[arg-type]
    indexes = _indexes(stage, timing.names, wanted, choice)
    fused = can_fuse(stage) and choice.method == "ic" and early == usual.early and set(indexes) == {HASH}
    windows: WindowKind = "sets" if fused else "sums" if SUMS in indexes else "structures"
    return replace(choice, indexes=indexes, windows=windows, shares=wanted.share != "nothing")


def _early(body: Body, aliases: Sequence[str], early: tuple[str, ...]) -> frozenset[int]:
    constant = range(len(aliases), len(body.inputs))
    return frozenset((*(aliases.index(alias) for alias in early), *constant))


def _order(body: Body, aliases: Sequence[str], order: tuple[str, ...] | None) -> tuple[int, ...]:
    first = [aliases.index(alias) for alias in order or ()]
    return (*first, *(ordinal for ordinal in range(len(body.inputs)) if ordinal not in first))


def _indexes(stage: JoiningStage, aliases: Sequence[str], wanted: Plan, choice: FoldChoice) -> tuple[Index, ...]:
    forced = {aliases.index(alias): _index(text) for alias, text in wanted.index.items()}
    body, ordinals = stage.body, range(len(stage.body.inputs))
    summed = can_sum(stage) and choice.method == "ic" and choice.early == frozenset(ordinals)
    if SUMS in forced.values():
        if not summed or set(forced.values()) != {SUMS}:
            raise QueryError(
                "sums over ranges need two inputs, one inequality or band, no other condition or value over both, sums "
                "that do not round, IC and early aggregation, and no other index beside them",
                hint=f"use one of: {', '.join(STRUCTURES)}; hash only where there is an equality.",
            )
        return (SUMS,) * len(ordinals)
    if summed and not forced:
        return (SUMS,) * len(ordinals)
    steps = [step for first in ordinals for step in steps_from(body, choice.order, first)]
    keyless = {step.ordinal for step in steps if not step.classes and step.ordinal < len(aliases)}
    for ordinal in sorted(keyless & forced.keys()):
        if STRUCTURES[forced[ordinal].structure].needs_key:
            keyless_structures = [name for name, kind in STRUCTURES.items() if not kind.needs_key]
            raise QueryError(
                f"{forced[ordinal].structure} finds equal keys only, and '{aliases[ordinal]}' is probed without a key",
                hint=f"use one of: {', '.join(keyless_structures)}.",
            )
    return tuple(forced.get(ordinal, TREE if ordinal in keyless else finding_index(body)) for ordinal in ordinals)


def _index(text: str) -> Index:
    """An index from its text, such as 'hash' or 'hash(buckets=20)'."""
    found = _INDEX.match(text)
    name = found.group(1).lower() if found else text
    if not found or name not in INDEXES:
        raise UsageError(f"unknown index '{name}'", f"the indexes are: {', '.join(INDEXES)}.")
    parameters = []
    for part in filter(str.strip, (found.group(2) or "").split(",")):
        key, _, value = (word.strip() for word in part.partition("="))
        if not re.fullmatch("[0-9]+", value):
            raise UsageError(f"'{part.strip()}' is not a parameter of {name}", f"write {name}(name=number).")
        parameters.append((key, int(value)))
    index = Index(name, tuple(parameters))
    if parameters:
        known = STRUCTURES[name].parameters if name in STRUCTURES else ()
        for key, number in parameters:
            if key not in known or not SMALLEST <= number <= LARGEST:
                hint = f"it has: {', '.join(known)}, each from {SMALLEST} to {LARGEST}." if known else "it has none."
                raise UsageError(f"{name} has no parameter {key}={number}", hint)
    return index


def _words(text: str) -> tuple[str, ...]:
    return () if text.strip().lower() == "none" else tuple(word.strip() for word in text.split(",") if word.strip())


def _index_words(text: str) -> dict[str, str]:
    found = {}
    for part in re.split(r",(?![^()]*\))", text):
        alias, _, index = part.strip().partition(" ")
        if not index.strip():
            raise UsageError(f"'{part.strip()}' is not an input and an index", "write index = 'a hash, b btree'.")
        if alias in found:
            raise UsageError(f"input '{alias}' is given two indexes", "give it one.")
        found[alias] = index.strip()
    return found


def _number_words(name: str) -> Callable[[str], dict[str, float]]:
    """A reader of a number for each input, such as 'a 2000, b 10'."""

    def read(text: str) -> dict[str, float]:
        found: dict[str, float] = {}
        for part in text.split(","):
            alias, _, number = part.strip().rpartition(" ")
            if not alias or not _NUMBER.fullmatch(number):
                raise UsageError(f"'{part.strip()}' is not an input and a number", f"write {name} = 'a 2000, b 10'.")
            if alias.strip() in found:
                raise UsageError(f"input '{alias.strip()}' is given two numbers by {name}", "give it one.")
            found[alias.strip()] = float(number)
        return found

    return read


_READERS: dict[str, Callable[[str], object]] = {
    "method": str.lower,
    "early": _words,
    "index": _index_words,
    "order": _words,
    "root": str.strip,
    "share": str.lower,
    "rate": _number_words("rate"),
    "keys": _number_words("keys"),
    "groups": _number_words("groups"),
    "adapt": str.lower,
}
