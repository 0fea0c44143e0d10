"""The agent and event blocks of a random configuration, and the ways to name a group (see `random_config.py`)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Block = dict[str, Any]


class Note(str):
    """A key that a dict may hold more than once: JSON text may repeat keys, and a reader keeps the last."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True)
class Market:
    """What other blocks have to know of a market."""

    name: str
    shares: int | None
    components: tuple[str, ...]
    moves: bool


@dataclass
class Agents:
    """Blocks of agents, and the names of the groups in the order of the list."""

    names: list[str] = field(default_factory=list)
    blocks: Block = field(default_factory=dict)


@dataclass
class Events:
    """Blocks of events, and per session the names that it lists."""

    listed: list[list[str]]
    blocks: Block = field(default_factory=dict)


def chance(draw: random.Random, probability: float) -> bool:
    """True with this probability."""
    return draw.random() < probability


def notes(draw: random.Random, probability: float) -> Block:
    """With this probability one or two notes under the same key."""
    if not chance(draw, probability):
        return {}
    return {Note("MEMO"): f"a note, number {number}" for number in range(draw.randint(1, 2))}


def named(draw: random.Random, name: str, block: Block, count: int, count_key: str) -> tuple[Block, list[str]]:
    """Blocks that make `count` members of a group called `name`, in one of the ways to say so, and their names.

    A part of the keys may sit in templates that the block extends, by one or two steps.
    """
    block = dict(block)
    start = 0
    indexed = count != 1
    # By position: a count, or both ends, which are never inherited from a template.
    ends = chance(draw, 0.25)
    own: Block = {}
    if ends:
        start = draw.choice([0, 0, 1, 5])
        own = {"from": start, "to": start + count - 1}
        indexed = True
    elif count != 1 or chance(draw, 0.2):
        block[count_key] = count
    prefix = name + ("-" if count != 1 else "")
    if chance(draw, 0.2):
        prefix = draw.choice([f"{name}_", f"pre {name} ", f"{name}é"])
        block["prefix"] = prefix
    names = [f"{prefix}{start + position}" for position in range(count)] if indexed else [prefix]
    if not chance(draw, 0.3):
        return {name: {**block, **own}}, names
    keys = list(block)
    draw.shuffle(keys)
    cut = draw.randint(0, len(keys))
    parent = {key: block[key] for key in keys[:cut]}
    child = {"extends": f"{name}Base", **{key: block[key] for key in keys[cut:]}, **own}
    if chance(draw, 0.3):
        # A value that the child overrides, and a grandparent.
        grandparent = {**{key: parent[key] for key in keys[: cut // 2]}, "class": "Nothing", "tickSize": 77.0}
        parent = {"extends": f"{name}Root", **{key: parent[key] for key in keys[cut // 2 : cut]}}
        # What the grandparent says of these two must not win.
        for key in ("class", "tickSize"):
            if key in block and key not in parent and key not in child:
                child[key] = block[key]
        if "tickSize" not in block:
            del grandparent["tickSize"]
        return {f"{name}Root": grandparent, f"{name}Base": parent, name: child}, names
    return {f"{name}Base": parent, name: child}, names


def value(draw: random.Random, low: float, high: float, *, whole: bool = False) -> Any:
    """A number or a distribution with its values (mostly) between `low` and `high`, in any of the forms."""
    middle = (low + high) / 2
    kind = draw.choice(["number", "pair", "uniform", "const", "normal", "expon"])
    if kind == "number":
        return draw.randint(round(low), round(high)) if whole else draw.uniform(low, high)
    if kind in ("pair", "uniform"):
        ends = [low, high] if chance(draw, 0.8) else [high, low]
        if chance(draw, 0.05):
            ends = [middle, middle]
        return ends if kind == "pair" else {"uniform": ends}
    if kind == "const":
        return {"const": [round(middle) if whole else middle]}
    if kind == "normal":
        # Five sigmas away from 0: a negative weight would end the run.
        return {"normal": [middle, (middle if low >= 0 else high - low) / 6]}
    return {"expon": [middle]}


def agent_groups(draw: random.Random, groups: dict[str, list[Market]], price: float, equal_shares: bool) -> Agents:
    """One to five groups of agents that can trade with each other in most markets."""
    agents = Agents()
    markets = [market for members in groups.values() for market in members]
    indices = [market for market in markets if market.components]
    everywhere = list(groups)
    kinds = [draw.choice(["FCNAgent", "FCNAgent", "UserDefinedFCNAgent", "MarketShareFCNAgent", "TestAgent"])]
    kinds += draw.choices(["FCNAgent", "MarketShareFCNAgent", "TestAgent"], k=draw.choice([0, 1, 1, 2]))
    if chance(draw, 0.32):
        kinds.append("CancelAgent")
    if chance(draw, 0.4):
        kinds.append("MarketMakerAgent")
    if indices and chance(draw, 0.8 if equal_shares else 0.04):
        kinds.append("ArbitrageAgent")
    draw.shuffle(kinds)
    for number, kind in enumerate(kinds):
        listed = draw.sample(everywhere, len(everywhere))
        if kind != "ArbitrageAgent" and number > 0 and chance(draw, 0.4):
            listed = listed[: draw.randint(1, len(listed))]
        block: Block = {
            "class": kind,
            "markets": listed,
            **notes(draw, 0.1),
            "cashAmount": value(draw, 5000, 20000),
            "assetVolume": value(draw, -5 if chance(draw, 0.2) else 0, 100),
        }
        accessible = [market.name for group in listed for market in groups[group]]
        block.update(_agent_keys(draw, kind, accessible, price))
        few = kind in ("MarketMakerAgent", "ArbitrageAgent")
        name = f"{kind}s{number}"
        blocks, _ = named(draw, name, block, draw.randint(1, 4) if few else draw.randint(2, 18), "numAgents")
        agents.blocks.update(blocks)
        agents.names.append(name)
    if chance(draw, 0.05):
        nobody = {"class": "TestAgent", "numAgents": 0, "markets": everywhere[:1], "cashAmount": 1, "assetVolume": 1}
        agents.blocks["Nobody"] = nobody
        agents.names.insert(draw.randint(0, len(agents.names)), "Nobody")
    return agents


def _agent_keys(draw: random.Random, kind: str, accessible: list[str], price: float) -> Block:
    if kind in ("TestAgent", "CancelAgent"):
        return {}
    if kind == "ArbitrageAgent":
        keys: Block = {"orderVolume": draw.randint(1, 3), "orderThresholdPrice": draw.choice([0.0, 0.5, 1.0, 1, 3.0])}
        if chance(draw, 0.5):
            keys["orderTimeLength"] = draw.randint(1, 5)
        return keys
    if kind == "MarketMakerAgent":
        keys = {"targetMarket": draw.choice(accessible), "netInterestSpread": value(draw, 0.0, 0.04)}
        if chance(draw, 0.7):
            keys["orderTimeLength"] = draw.randint(1, 6) if chance(draw, 0.5) else value(draw, 3, 8, whole=True)
            if isinstance(keys["orderTimeLength"], dict) and not {"uniform", "const"} & set(keys["orderTimeLength"]):
                keys["orderTimeLength"] = [2, 7]  # truncated to 0 it would end the run
        return keys
    keys = {
        "fundamentalWeight": value(draw, 0.1, 2.0),
        "chartWeight": {"expon": [0.0]} if chance(draw, 0.3) else value(draw, 0.0, 0.5),
        "noiseWeight": value(draw, 0.1, 2.0),
        "noiseScale": draw.choice([0.0005, 0.001, 0.005]) if chance(draw, 0.7) else value(draw, 0.0, 0.004),
        "timeWindowSize": value(draw, 5, 60, whole=True),
    }
    if chance(draw, 0.5):
        keys["meanReversionTime"] = value(draw, 10, 80, whole=True)
    if chance(draw, 0.35):
        keys["marginType"] = "normal"
        keys["orderMargin"] = value(draw, 0.0, price * 0.01)
    else:
        # At most 1 for certain: no distribution with a tail.
        high = draw.choice([0.01, 0.05, 0.1])
        keys["orderMargin"] = draw.choice([high / 2, [0.0, high], {"uniform": [high, 0.0]}, {"const": [high]}])
        if chance(draw, 0.3):
            keys["marginType"] = "fixed"
    if chance(draw, 0.03):
        keys.update(_fatal_keys(draw))
    return keys


def _fatal_keys(draw: random.Random) -> Block:
    """Values that end many a run by an error, at setup or in the middle."""
    return draw.choice(
        [
            {"fundamentalWeight": {"normal": [0.5, 0.5]}},
            {"fundamentalWeight": 0.0, "chartWeight": 0.0, "noiseWeight": {"const": [0]}},
            {"noiseScale": 20.0},
            {"timeWindowSize": {"normal": [10, 20]}},
            {"marginType": "normal", "orderMargin": [100.0, 1000.0]},
            {"meanReversionTime": 0},
        ]
    )


def events(draw: random.Random, markets: list[Market], lengths: list[int]) -> Events:
    """Event blocks for sessions of these lengths."""
    made = Events([[] for _ in lengths])
    spots = [market.name for market in markets if not market.components]
    names = [market.name for market in markets]
    free = draw.sample(names, len(names))  # markets that no halt rule has yet: sharing one is not supported
    for session, length in enumerate(lengths):
        for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
            kind = draw.choice(["FundamentalPriceShock", "OrderMistakeShock", "PriceLimitRule", "TradingHaltRule"])
            # Mostly inside the session, sometimes beyond it and perhaps beyond the end.
            trigger = draw.randint(0, max(length - 1, 0)) if chance(draw, 0.85) else length + draw.randint(0, 30)
            if kind == "TradingHaltRule":
                if not free:
                    continue
                targets = [free.pop() for _ in range(draw.randint(1, len(free)))]
                block = _halt(draw, targets)
            elif kind == "PriceLimitRule":
                block = {"targetMarkets": names, "triggerChangeRate": draw.choice([0.005, 0.013, 0.02, 0.05])}
                if chance(draw, 0.1):
                    block["referenceMarket"] = names[0]
            elif kind == "FundamentalPriceShock":
                block = {"target": draw.choice(spots), "triggerTime": trigger, "priceChangeRate": _rate(draw, 0.1)}
                if chance(draw, 0.5):
                    block["shockTimeLength"] = draw.randint(0, 4)
            else:
                block = _mistake(draw, names, trigger)
            name = f"{kind}-{len(made.blocks)}"
            block = {"class": kind, **notes(draw, 0.1), **block}
            if chance(draw, 0.3):
                block["enabled"] = chance(draw, 0.6)
            if chance(draw, 0.1):
                made.blocks[f"{name}Base"] = {"class": kind, "enabled": chance(draw, 0.5)}
                block = {"extends": f"{name}Base", "enabled": True, **block}
                del block["class"]
            made.blocks[name] = block
            made.listed[session].append(name)
            if kind != "TradingHaltRule" and chance(draw, 0.1):
                again = session if chance(draw, 0.5) else draw.randrange(len(lengths))
                made.listed[again].append(name)
    return made


def _rate(draw: random.Random, size: float) -> float:
    return draw.choice([-1, 1]) * draw.uniform(0.1, 1.0) * size


def _halt(draw: random.Random, targets: list[str]) -> Block:
    block: Block = {
        "targetMarkets": targets,
        "triggerChangeRate": draw.choice([0.002, 0.005, 0.01, 0.02]),
        "haltingTimeLength": draw.choice([0, 1, 2, 5, 10, 30]),
    }
    if chance(draw, 0.1):
        block["referenceMarket"] = targets[0]
    return block


def _mistake(draw: random.Random, names: list[str], trigger: int) -> Block:
    block: Block = {
        "target": draw.choice(names),
        "triggerTime": trigger,
        "priceChangeRate": 0.0 if chance(draw, 0.1) else _rate(draw, 0.1),
        "orderVolume": draw.choice([1, 7, 100, 10000]),
        "orderTimeLength": draw.choice([0, 1, 3, 20, 10000]),
    }
    if chance(draw, 0.1):
        block["agent"] = "whoever"
    return block
