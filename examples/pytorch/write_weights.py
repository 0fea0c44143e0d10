"""Writes sequential.pth, named.pth and expected.json with PyTorch.

    python3 -m venv .venv && .venv/bin/pip install torch
    .venv/bin/python examples/pytorch/write_weights.py

Two networks of one shape, as people write them: a torch.nn.Sequential, whose layers are numbered,
and a class, whose layers have names in no order. examples/configs/pytorch.json loads both.
expected.json has what PyTorch answers, with which a test compares our answers.
"""

import json
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).resolve().parent


class Follower(nn.Module):
    """Looks at 16 returns, in per cent, and says buy (above 0) or sell."""

    def __init__(self):
        super().__init__()
        self.lookback = nn.Linear(16, 8)
        self.body = nn.Linear(8, 8)
        self.decide = nn.Linear(8, 1)
        # What only training needs is in the state dict as well.
        self.critic = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.tanh(self.lookback(x))
        x = torch.tanh(self.body(x))
        return self.decide(x)


def main():
    torch.manual_seed(1)
    networks = {
        "sequential": nn.Sequential(
            nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)
        ),
        "named": Follower(),
    }
    torch.save(networks["sequential"].state_dict(), HERE / "sequential.pth")
    torch.save({"epoch": 3, "model_state_dict": networks["named"].state_dict()}, HERE / "named.pth")

    rows = [[0.0] * 16, [n / 8 for n in range(16)], *torch.randn(4, 16).tolist()]
    expected = []
    with torch.no_grad():
        for row in rows:
            # One row at a time, as the agents ask.
            answers = {name: net(torch.tensor([row])).item() for name, net in networks.items()}
            expected.append({"row": row, **answers})
    lines = ",\n".join(json.dumps(one) for one in expected)
    (HERE / "expected.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
