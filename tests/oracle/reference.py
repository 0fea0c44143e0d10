"""Run one configuration with PAMS 0.3.0 and write its records as JSON lines.

    python reference.py CONFIG.json --seed 1 [--output FILE.jsonl]

The lines are the records of the project's own format (`tests/oracle/README.md`), in the order in which PAMS made its
log calls. PAMS is used as a library, through its public classes and the hooks that they offer to users.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any, Iterator

from pams.agents import Agent, FCNAgent
from pams.logs import Logger
from pams.market import Market
from pams.order import LIMIT_ORDER, MARKET_ORDER, Cancel, Order
from pams.runners import SequentialRunner

Record = dict[str, Any]


class RecordLogger(Logger):
    """Turns every log into a record at the moment of the call.

    PAMS's own logger keeps what is written in a list and hands it on later, while other logs are handed on at once.
    This one hands on everything at once, so that the records are in the order of the calls.
    """

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record] = []
        self.effects: Counter[str] = Counter()

    def write(self, log: Any) -> None:
        self.process([log])

    def bulk_write(self, logs: list[Any]) -> None:
        self.process(logs)

    def write_and_direct_process(self, log: Any) -> None:
        self.process([log])

    def bulk_write_and_direct_process(self, logs: list[Any]) -> None:
        self.process(logs)

    def process_order_log(self, log: Any) -> None:
        self.records.append(self._order("order", log.time, log))
        self.effects[f"orders of {type(self.simulator.id2agent[log.agent_id]).__name__}"] += 1
        self.effects[f"{self.records[-1]['kind']} orders"] += 1

    def process_cancel_log(self, log: Any) -> None:
        self.records.append(self._order("cancel", log.cancel_time, log))
        self.effects["cancels of something left" if log.volume else "cancels of nothing"] += 1

    def process_expiration_log(self, log: Any) -> None:
        self.records.append(self._order("expiration", log.time, log))
        self.effects[f"expirations of {type(self.simulator.id2agent[log.agent_id]).__name__}"] += 1

    def process_execution_log(self, log: Any) -> None:
        self.records.append(
            {
                "type": "execution",
                "time": log.time,
                "market": self._market(log.market_id),
                "buy_agent": self._agent(log.buy_agent_id),
                "sell_agent": self._agent(log.sell_agent_id),
                "buy_order_id": log.buy_order_id,
                "sell_order_id": log.sell_order_id,
                "price": float(log.price),
                "volume": log.volume,
            }
        )

        self.effects[f"executions in {type(self.simulator.id2market[log.market_id]).__name__}"] += 1

    def process_market_step_end_log(self, log: Any) -> None:
        time, market = log.market.get_time(), log.market
        self.effects["halted steps"] += log.session.with_order_execution and not market.is_running
        if time > 0 and market.get_fundamental_price() != market.get_fundamental_price(time - 1):
            self.effects[f"changed fundamentals of {type(market).__name__}"] += 1
        self.records.append(
            {
                "type": "step",
                "session": log.session.session_id,
                "time": time,
                "market": market.name,
                "market_price": float(market.get_market_price()),
                "fundamental_price": float(market.get_fundamental_price()),
            }
        )

    def process_simulation_begin_log(self, log: Any) -> None:
        self.records.append({"type": "simulation_begin", "time": _clock(log.simulator)})

    def process_simulation_end_log(self, log: Any) -> None:
        self.records.append({"type": "simulation_end", "time": _clock(log.simulator)})

    def process_session_begin_log(self, log: Any) -> None:
        self.records.append(self._session("session_begin", log))

    def process_session_end_log(self, log: Any) -> None:
        self.records.append(self._session("session_end", log))

    def _session(self, kind: str, log: Any) -> Record:
        session = log.session
        return {
            "type": kind,
            "session": session.session_id,
            "name": str(session.name),
            "time": _clock(log.simulator),
        }

    def _order(self, record_type: str, time: int, log: Any) -> Record:
        return {
            "type": record_type,
            "time": time,
            "market": self._market(log.market_id),
            "order_id": log.order_id,
            "agent": self._agent(log.agent_id),
            "side": "buy" if log.is_buy else "sell",
            "kind": "limit" if log.kind == LIMIT_ORDER else "market",
            "price": None if log.price is None else float(log.price),
            "volume": log.volume,
            "ttl": log.ttl,
        }

    def _market(self, market_id: int) -> str:
        return self.simulator.id2market[market_id].name

    def _agent(self, agent_id: int) -> str:
        return self.simulator.id2agent[agent_id].name


def _clock(simulator: Any) -> int:
    """The time that all markets share; -1 when there are none, as before the first session."""
    return simulator.markets[0].get_time() if simulator.markets else -1


class ExtendedMarket(Market):
    """A market with one more key, the int `tradeVolume` (default 0): the executed volume that step 0 starts with.

    It is what the market-share samples need: agents that follow the volume find some at the beginning.
    """

    def setup(self, settings: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        super().setup(settings, *args, **kwargs)
        volume = settings.get("tradeVolume", 0)
        if isinstance(volume, bool) or not isinstance(volume, int):
            raise ValueError("tradeVolume must be an int")
        self._executed_volumes = [volume]


class UserDefinedFCNAgent(FCNAgent):
    """An `FCNAgent` under another name: it only shows that a caller's class can be registered."""


