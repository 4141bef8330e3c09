"""The whole plan matrix, in shares that processes take one after another."""

import pytest

from tests.operators.matrix import check_share

SHARES = 64


@pytest.mark.deep
@pytest.mark.parametrize("share", range(SHARES))
def test_every_cell_of_the_matrix(share: int) -> None:
    cells, defined = check_share(share, SHARES)
    assert 0 < defined < cells
