"""What becomes of combinations: PC keeps them all, IC adds and subtracts them, TC charges them to what leaves first."""

from joinfold.operators.methods.ic import Incremental
from joinfold.operators.methods.method import Method
from joinfold.operators.methods.pc import Pipelined
from joinfold.operators.methods.tc import TimeCarrying

METHODS: dict[str, type[Method]] = {"pc": Pipelined, "ic": Incremental, "tc": TimeCarrying}
