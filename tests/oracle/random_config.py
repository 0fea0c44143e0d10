"""Random configurations that PAMS accepts, made from an integer: `generate(number)`.

    python random_config.py --count 300 [--first 0] [--seed 1]

runs the configurations under PAMS and prints how many of them had which effect (a halt, a bound order, …). A
configuration depends on its number alone. About one in five has volatilities or drifts, where equality with PAMS is
asked to 1e-12 only (`exact` is false); the others must be equal to the last digit.

This file makes names, markets and sessions; `random_blocks.py` makes agents and events.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import dataclass
from typing import Any

import compare
import random_blocks
from random_blocks import Block, Market, Note, chance, notes


@dataclass(frozen=True)
class Config:
    """A configuration: its JSON text, and whether a run must equal PAMS to the last digit."""

    name: str
    text: str
    exact: bool


def generate(number: int) -> Config:
    """The configuration with this number."""
    maker = _Maker(random.Random(f"config {number}"))
    text = json.dumps(maker.settings(), indent=1, ensure_ascii=number % 2 == 0)
    return Config(f"random-{number:05}", text, compare.is_exact(text))


class _Maker:
    """Makes one configuration; the fields are what its parts have to agree on."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.moves = chance(draw, 0.2)
        self.base_price = draw.choice([300.0, 300.0, 300.0, 100.0, 1000.0, 87.65])
        self.blocks: Block = {}
        self.groups: dict[str, list[Market]] = {}
        # Arbitrageurs refuse components of different size, so unequal shares are the exception.
        self.equal_shares = chance(draw, 0.7)

    @property
    def markets(self) -> list[Market]:
        return [market for members in self.groups.values() for market in members]

    def settings(self) -> Block:
        draw = self.draw
        for _ in range(draw.choice([1, 1, 1, 2, 2, 3])):
            self._spot_group()
        with_shares = [market for market in self.markets if market.shares is not None]
        if with_shares and chance(draw, 0.45):
            self._index_group(with_shares)
            if chance(draw, 0.4):
                self._index_group([market for market in self.markets if market.shares is not None])
        agents = random_blocks.agent_groups(draw, self.groups, self.base_price, self.equal_shares)
        sessions, lengths = self._sessions()
        events = random_blocks.events(draw, self.markets, lengths)
        for session, names in zip(sessions, events.listed):
            if names or chance(draw, 0.1):
                session["events"] = names
        simulation: Block = {
            "markets": list(self.groups),
            "agents": list(agents.names),
            "sessions": sessions,
            **notes(draw, 0.05),
        }
        if chance(draw, 0.05):
            simulation["numParallel"] = draw.randint(1, 4)
        correlations = self._correlations()
        if correlations:
            simulation["fundamentalCorrelations"] = {"pairwise": correlations}
        blocks = list({**self.blocks, **agents.blocks, **events.blocks}.items())
        draw.shuffle(blocks)
        return {**notes(draw, 0.3), "simulation": simulation, **dict(blocks)}

    def _spot_group(self) -> None:
        draw = self.draw
        number = len(self.groups)
        block: Block = {
            "class": "ExtendedMarket" if chance(draw, 0.25) else "Market",
            **notes(draw, 0.1),
            "tickSize": draw.choice([1e-5, 1e-5, 0.01, 0.1, 0.1, 0.3, 1.0, 1, 2.5] + [10.0] * (self.base_price >= 300)),
        }
        if chance(draw, 0.03):
            block = {Note("tickSize"): 123.0, **block}  # given twice: the last one counts
        price = self.base_price * (1.0 if chance(draw, 0.6) else draw.uniform(0.98, 1.02))
        if chance(draw, 0.85):
            block["marketPrice"] = int(price) if chance(draw, 0.1) else price
        if "marketPrice" not in block or chance(draw, 0.3):
            block["fundamentalPrice"] = price * draw.uniform(0.97, 1.03)
        if self.moves and chance(draw, 0.8):
            block["fundamentalVolatility"] = draw.uniform(0.0005, 0.02)
        elif chance(draw, 0.1):
            block["fundamentalVolatility"] = 0.0
        if self.moves and chance(draw, 0.3):
            block["fundamentalDrift"] = draw.uniform(-0.001, 0.001)
        shares = None
        if chance(draw, 0.75):
            shares = 25000 if self.equal_shares else draw.randint(1, 30000)
            block["outstandingShares"] = shares
        if block["class"] == "ExtendedMarket" and chance(draw, 0.9):
            block["tradeVolume"] = draw.randint(0, 100)
        self._add_group(f"Spot{number}", block, draw.choice([1, 1, 1, 2, 2, 3, 4]), shares)

    def _index_group(self, possible: list[Market]) -> None:
        draw = self.draw
        members = draw.sample(possible, draw.randint(1, min(5, len(possible))))
        if chance(draw, 0.5):
            members = possible[:5]
        block: Block = {
            "class": "IndexMarket",
            "tickSize": draw.choice([1e-5, 0.01, 0.1, 1.0]),
            "marketPrice": self.base_price * draw.uniform(0.97, 1.03),
            "markets": [market.name for market in members],
            **notes(draw, 0.1),
        }
        if chance(draw, 0.15):
            block["fundamentalPrice"] = self.base_price * draw.uniform(0.9, 1.1)
            if chance(draw, 0.5):
                del block["marketPrice"]
        if chance(draw, 0.1):
            block["requires"] = block["markets"]
        shares = None
        if chance(draw, 0.7):
            shares = 25000 if self.equal_shares else draw.randint(1, 30000)
            block["outstandingShares"] = shares
        components = tuple(market.name for market in members)
        self._add_group(f"Index{len(self.groups)}", block, draw.choice([1, 1, 1, 1, 2]), shares, components)

    def _add_group(
        self, name: str, block: Block, count: int, shares: int | None, components: tuple[str, ...] = ()
    ) -> None:
        blocks, names = random_blocks.named(self.draw, name, block, count, "numMarkets")
        self.blocks.update(blocks)
        volatility = block.get("fundamentalVolatility", 0.0)
        self.groups[name] = [Market(each, shares, components, bool(volatility)) for each in names]

    def _sessions(self) -> tuple[list[Block], list[int]]:
        draw = self.draw
        total = draw.randint(20, 120) if chance(draw, 0.85) else draw.randint(120, 300)
        count = draw.choice([1, 2, 2, 2, 3, 3, 4, 5])
        cuts = sorted(draw.randint(0, total) for _ in range(count - 1))
        lengths = [end - start for start, end in zip([0, *cuts], [*cuts, total])]
        if chance(draw, 0.5) and count > 1:
            lengths[0] = min(lengths[0], 15)
        if chance(draw, 0.1):
            lengths.insert(draw.randint(0, count), 0)
            count += 1
        names: list[Any] = [draw.choice([position, f"session {position}", str(position)]) for position in range(count)]
        longest = lengths.index(max(lengths))
        return [self._session(names[i], lengths[i], i == 0, i == longest) for i in range(count)], lengths

    def _session(self, name: Any, length: int, first: bool, main: bool) -> Block:
        draw = self.draw
        session: Block = {
            "sessionName": name,
            "iterationSteps": length,
            "withOrderPlacement": main or chance(draw, 0.85),
            "withOrderExecution": chance(draw, 0.95 if main else 0.4 if first else 0.75),
            "withPrint": chance(draw, 0.5),
            **notes(draw, 0.1),
        }
        if main or chance(draw, 0.8):
            session["maxNormalOrders"] = draw.choice([1, 2, 3, 3, 5, 5, 8, 20] if main else [0, 1, 2, 5, 12])
        old_names = chance(draw, 0.2)
        if chance(draw, 0.7):
            key = "maxHifreqOrders" if old_names else "maxHighFrequencyOrders"
            session[key] = draw.choice([0, 1, 1, 2, 3, 5])
        if chance(draw, 0.5):
            key = "hifreqSubmitRate" if old_names else "highFrequencySubmitRate"
            session[key] = draw.choice([0.0, 0.3, 0.5, 0.9, 1.0, 1])
        return session

    def _correlations(self) -> list[list[Any]]:
        draw = self.draw
        moving = [market.name for market in self.markets if market.moves]
        if len(moving) < 2 or chance(draw, 0.3):
            return []
        pairs = []
        for position, first in enumerate(moving):
            for second in moving[position + 1 :]:
                if chance(draw, 0.5):
                    pair = draw.sample([first, second], 2)
                    # Small enough for any set of pairs to be positive definite.
                    limit = 0.95 if len(moving) == 2 else 0.9 / (len(moving) - 1)
                    pairs.append([*pair, draw.uniform(-limit, limit)])
        if pairs and chance(draw, 0.2):
            first, second, _ = pairs[0]
            pairs.append([second, first, 0.05])  # given twice, in the other order: the last one counts
        return pairs


def main() -> int:
    import coverage  # here, because it needs PAMS and the generator does not

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how many configurations (default 300)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default 0)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the runs (default 1)")
    parser.add_argument("--print", action="store_true", help="print the configurations instead of running them")
    arguments = parser.parse_args()
    configs = [generate(number) for number in range(arguments.first, arguments.first + arguments.count)]
    if arguments.print:
        print("\n".join(config.text for config in configs))
        return 0
    print(coverage.of_configs(configs, arguments.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
