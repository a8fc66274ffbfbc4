"""How the rules of algorithms_table.py and nccl_rules.py cut buffers."""

ELEMENT_SIZE = 4  # bytes
MIB = 1 << 20


def even(count, chunks):
    """Sizes of an even cut: the first (count mod chunks) chunks have one element more."""
    whole, rest = divmod(count, chunks)
    return [whole + (i < rest) for i in range(chunks)]


def ceil_div(a, b):
    return -(-a // b)


def log2_ceil(p):
    steps = 0
    while 2**steps < p:
        steps += 1
    return steps


def pipeline_chunks(share, options):
    """Sizes of as few even chunks as keep each within the chunk size; one when there is nothing."""
    most = max(1, int(options.get("chunk", 512 * 1024)) // ELEMENT_SIZE)
    return even(share, max(1, ceil_div(share, most)))
