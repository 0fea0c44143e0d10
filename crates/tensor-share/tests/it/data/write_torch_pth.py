"""Writes torch.pth with PyTorch: a state dict as users save theirs.

    venv/bin/python write_torch_pth.py

Written by torch 2.15.0. The other files here are written without torch, with what it would not write.
"""

import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
with torch.no_grad():
    model[0].weight.copy_(torch.arange(6.0).reshape(2, 3))
    model[0].bias.copy_(torch.tensor([0.5, -0.5]))
state = model.state_dict()
state["half"] = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float16)
state["brain"] = torch.tensor([1.0, -2.0, 0.5], dtype=torch.bfloat16)
# Views of a tensor that is there by itself too: one storage in the file.
state["transposed"] = state["0.weight"].t()
state["row"] = state["0.weight"][1]
torch.save(state, "torch.pth")
