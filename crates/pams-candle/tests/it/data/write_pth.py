"""Writes sequential.pth, checkpoint.pth and normalized.pth in the format of torch.save, without PyTorch.

    python3 write_pth.py

What PyTorch would save with

    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    torch.save(net.state_dict(), "sequential.pth")
    torch.save({"epoch": 7, "model_state_dict": net.state_dict()}, "checkpoint.pth")

with the weights 0.1, 0.2, ... 1.2, the biases -0.1, 0.0, 0.1, the weights 0.5, -0.25, 1.0 and the
bias 0.75. normalized.pth also has the weight of a layer that is not linear.
"""

import io
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict

torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": utils})


class FloatStorage:
    pass


FloatStorage.__module__, torch.FloatStorage = "torch", FloatStorage


def _rebuild_tensor_v2(*arguments):
    pass


_rebuild_tensor_v2.__module__, utils._rebuild_tensor_v2 = "torch._utils", _rebuild_tensor_v2


class Storage:
    def __init__(self, key, numbers):
        self.key, self.numbers = key, numbers


class Tensor:
    def __init__(self, storage, size, stride):
        self.arguments = (storage, 0, size, stride, False, OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, self.arguments


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", FloatStorage, value.key, "cpu", len(value.numbers))
        return None


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
    data = io.BytesIO()
    Pickler(data, protocol=2).dump(value)
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("archive/data.pkl", data.getvalue())
        for storage in storages:
            numbers = struct.pack(f"<{len(storage.numbers)}f", *storage.numbers)
            archive.writestr(f"archive/data/{storage.key}", numbers)
