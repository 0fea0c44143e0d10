"""Writes sequential.pth, checkpoint.pth and normalized.pth in the format of torch.save, without PyTorch.

    python3 write_pth.py

What PyTorch would save with

    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    torch.save(net.state_dict(), "sequential.pth")
    torch.save({"epoch": 7, "model_state_dict": net.state_dict()}, "checkpoint.pth")

with the weights 0.1, 0.2, ... 1.2, the biases -0.1, 0.0, 0.1, the weights 0.5, -0.25, 1.0 and the
bias 0.75. normalized.pth also has the weight of a layer that is not linear.
"""

import sys
from collections import OrderedDict
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[5] / "tests" / "data"))
from torch_file import Storage, Tensor, save

storages = [
    Storage("0", [n / 10 for n in range(1, 13)]),
    Storage("1", [-0.1, 0.0, 0.1]),
    Storage("2", [0.5, -0.25, 1.0]),
    Storage("3", [0.75]),
]
state = OrderedDict(
    [
        ("0.weight", Tensor(storages[0], (3, 4), (4, 1))),
        ("0.bias", Tensor(storages[1], (3,), (1,))),
        ("2.weight", Tensor(storages[2], (1, 3), (3, 1))),
        ("2.bias", Tensor(storages[3], (1,), (1,))),
    ]
)
files = [
    ("sequential.pth", state),
    ("checkpoint.pth", {"epoch": 7, "model_state_dict": state}),
    ("normalized.pth", OrderedDict(state, **{"1.weight": Tensor(storages[1], (3,), (1,))})),
]
for name, value in files:
    save(value, name, storages)
