"""Ask PAMS what it does in a small situation: scripted orders in, records and the markets' state out.

    python probe.py            # all situations
    python probe.py cancels    # one

A situation is a list of steps; a step is a list of instructions of the one agent, `Trader`:
`B 300x2 ttl3` (buy limit), `S 301x1` (sell limit), `BM x2`, `SM x1 ttl5` (market orders), `C 0` (cancel of the first
order that was returned), each optionally followed by `@1` for the second market. After each record the state is
printed: `market price / mid price / last executed price`, and at the end of a step what a step counts.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import reference
from pams.agents import Agent
from pams.order import LIMIT_ORDER, MARKET_ORDER, Cancel, Order
from pams.runners import SequentialRunner

INSTRUCTION = re.compile(
    r"(?:C (?P<cancel>\d+)"
    r"|(?P<side>[BS])(?:M x| (?P<price>[-\d.]+)x)(?P<volume>\d+)(?: ttl(?P<ttl>\d+))?)"
    r"(?: @(?P<market>\d))?"
)

script: list[list[str]] = []


class Trader(Agent):
    """Returns the instructions of the step."""

    def setup(self, settings: dict[str, Any], accessible_markets_ids: list[int], *args: Any, **kwargs: Any) -> None:
        super().setup(settings, accessible_markets_ids, *args, **kwargs)
        self.returned: list[Order] = []

    def submit_orders(self, markets: list[Any]) -> list[Order | Cancel]:
        time = markets[0].get_time()
        return [self._read(text) for text in (script[time] if time < len(script) else [])]

    def _read(self, text: str) -> Order | Cancel:
        match = INSTRUCTION.fullmatch(text)
        assert match, text
        if match["cancel"] is not None:
            return Cancel(order=self.returned[int(match["cancel"])])
        order = Order(
            agent_id=self.agent_id,
            market_id=int(match["market"] or 0),
            is_buy=match["side"] == "B",
            kind=LIMIT_ORDER if match["price"] else MARKET_ORDER,
            volume=int(match["volume"]),
            price=float(match["price"]) if match["price"] else None,
            ttl=int(match["ttl"]) if match["ttl"] else None,
        )
        self.returned.append(order)
        return order


class Printer(reference.RecordLogger):
    """Prints every record as it comes, with the state of its market then."""

    def process(self, logs: list[Any]) -> None:
        for log in logs:
            super().process([log])
            kind = type(log).__name__.removesuffix("Log")
            if kind in ("MarketStepBegin", "SimulationBegin"):
                continue
            record = {key: value for key, value in self.records[-1].items() if key != "agent"}
            market_id = getattr(log, "market_id", getattr(getattr(log, "market", None), "market_id", None))
            state = "" if market_id is None else _state(self.simulator.id2market[market_id], kind == "MarketStepEnd")
            print("   ", json.dumps(record).replace('"', ""), state)


def _state(market: Any, full: bool) -> str:
    def ask(getter: Any) -> Any:
        try:
            return getter()
        except Exception as error:  # noqa: BLE001 - an error is an answer here
            return type(error).__name__

    getters = [market.get_market_price, market.get_mid_price, market.get_last_executed_price]
    state = "| " + " / ".join(str(ask(getter)) for getter in getters)
    if full:
        counts = [market.get_n_buy_order(), market.get_n_sell_order(), market.get_executed_volume()]
        state += f" | buys, sells, volume {counts}, total {market.get_executed_total_price()}"
        state += f", vwap {ask(market.get_vwap)} | running {market.is_running}"
        state += f" | book {market.get_buy_order_book()} {market.get_sell_order_book()}"
    return state


def session(steps: int, execute: bool = True, place: bool = True, **more: Any) -> dict[str, Any]:
    """A session block; its name comes later."""
    flags = {"withOrderPlacement": place, "withOrderExecution": execute, "withPrint": False}
    return {"iterationSteps": steps, **flags, "maxNormalOrders": 5, **more}


def ask(title: str, steps: list[list[str]], sessions: list[dict[str, Any]], markets: int = 1, **blocks: Any) -> None:
    """Run a situation and print it. Markets `M0`, `M1` … start at 300 with tick 0.1; `blocks` change and add blocks."""
    global script
    script = steps
    print(f"== {title}")
    names = [f"M{number}" for number in range(markets)]
    settings: dict[str, Any] = {
        "simulation": {
            "markets": names,
            "agents": ["Trader"],
            "sessions": [{"sessionName": number, **each} for number, each in enumerate(sessions)],
        },
        "Trader": {"class": "Trader", "markets": names, "cashAmount": 1000, "assetVolume": 10},
        **{name: {"class": "Market", "tickSize": 0.1, "marketPrice": 300.0} for name in names},
    }
    for name, block in blocks.items():
        if name in settings:
            settings[name].update(block)
        else:
            settings[name] = block
    runner = SequentialRunner(settings=settings, logger=Printer())
    runner.class_register(Trader)
    try:
        runner._setup()
        runner._run()
    except Exception as error:  # noqa: BLE001 - an error is an answer here
        print(f"    {type(error).__name__}: {error}")
    for event in runner.simulator.events:
        print(f"    activations of {event.name}: {getattr(event, 'activation_count', getattr(event, 'triggerd', '-'))}")


def situations() -> dict[str, Any]:
    """Every situation by name."""
    halt = {"class": "TradingHaltRule", "targetMarkets": ["M0"], "triggerChangeRate": 0.05, "haltingTimeLength": 1}
    limit = {"class": "PriceLimitRule", "targetMarkets": ["M0"], "triggerChangeRate": 0.05}
    mistake = {"class": "OrderMistakeShock", "target": "M0", "triggerTime": 1, "priceChangeRate": -0.05}
    mistake |= {"orderVolume": 50, "orderTimeLength": 7}
    return {
        "expirations": lambda: ask(
            "several orders expire at one move; two markets",
            [
                ["B 299x1 ttl1", "S 310x1 ttl1", "B 299.5x1 ttl1", "B 298x2 ttl1", "S 305x1 ttl1", "B 290x1 ttl1 @1"],
                ["B 200x4"],
            ],
            [session(2), session(2, place=False)],
            markets=2,
        ),
        "expirations_by_age": lambda: ask(
            "orders of different steps expire at one move",
            [["B 290x1 ttl3"], ["B 295x1 ttl2"], ["B 292x1 ttl1"]],
            [session(6)],
        ),
        "cancels": lambda: ask(
            "cancel: resting, partly filled, filled, again, expired",
            [
                ["B 290x5 ttl9", "C 0", "C 0"],
                ["B 299x5 ttl9", "S 299x2", "C 1", "C 2", "C 1"],
                ["B 250x2 ttl1"],
                [],
                [],
                ["C 3"],
            ],
            [session(6)],
        ),
        "prices": lambda: ask(
            "prices: not running, then running without a fill, then fills",
            [["B 290x1", "S 320x1"], ["B 291x1"], ["B 295x1"], [], ["S 294x1"], ["S 310x1"], ["BM x1"]],
            [session(2, execute=False), session(6)],
        ),
        "prices_stop": lambda: ask(
            "prices: running, then not, then running",
            [["B 290x1", "S 290x1"], ["B 295x1", "S 305x1"], ["B 296x1", "S 300x1"], ["B 297x1"], []],
            [session(2), session(2, execute=False), session(2)],
        ),
        "halts": lambda: ask(
            "a pass of two fills halts once; the next threshold is twice as far",
            [
                ["B 285x1", "B 284x1"],
                ["S 280x2", "B 285x1", "S 285x1"],
                [],
                [],
                ["B 285x1", "S 285x1"],
                ["B 270x1", "S 270x1"],
            ],
            [session(9, events=["H"])],
            H=halt,
        ),
        "limits": lambda: ask(
            "price limit listed in the second session, market 1 not among its targets",
            [["B 400x1", "B 285x1", "S 315.04x1"], ["B 100x1 @1"], []],
            [session(1), session(2, events=["L"])],
            markets=2,
            L=limit,
        ),
        "reference_price": lambda: ask(
            "a fill at step 0 moves the price that limits refer to",
            [["B 310x1", "S 310x1", "B 400x1"], ["S 320x1", "B 400x1"], ["S 200x1"]],
            [session(3, events=["L"])],
            L=limit,
        ),
        "halt_reference_price": lambda: ask(
            "a fill at step 0 moves the price that halts refer to",
            [["B 310x1", "S 310x1"], ["B 294x1", "S 294x1"], []],
            [session(4, events=["H"])],
            H=halt,
        ),
        "own_reference_price": lambda: ask(
            "a fill far away at step 0 halts only if it is far from the price it has just made",
            [["B 200x1", "S 200x1"], ["B 190.1x1", "S 190.1x1"], ["B 190x1", "S 190x1"], []],
            [session(4, events=["H"])],
            H=halt,
        ),
        "silent": lambda: ask(
            "an agent that returns only a cancel counts as one that returned orders (maxNormalOrders 1, two traders)",
            [["B 290x1"], ["C 0"], ["B 291x1"]],
            [session(1, maxNormalOrders=2), session(2, maxNormalOrders=1)],
            Trader={"numAgents": 2},
        ),
        "mistake_cancel": lambda: ask(
            "a mistake shock at a step that begins with a cancel, then a market order",
            [["B 290x1"], ["C 0", "BM x3 ttl2", "B 288x1"], []],
            [session(3, events=["O"])],
            O=mistake,
        ),
        "mistake_market": lambda: ask(
            "a mistake shock turns a market order into a limit order",
            [["B 290x1"], ["BM x3", "B 288x1"], []],
            [session(3, events=["O"])],
            O=mistake,
        ),
        "inaccessible": lambda: ask(
            "an order to a market that is not accessible: without, then with a fill",
            [["B 290x1 @1"], ["S 290x1 @1"]],
            [session(2)],
            markets=2,
            Trader={"markets": ["M0"]},
        ),
        "negative": lambda: ask("negative and zero prices", [["B -1.05x1", "S -1.05x1", "B 0x1"]], [session(1)]),
        "huge_ttl": lambda: ask(
            "a huge ttl", [["B 290x1 ttl9223372036854775807", "B 280x1 ttl99999999999999999999"]], [session(2)]
        ),
        "vwap": lambda: ask(
            "executed total price and vwap",
            [["B 300x2", "S 300x1"], ["S 300x1", "B 290x3"], ["S 290x3", "BM x1"], []],
            [session(4)],
        ),
        "index": lambda: ask(
            "an index at time 0",
            [["B 290x1"], []],
            [session(2)],
            markets=2,
            M0={"outstandingShares": 1, "marketPrice": 100.0},
            M1={"class": "IndexMarket", "markets": ["M0"], "marketPrice": 555.0, "fundamentalPrice": 444.0},
        ),
        "records": lambda: ask(
            "record order around sessions: the last move of a session expires an order; a session without placement",
            [["B 290x1 ttl1"], ["S 310x1 ttl1"]],
            [session(2), session(0), session(2, place=False, execute=False)],
            markets=2,
        ),
    }


def main() -> int:
    known = situations()
    for name in sys.argv[1:] or known:
        if name not in known:
            print(f"no situation {name!r}; there are {', '.join(known)}", file=sys.stderr)
            return 2
        known[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
