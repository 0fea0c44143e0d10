"""Writes state.pth in the format of torch.save, without PyTorch.

    python3 write_pth.py

The pickle names the classes that PyTorch names; a reader that ran it would need them, candle's
reader does not. It also has an object that would write a file if the pickle were run.
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
    def __init__(self, storage, offset, size, stride):
        self.arguments = (storage, offset, size, stride, False, OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, self.arguments


class Malicious:
    def __reduce__(self):
        return exec, ("open('/tmp/tensor-share-was-here', 'w')",)


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", FloatStorage, value.key, "cpu", len(value.numbers))
        return None


weight = Storage("0", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
bias = Storage("1", [9.0, 0.5, -0.5])
state = OrderedDict(
    [
        ("linear.weight", Tensor(weight, 0, (2, 3), (3, 1))),
        ("linear.bias", Tensor(bias, 1, (2,), (1,))),
        ("transposed", Tensor(weight, 0, (3, 2), (1, 3))),
        ("epoch", 7),
        ("malicious", Malicious()),
    ]
)
for name, value in [("state.pth", dict(state)), ("checkpoint.pth", {"model": dict(state)})]:
    data = io.BytesIO()
    Pickler(data, protocol=2).dump(value)
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("archive/data.pkl", data.getvalue())
        for storage in (weight, bias):
            numbers = struct.pack(f"<{len(storage.numbers)}f", *storage.numbers)
            archive.writestr(f"archive/data/{storage.key}", numbers)
