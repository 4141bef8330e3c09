"""A store of chunks in memory."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Memory:
    """A map with the methods of Spark's."""

    held: dict[Any, Any] = field(default_factory=dict)

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.held[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.held[key]
