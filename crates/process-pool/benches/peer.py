"""The same work in Python's pools: prints `name=value` lines, in microseconds."""

import multiprocessing
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor


def no_op(value):
    return value


def make(kind, method, workers):
    context = multiprocessing.get_context(method)
    if kind == "pool":
        pool = context.Pool(workers)
        return pool, lambda value: pool.apply_async(no_op, (value,)), lambda task: task.get()
    pool = ProcessPoolExecutor(workers, mp_context=context)
    return pool, lambda value: pool.submit(no_op, value), lambda task: task.result()


def close(kind, pool):
    if kind == "pool":
        pool.terminate()
        pool.join()
    else:
        pool.shutdown()


def timed(code, count):
    times = []
    for value in range(count):
        since = time.perf_counter()
        code(value)
        times.append((time.perf_counter() - since) * 1e6)
    return sorted(times)


def main():
    kind, method = sys.argv[1].split("-")

    def first(_):
        pool, submit, get = make(kind, method, 2)
        tasks = [submit(1), submit(2)]
        for task in tasks:
            get(task)
        close(kind, pool)

    name = {"spawn": "spawned", "fork": "forked", "forkserver": "forkserver"}[method]
    print(f"first answer, 2 {name}, us={statistics.median(timed(first, 5))}")
    pool, submit, get = make(kind, method, 2)
    timed(lambda value: get(submit(value)), 500)
    times = timed(lambda value: get(submit(value)), 5000)
    print(f"no-op median, us={times[len(times) // 2]}")
    print(f"no-op p99, us={times[len(times) * 99 // 100]}")
    since = time.perf_counter()
    for task in [submit(value) for value in range(20000)]:
        get(task)
    print(f"pipelined, us each={(time.perf_counter() - since) * 1e6 / 20000}")
    block = bytes(1 << 20)
    times = timed(lambda value: get(submit(block)), 50)
    print(f"1 MiB both ways, us={times[len(times) // 2]}")
    close(kind, pool)


if __name__ == "__main__":
    main()
