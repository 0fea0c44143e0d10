"""Writes state.pth and checkpoint.pth in the format of torch.save, without PyTorch.

    python3 write_pth.py

They also have an object that would write a file if the pickle were run.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[5] / "tests" / "data"))
from torch_file import Storage, Tensor, save


class Malicious:
    def __reduce__(self):
        return exec, ("open('/tmp/tensor-share-was-here', 'w')",)


weight = Storage("0", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
bias = Storage("1", [9.0, 0.5, -0.5])
state = {
    "linear.weight": Tensor(weight, (2, 3), (3, 1)),
    "linear.bias": Tensor(bias, (2,), (1,), offset=1),
    "transposed": Tensor(weight, (3, 2), (1, 3)),
    "epoch": 7,
    "malicious": Malicious(),
}
for name, value in [("state.pth", state), ("checkpoint.pth", {"model": state})]:
    save(value, name, [weight, bias])
