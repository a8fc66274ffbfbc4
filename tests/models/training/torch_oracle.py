"""Asks PyTorch for its bucket assignment; buckets_test.cpp compares it with assign_buckets.

Standard input, one case a line: the limits in bytes, then a semicolon, then the tensors as type:elements in the
order of the walk, then a semicolon and the tensors' indices (empty: PyTorch sorts the buckets by smallest index).
    1048576 26214400;float32:1000 float16:20;
Standard output, one line a case: the buckets, " / " between them.
Without torch: prints "no torch" and the reason, and exits with 0. Tried with Debian's python3-torch 1.13.1.
"""

import sys

try:
    import torch
    from torch.distributed import _compute_bucket_assignment_by_size as assign
except Exception as reason:  # torch can also be there and broken
    print("no torch:", reason)
    sys.exit(0)

ELEMENT = {name: torch.empty(1, dtype=getattr(torch, name))
           for name in ("float32", "float16", "bfloat16", "int64")}


def tensor(text):
    name, elements = text.split(":")
    return ELEMENT[name].expand(int(elements))  # as many elements, but no memory


print("torch", torch.__version__)
for line in sys.stdin:
    limits, tensors, indices = (part.split() for part in line.split(";"))
    found = assign([tensor(text) for text in tensors], [int(limit) for limit in limits],
                   [], [int(index) for index in indices])
    # From torch 1.10 on a pair: buckets and the limits they had.
    buckets = found[0] if isinstance(found, tuple) else found
    print(" / ".join(" ".join(map(str, bucket)) for bucket in buckets))
