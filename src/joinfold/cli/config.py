"""Defaults of options from a configuration file in TOML, and from environment variables.

    [run]
    query = "alarms.sql"
    checkpoint = "state"
    stream = { temperature = "building/temperature", smoke = "building/smoke" }

The file has a table per command, with the names of its options. The variable of an option is such as
JOINFOLD_RUN_CHECKPOINT. An option on the command line comes before its variable, this before the file, and the file
before the default. An option that can be repeated is an array of texts, or, if it takes NAME=VALUE, a table; in a
variable a semicolon is between two values.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from joinfold.errors import UsageError, suggestion

USUAL = Path("joinfold.toml")
PREFIX = "JOINFOLD"
SEPARATOR = ";"

Defaults = dict[str, dict[str, Any]]
"""By the name of a command, and of its parameter."""


def defaults_of(commands: Mapping[str, Any], environment: Mapping[str, str], path: Path | None) -> Defaults:
    """The defaults of every command: from the environment, or else from the file."""
    written = {} if path is None else _written(path, commands)
    return {name: written.get(name, {}) | _variables(name, command, environment) for name, command in commands.items()}


def _variables(name: str, command: Any, environment: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for option, parameter in _parameters(command).items():
        text = environment.get(f"{PREFIX}_{name}_{option}".upper().replace("-", "_"))
        if text:
            parts = [part.strip() for part in text.split(SEPARATOR) if part.strip()]
            found[parameter.name] = parts if _is_list(parameter) else text
    return found


def _written(path: Path, commands: Mapping[str, Any]) -> Defaults:
    """What the file says; raises `UsageError` for what no option takes."""
    defaults: Defaults = {}
    for name, options in _read(path).items():
        if name not in commands:
            raise _unknown(path, f"a command '{name}'", name, commands, "the commands are")
        if not isinstance(options, dict):
            hint = f"write [{name}], and its options below it."
            raise UsageError(f"'{name}' in the configuration '{path}' is not a table", hint)
        known = _parameters(commands[name])
        for option in options:
            if option not in known:
                raise _unknown(path, f"'{option}' for {name}", option, known, f"{name} takes")
        values = {option: _value(path, option, value, known[option]) for option, value in options.items()}
        defaults[name] = {known[option].name: value for option, value in values.items()}
    return defaults


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = f"give --config a file, or leave it out to read '{USUAL}' if there is one."
        raise UsageError(f"cannot read the configuration '{path}': {error.strerror}", hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the configuration '{path}' is not text in UTF-8", "save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        hint = 'write a line such as checkpoint = "state" below a line such as [run].'
        raise UsageError(f"the configuration '{path}' is not TOML: {error}", hint) from error


def _parameters(command: Any) -> dict[str, Any]:
    """The options of a command by their names without dashes, and its arguments."""
    named = {max(parameter.opts, key=len).removeprefix("--"): parameter for parameter in command.params}
    return {name: parameter for name, parameter in named.items() if name != "help"}


def _is_list(parameter: Any) -> bool:
    return bool(getattr(parameter, "multiple", False))


def _value(path: Path, option: str, value: Any, parameter: Any) -> Any:
    """A value as the command takes it."""
    if _is_list(parameter):
        if isinstance(value, dict):
            return [f"{name}={own}" for name, own in value.items()]
        return [str(own) for own in value] if isinstance(value, list) else [str(value)]
    if isinstance(value, dict | list):
        raise UsageError(f"'{option}' in the configuration '{path}' has several values", "it takes one: write one.")
    return value


def _unknown(path: Path, what: str, name: str, exists: Mapping[str, Any], has: str) -> UsageError:
    near = suggestion(name, exists)
    hint = f"did you mean '{near}'? {has[0].upper()}{has[1:]}" if near else has
    return UsageError(f"the configuration '{path}' has {what}, which does not exist", f"{hint}: {', '.join(exists)}.")