class CancelAgent(Agent):
    """A normal agent that places, cancels, and cancels again. It has no keys beyond those of every agent.

    It draws at setup what every agent draws (`cashAmount`, then `assetVolume` per market) and nothing else.

    It remembers, per market, its accepted orders in the order of acceptance. Fills and expirations do not change that
    memory. When a cancel is accepted whose order has an even id, it forgets that order (later ones move up by one);
    an order with an odd id may be cancelled again. Being asked never changes the memory.

    Asked for orders, it walks its accessible markets in the order of their ids. In each market it draws `u = random()`
    from its own generator, and then:

    1. `u < 0.3` and at least one remembered order in this market:
       a. `index = int(random() * remembered)`;
       b. it returns a cancel of the remembered order at that index.
    2. otherwise, `u < 0.8` (so also `u < 0.3` with nothing remembered): a limit order, drawn in this order:
       a. the side: `random() < 0.5` is buy, else sell;
       b. the price: `market price + (random() * 10 - 5)`, the market's current market price;
       c. the volume: `randint(1, 10)`;
       d. the time to live: `random() < 0.2` is none, and nothing more is drawn; else `randint(1, 30)`.
    3. otherwise, `u < 0.9`: a market order, drawn in this order:
       a. the side: `random() < 0.5` is buy, else sell;
       b. the volume: `randint(1, 5)`;
       c. the time to live: `randint(1, 10)`.
    4. otherwise nothing; no more is drawn.

    An order counts as remembered once it is accepted (in the accepted callback), not when it is returned. An
    order that a mistake shock rewrote is remembered like any other. `randint(a, b)` includes both ends.
    """

    def setup(self, settings: dict[str, Any], accessible_markets_ids: list[int], *args: Any, **kwargs: Any) -> None:
        super().setup(settings, accessible_markets_ids, *args, **kwargs)
        self._returned: list[Order] = []
        self._remembered: dict[int, list[Order]] = {}

    def submit_orders(self, markets: list[Market]) -> list[Order | Cancel]:
        instructions: list[Order | Cancel] = []
        for market in sorted(markets, key=lambda market: market.market_id):
            if self.is_market_accessible(market.market_id):
                instructions.extend(self._act(market))
        return instructions

    def submitted_order(self, log: Any) -> None:
        for position, order in enumerate(self._returned):
            if order.market_id == log.market_id and order.order_id == log.order_id:
                self._remembered.setdefault(log.market_id, []).append(order)
                del self._returned[position]
                return
        raise AssertionError(f"agent {self.name} never returned order {log.order_id} of market {log.market_id}")

    def canceled_order(self, log: Any) -> None:
        if log.order_id % 2 == 0:
            remembered = self._remembered[log.market_id]
            self._remembered[log.market_id] = [order for order in remembered if order.order_id != log.order_id]

    def _act(self, market: Market) -> Iterator[Order | Cancel]:
        draw = self.prng
        remembered = self._remembered.get(market.market_id, [])
        u = draw.random()
        if u < 0.3 and remembered:
            index = int(draw.random() * len(remembered))
            yield Cancel(order=remembered[index])
        elif u < 0.8:
            is_buy = draw.random() < 0.5
            price = market.get_market_price() + (draw.random() * 10 - 5)
            volume = draw.randint(1, 10)
            ttl = None if draw.random() < 0.2 else draw.randint(1, 30)
            yield self._order(market, is_buy, LIMIT_ORDER, volume, price, ttl)
        elif u < 0.9:
            is_buy = draw.random() < 0.5
            volume = draw.randint(1, 5)
            yield self._order(market, is_buy, MARKET_ORDER, volume, None, draw.randint(1, 10))

    def _order(
        self, market: Market, is_buy: bool, kind: Any, volume: int, price: float | None, ttl: int | None
    ) -> Order:
        order = Order(
            agent_id=self.agent_id,
            market_id=market.market_id,
            is_buy=is_buy,
            kind=kind,
            volume=volume,
            price=price,
            ttl=ttl,
        )
        self._returned.append(order)
        return order


