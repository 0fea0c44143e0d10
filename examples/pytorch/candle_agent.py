"""The same agents with PyTorch on PAMS 0.3.0; writes prices.json, which a test compares with ours.

    .venv/bin/pip install pams==0.3.0 torch
    .venv/bin/python examples/pytorch/candle_agent.py
"""

import json
import math
import random
from pathlib import Path

import torch
from pams.agents import Agent
from pams.order import LIMIT_ORDER, Order
from pams.runners import SequentialRunner
from torch import nn

HERE = Path(__file__).resolve().parent
CONFIG = HERE.parent / "configs" / "follower.json"


class CandleAgent(Agent):
    def setup(self, settings, accessible_markets_ids, *args, **kwargs):
        super().setup(settings, accessible_markets_ids, *args, **kwargs)
        self.history_length = settings["historyLength"]
        sizes = [self.history_length, *settings["hiddenSizes"]]
        layers = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.Tanh()]
        self.network = nn.Sequential(*layers, nn.Linear(sizes[-1], 1))
        self.network.load_state_dict(torch.load(CONFIG.parent / settings["weights"]))

    def log_returns(self, market):
        now = market.get_time()
        times = range(max(0, now - self.history_length), now + 1)
        prices = market.get_market_prices(list(times))
        returns = [100 * math.log(after / before) for before, after in zip(prices, prices[1:])]
        return [0.0] * (self.history_length - len(returns)) + returns

    def submit_orders(self, markets):
        orders = []
        for market in markets:
            if self.is_market_accessible(market.market_id):
                with torch.no_grad():
                    row = torch.tensor([self.log_returns(market)])
                    signal = self.network(row).item() + 0.5 * self.prng.gauss(0, 1)
                price = market.get_market_price() * math.exp(0.01 * math.tanh(signal))
                orders.append(
                    Order(self.agent_id, market.market_id, signal > 0, LIMIT_ORDER, 1, price=price, ttl=50)
                )
        return orders


def main():
    runner = SequentialRunner(settings=CONFIG, prng=random.Random(42))
    runner.class_register(CandleAgent)
    runner.main()
    [market] = runner.simulator.markets
    prices = [round(price, 6) for price in market.get_market_prices(list(range(200)))]
    (HERE / "prices.json").write_text(json.dumps(prices) + "\n")


if __name__ == "__main__":
    main()
