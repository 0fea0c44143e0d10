"""Writes files in the format of torch.save, without PyTorch.

The scripts write_pth.py beside the files of crates' tests use it. The pickle names the classes that
PyTorch names; a reader that ran it would need them, candle's reader does not.
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
    """Numbers that tensors are views of. Each storage of a file has a key of its own."""

    def __init__(self, key, numbers):
        self.key, self.numbers = key, numbers


class Tensor:
    """A view of a storage, with offset and strides counted in elements."""

    def __init__(self, storage, size, stride, offset=0):
        self.arguments = (storage, offset, size, stride, False, OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, self.arguments


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", FloatStorage, value.key, "cpu", len(value.numbers))
        return None


def save(value, path, storages):
    """Writes a value whose tensors are views of the storages."""
    data = io.BytesIO()
    Pickler(data, protocol=2).dump(value)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", data.getvalue())
        for storage in storages:
            numbers = struct.pack(f"<{len(storage.numbers)}f", *storage.numbers)
            archive.writestr(f"archive/data/{storage.key}", numbers)
