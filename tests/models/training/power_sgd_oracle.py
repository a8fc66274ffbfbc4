"""Asks PyTorch's powerSGD_hook what it sends; power_sgd_test.cpp compares it with `compressed`.

Standard input, one bucket a line: the rank and the least compression rate, then a semicolon, then the gradients' shapes.
    1 2;64x3x7x7 64 1000x512
Standard output, one line a bucket: the elements of its all-reduces in their order, whole gradients first.
Without torch: prints "no torch" and the reason, and exits with 0. Tried with Debian's python3-torch 1.13.1.
"""

import sys

try:
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hook
except Exception as reason:  # torch can also be there and broken
    print("no torch:", reason)
    sys.exit(0)


class Two:  # ranks, of which none is asked anything but how many they are
    def size(self):
        return 2


class Work:
    def __init__(self, tensor):
        self.tensor = tensor

    def get_future(self):
        future = torch.futures.Future()
        future.set_result([self.tensor])
        return future


class Bucket:
    def __init__(self, shapes):
        sizes = [torch.Size(shape).numel() for shape in shapes]
        self.flat = torch.ones(sum(sizes))
        self.views = [part.view(shape) for part, shape in zip(self.flat.split(sizes), shapes)]

    def buffer(self):
        return self.flat

    def gradients(self):
        return self.views

    def index(self):
        return 0

    def is_last(self):
        return True


def sent_by(bucket, rank, rate):
    sent = []

    def all_reduce(tensor, group=None, async_op=False):
        sent.append(tensor.numel())
        return Work(tensor)

    hook.dist.all_reduce = all_reduce
    state = hook.PowerSGDState(Two(), matrix_approximation_rank=rank, start_powerSGD_iter=2,
                               min_compression_rate=rate)
    state.iter = 2  # past what is sent as it is
    hook.powerSGD_hook(state, bucket).wait()
    return sent


print("torch", torch.__version__)
for line in sys.stdin:
    told, shapes = line.split(";")
    rank, rate = told.split()
    bucket = Bucket([tuple(map(int, shape.split("x"))) for shape in shapes.split()])
    print(*sent_by(bucket, int(rank), float(rate)))