USER_CLASSES = (ExtendedMarket, UserDefinedFCNAgent, CancelAgent)


@dataclass
class Run:
    """What a run gave: its records, and how often the things that a test may care about happened in it."""

    records: list[Record]
    effects: Counter[str]

    @property
    def failed(self) -> bool:
        """Whether PAMS ended the run with an error."""
        return self.records[-1]["type"] == "error"


def run(text: str, seed: int) -> Run:
    """Run the configuration `text` (JSON). The records have the accounts last.

    When PAMS raises an error, the records up to it are followed by one `{"type": "error", "message": …}`, and there
    are no accounts.
    """
    logger = RecordLogger()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(open(os.devnull, "w", encoding="utf-8")):
            warnings.simplefilter("ignore")
            runner = SequentialRunner(settings=json.loads(text), prng=random.Random(seed), logger=logger)
            for user_class in USER_CLASSES:
                runner.class_register(user_class)
            runner.main()
    except Exception as error:  # noqa: BLE001 - whatever PAMS raises is its answer
        message = f"{type(error).__name__}: {error}"
        return Run([*logger.records, {"type": "error", "message": message}], logger.effects)
    for event in runner.simulator.events:
        name = type(event).__name__
        logger.effects[f"activations of {name}"] += getattr(event, "activation_count", 0)
        logger.effects[f"activations of {name}"] += getattr(event, "triggerd", False)
    return Run([*logger.records, *_accounts(runner.simulator)], +logger.effects)


def _accounts(simulator: Any) -> Iterator[Record]:
    for agent in simulator.agents:
        assets = {
            market.name: agent.get_asset_volume(market.market_id)
            for market in simulator.markets
            if agent.is_market_accessible(market.market_id)
        }
        yield {"type": "account", "agent": agent.name, "cash": float(agent.get_cash_amount()), "assets": assets}


def is_only_ours(text: str) -> bool:
    """Whether a configuration has agents that PAMS does not have."""
    return '"CandleAgent"' in text


def to_line(record: Record) -> str:
    """One record as a line of JSON; floats as their shortest decimal that reads back the same."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="a JSON configuration")
    parser.add_argument("--seed", type=int, required=True, help="seed of the runner's random.Random")
    parser.add_argument("--output", help="where to write the lines (default: standard output)")
    arguments = parser.parse_args()
    with open(arguments.config, encoding="utf-8") as file:
        result = run(file.read(), arguments.seed)
    lines = "".join(to_line(record) + "\n" for record in result.records)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(lines)
    else:
        sys.stdout.write(lines)
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
