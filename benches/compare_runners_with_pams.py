"""Times the process runner of PAMS 0.3.0 beside ours, in turn, and prints milliseconds a step and the ratios.

    python3 -m venv .venv && .venv/bin/pip install pams==0.3.0 torch
    cargo build --release -p pams-cli
    .venv/bin/python benches/compare_runners_with_pams.py [--rounds 3] [--workers 2] [--cases simple small large]

Cases: `simple` are 50 FCN agents; `small` are 50 agents with a network of 32-64-64-1 each, `large` 100 agents with
32-1024-1024-1, in PyTorch there and in candle here. 8 agents are asked in a step. Networks have one thread in each process.
Without PyTorch only `simple` runs. PAMS pickles agents and markets for every question, so its steps are few; what starting
takes is not counted on either side: each is run for two numbers of steps, and the difference counts. A ratio is the median
of the rounds' ratios with its smallest and largest value. PAMS 0.3.0 has no torch-style runner; its process runner is what
a user of PyTorch has there.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ASKED = 8

# A module of its own, since workers have to import the classes of agents.
AGENTS = '''
import math
import torch
from pams.agents import Agent
from pams.order import LIMIT_ORDER, Order

torch.set_num_threads(1)
HISTORY = 32

class NetworkAgent(Agent):
    """Trades by a network, as our CandleAgent does."""

    def setup(self, settings, accessible_markets_ids, *args, **kwargs):
        super().setup(settings, accessible_markets_ids, *args, **kwargs)
        torch.manual_seed(self.prng.randrange(2**31))
        sizes = [HISTORY, *settings["hiddenSizes"], 1]
        layers = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
        self.network = torch.nn.Sequential(*layers[:-1])

    def submit_orders(self, markets):
        orders = []
        for market in markets:
            if not self.is_market_accessible(market_id=market.market_id):
                continue
            time = market.get_time()
            prices = market.get_market_prices(range(max(0, time - HISTORY), time + 1))
            returns = [100 * math.log(after / before) for before, after in zip(prices, prices[1:])]
            returns = [0.0] * (HISTORY - len(returns)) + returns
            with torch.no_grad():
                signal = self.network(torch.tensor(returns)).item() + 0.5 * self.prng.gauss(0.0, 1.0)
            orders.append(Order(
                agent_id=self.agent_id, market_id=market.market_id, is_buy=signal > 0, kind=LIMIT_ORDER, volume=1,
                price=prices[-1] * math.exp(0.01 * math.tanh(signal)), ttl=50,
            ))
        return orders
'''

PAMS = """
import json, random, sys, time, warnings
warnings.simplefilter("ignore")
import pams.runners

def main():
    settings, runner, networks = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3] == "networks"
    run = getattr(pams.runners, runner)(settings=settings, prng=random.Random(1))
    if networks:
        from network_agents import NetworkAgent
        run.class_register(NetworkAgent)
    start = time.perf_counter()
    run.main()
    print(json.dumps({"run_seconds": time.perf_counter() - start}))

if __name__ == "__main__":
    main()
"""

FCN = {
    "class": "FCNAgent",
    "fundamentalWeight": {"expon": [1.0]},
    "chartWeight": {"expon": [0.0]},
    "noiseWeight": {"expon": [1.0]},
    "noiseScale": 0.001,
    "timeWindowSize": [100, 200],
    "orderMargin": [0.0, 0.1],
}

# Agents, their keys, the steps of PAMS, ours.
CASES: dict[str, tuple[int, dict[str, Any], int, int]] = {
    "simple": (50, FCN, 20, 4000),
    "small": (50, {"hiddenSizes": [64, 64]}, 12, 2000),
    "large": (100, {"hiddenSizes": [1024, 1024]}, 6, 100),
}


def config(agents: int, keys: dict[str, Any], steps: int, workers: int) -> dict[str, Any]:
    session = {
        "sessionName": 0,
        "iterationSteps": steps,
        "withOrderPlacement": True,
        "withOrderExecution": True,
        "withPrint": False,
        "maxNormalOrders": ASKED,
    }
    return {
        "simulation": {
            "markets": ["Market"],
            "agents": ["Agents"],
            "sessions": [session],
            "numParallel": workers,
        },
        "Market": {"class": "Market", "tickSize": 0.00001, "marketPrice": 300.0},
        "Agents": {"numAgents": agents, "markets": ["Market"], "assetVolume": 50, "cashAmount": 10000, **keys},
    }


class Lab:
    """Where configs and the module of the agents lie."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder, self.workers = folder, workers
        (folder / "network_agents.py").write_text(AGENTS)
        (folder / "run_pams.py").write_text(PAMS)
        threads = {name: "1" for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "CANDLE_NUM_THREADS")}
        self.environment = {**os.environ, **threads, "PYTHONPATH": str(folder)}

    def seconds(self, command: list[str]) -> float:
        run = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{run.stderr}")
        return json.loads(run.stdout.splitlines()[-1])["run_seconds"]

    def milliseconds(self, case: str, steps: int, class_name: str, command: list[str]) -> float:
        """What a step takes, from a short and a long run."""
        agents, keys, _, _ = CASES[case]
        taken = []
        for length in (steps // 2, steps + steps // 2):
            path = self.folder / "config.json"
            path.write_text(json.dumps(config(agents, {"class": class_name, **keys}, length, self.workers)))
            taken.append(self.seconds([word if word != "CONFIG" else str(path) for word in command]))
        return 1000 * (taken[1] - taken[0]) / steps

    def pams(self, case: str, runner: str) -> float:
        kind = "simple" if case == "simple" else "networks"
        command = [sys.executable, str(self.folder / "run_pams.py"), "CONFIG", runner, kind]
        return self.milliseconds(case, CASES[case][2], "NetworkAgent", command)

    def ours(self, case: str, runner: str) -> float:
        command = [str(ROOT / "target/release/pams"), "run", "CONFIG", "--seed", "1", "--runner", runner]
        command += ["--torch-threads", "1", "--summary", "json", "--quiet"]
        return self.milliseconds(case, CASES[case][3], "CandleAgent", command)


def spread(values: list[float], digits: int) -> str:
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def compare(lab: Lab, case: str, rounds: int) -> None:
    parallel = "processes" if case == "simple" else "torch"
    ways = {
        "PAMS sequential": lambda: lab.pams(case, "SequentialRunner"),
        "PAMS processes": lambda: lab.pams(case, "MultiProcessAgentParallelRunner"),
        "ours sequential": lambda: lab.ours(case, "sequential"),
        f"ours {parallel}": lambda: lab.ours(case, parallel),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(way())
    print(f"{case}: {CASES[case][0]} agents, {ASKED} a step, {lab.workers} workers, {rounds} rounds", flush=True)
    for name, values in found.items():
        print(f"  {name:16} {spread(values, 3)} ms a step", flush=True)
    for kind in ("sequential", "processes"):
        mine = f"ours {parallel}" if kind == "processes" else "ours sequential"
        ratios = [theirs / ours for theirs, ours in zip(found[f"PAMS {kind}"], found[mine])]
        print(f"  PAMS {kind} / {mine}: {spread(ratios, 1)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    arguments = parser.parse_args()
    load = Path("/proc/loadavg").read_text().strip()
    print(f"load before: {load}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder), arguments.workers)
        for case in arguments.cases:
            if case != "simple" and importlib.util.find_spec("torch") is None:
                print(f"{case}: left out, since there is no PyTorch", flush=True)
                continue
            compare(lab, case, arguments.rounds)


if __name__ == "__main__":
    main()
