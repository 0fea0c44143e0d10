"""The memory of processes that read the same parameters: torch.multiprocessing beside this crate.

    python3 -m venv venv && venv/bin/pip install torch
    venv/bin/python crates/tensor-share/benches/torch_memory.py

Runs `cargo bench -p tensor-share --bench memory` first; `--torch-only` leaves it out. Both read 416 MB
in 600 tensors of f32 in a main process and 1, 2 and 8 started ones, with both strategies. Counted is
the proportional set size (a page that n processes share counts 1/n in each) of all of them. An
interpreter with torch takes much by itself, so the same processes are measured with tensors of one
element too: "beyond" is what is left when that and the 416 MB are taken off.
"""

import resource
import subprocess
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
import torch
import torch.multiprocessing as multiprocessing

N_TENSORS = 600
N_ELEMENTS = 104_000_000 // N_TENSORS
MEGABYTES = N_TENSORS * N_ELEMENTS * 4 / 1e6


def pss():
    """The proportional set size of this process in MB."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("no Pss in smaps_rollup")


def reader(connection):
    torch.set_num_threads(1)
    while (state := connection.recv()) is not None:
        connection.send(sum(float(tensor.sum()) for tensor in state.values()))
        connection.recv()
        connection.send((pss(), len(list(Path("/proc/self/fd").iterdir()))))
        del state
        # Nobody frees before all are measured.
        connection.recv()


def measure(readers, n_elements):
    """The PSS of all processes together, and the descriptors that a reader has open."""
    # Written in place: memory that a first copy leaves to the allocator would be counted.
    state = {str(index): torch.empty(n_elements).share_memory_() for index in range(N_TENSORS)}
    for tensor in state.values():
        tensor.fill_(1)
    # All must have read everything before anybody is measured.
    for connection in readers:
        connection.send(state)
        assert connection.recv() == N_TENSORS * n_elements
    total, descriptors = pss(), 0
    for connection in readers:
        connection.send("measure")
        own, descriptors = connection.recv()
        total += own
    for connection in readers:
        connection.send("free")
    return total, descriptors


def main():
    if "--torch-only" not in sys.argv:
        here = Path(__file__).resolve().parent
        print("tensor-share", flush=True)
        bench = ["cargo", "bench", "--quiet", "-p", "tensor-share", "--bench", "memory"]
        subprocess.run(bench, cwd=here, check=True)
    # file_descriptor takes one descriptor per tensor and process.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    torch.set_num_threads(1)
    print(f"torch.multiprocessing {torch.__version__}, {MEGABYTES:.0f} MB in {N_TENSORS} tensors")
    context = multiprocessing.get_context("spawn")
    readers, processes = [], []
    for n_readers in [1, 2, 8]:
        while len(readers) < n_readers:
            here, there = context.Pipe()
            processes.append(context.Process(target=reader, args=(there,)))
            processes[-1].start()
            readers.append(here)
        for strategy in ["file_descriptor", "file_system"]:
            multiprocessing.set_sharing_strategy(strategy)
            # Once before: what a process touches the first time does not belong to the parameters.
            measure(readers, N_ELEMENTS)
            bare, _ = measure(readers, 1)
            total, descriptors = measure(readers, N_ELEMENTS)
            n = n_readers + 1
            print(
                f"  {strategy}, main and {n_readers} reading: {total:6.1f} MB together,"
                f" {(total - bare - MEGABYTES) / n:5.1f} MB each beyond the parameters and"
                f" {bare / n:.0f} MB of torch; {descriptors} descriptors in a reader",
                flush=True,
            )
    for connection, process in zip(readers, processes):
        connection.send(None)
        process.join()


if __name__ == "__main__":
    main()
