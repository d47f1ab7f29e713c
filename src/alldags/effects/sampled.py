"""How well chains over orders agree on one effect."""

from __future__ import annotations

from collections.abc import Iterator

from alldags.effects.total import TotalEffect
from alldags.models.order_block import OrderBlock
from alldags.orders.agreement import Agreement
from alldags.orders.sampled import PartitionBlock


def sampled_orders(total: TotalEffect) -> Iterator[tuple[OrderBlock, Agreement]]:
    """Yield the blocks whose order was sampled, and how well their chains agree on what this effect needs of them."""
    for block in total.order_blocks:
        if isinstance(block.posterior, PartitionBlock):
            start = block.start(total.span.places, total.reach)
            yield block, block.posterior.agreement(start, total.ahead(block))
