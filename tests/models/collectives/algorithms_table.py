#!/usr/bin/env python3
"""Prints the table of models/collectives/ALGORITHMS.md.

Written from the definitions in that file and in the papers it names, and from nothing else: it does not
read the C++ code or its output. The test algorithms_test.cpp holds the code to the table. After adding rows
here, paste the output into ALGORITHMS.md.
"""

from cuts import ELEMENT_SIZE, MIB, ceil_div, even, log2_ceil, pipeline_chunks
from nccl_rules import (
    collnet_chain,
    collnet_direct,
    double_binary_tree,
    nvls,
    nvls_all_gather,
    nvls_reduce_scatter,
    pat_all_gather,
    pat_reduce_scatter,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)


def segmented_ring(p, count, orders, options):
    if p == 1:
        return 0, [0]
    size = count * ELEMENT_SIZE
    n = max(ceil_div(size, MIB), 2 * p)
    n = ceil_div(n, p) * p
    block = ceil_div(ceil_div(size, n), ELEMENT_SIZE)  # elements
    segment = [max(0, min(block, count - i * block)) for i in range(n)]
    each = n // p
    chunk = [sum(segment[q * each:(q + 1) * each]) for q in range(p)]
    assert sum(chunk) == count
    sent = [0] * p
    for q, rank in enumerate(orders[0]):
        sent[rank] = 2 * count - chunk[q] - chunk[(q + 1) % p]
    return 2 * (n - each), sent


def halving_doubling(p, count, orders, options):
    if p == 1:
        return 0, [0]
    q = 1
    while 2 * q <= p:
        q *= 2
    sent = [0] * p
    active = []
    for r in range(p):
        if r < 2 * (p - q):
            if r % 2 == 0:
                sent[r] = count  # to the odd one, before
                continue
            sent[r] = count  # back to the even one, after
        active.append(r)
    assert len(active) == q
    chunk = even(count, q)
    for v, rank in enumerate(active):
        low, high = 0, q  # chunks that v still works on
        while high - low > 1:  # halving: keep the half with chunk v, send the other
            middle = (low + high) // 2
            kept, given = ((low, middle), (middle, high)) if v < middle else ((middle, high), (low, middle))
            sent[rank] += sum(chunk[given[0]:given[1]])
            low, high = kept
        while high - low < q:  # doubling: send all one has, get as much
            sent[rank] += sum(chunk[low:high])
            length = 2 * (high - low)
            low = v // length * length
            high = low + length
    return 2 * log2_ceil(q) + (2 if p > q else 0), sent


def near_halving_doubling(p, count, orders, options):
    """At each distance a rank splits what it works on: it gives one half away, the first `half` elements or
    the rest, and later gives back what it kept. Both together are what it worked on."""
    if p == 1:
        return 0, [0]
    q = 1
    while 2 * q <= p:
        q *= 2
    pairs, sent = p - q, [0] * p
    for pair in range(pairs):
        sent[2 * pair] = (count - count // 2) + count  # the second half before, the result after
        sent[2 * pair + 1] = count // 2 + (count - count // 2)  # the first half, then the reduced second
    for v in range(q):
        length, distance = count, 1
        while distance < q:
            sent[2 * v if v < pairs else v + pairs] += length
            length = length - length // 2 if v & distance else length // 2
            distance *= 2
    return 2 * log2_ceil(q) + (3 if pairs else 0), sent


def folded(p):
    """The active ranks, 2^floor(log2 p) of them, each with the ranks it stands for."""
    q = 1
    while 2 * q <= p:
        q *= 2
    pairs = p - q
    return [(2 * v + 1, [2 * v, 2 * v + 1]) if v < pairs else (v + pairs, [v + pairs]) for v in range(q)]


def fold_steps(p):
    """Exchanges among the active ranks, and one step before and one after when there are pairs."""
    q = len(folded(p))
    return log2_ceil(q) + (2 if p > q else 0)


def recursive_doubling_all_reduce(p, count, orders, options):
    sent = [0] * p
    for active, ranks in folded(p):
        sent[active] = count * log2_ceil(len(folded(p)))
        if len(ranks) == 2:
            sent[active] += count
            sent[ranks[0]] = count
    return fold_steps(p), sent


def recursive_doubling_all_gather(p, count, orders, options):
    chunk, sent, active = even(count, p), [0] * p, folded(p)
    has = [[v] for v in range(len(active))]  # the numbers whose chunks number v has
    while len(has[0]) < len(active):
        for v, (rank, _) in enumerate(active):
            sent[rank] += sum(chunk[r] for u in has[v] for r in active[u][1])
        has = [has[v] + has[v ^ len(has[v])] for v in range(len(active))]
    for rank, ranks in active:
        if len(ranks) == 2:
            sent[ranks[0]] = chunk[ranks[0]]
            sent[rank] += count - chunk[ranks[0]]
    return fold_steps(p), sent


def recursive_halving(p, count, orders, options):
    chunk, sent, active = even(count, p), [0] * p, folded(p)
    for rank, ranks in active:
        sent[rank] = count - sum(chunk[r] for r in ranks)  # all that others end with, once
        if len(ranks) == 2:
            sent[ranks[0]] = count
            sent[rank] += chunk[ranks[0]]
    return fold_steps(p), sent


def bruck(p, count, orders, options):
    chunk, sent, distance = even(count, p), [0] * p, 1
    while distance < p:
        for r in range(p):
            sent[r] += sum(chunk[(r + i) % p] for i in range(min(distance, p - distance)))
        distance *= 2
    return log2_ceil(p), sent


def chain(p, count, orders, options, last_after_root):
    """Root 0. Chunk k is at the end of the line of p ranks after k + p-1 steps."""
    if p == 1:
        return 0, [0]
    sent, steps = [0] * p, 0
    for order, part in zip(orders, even(count, len(orders))):
        last = order[(order.index(0) + last_after_root) % p]
        for rank in range(p):
            sent[rank] += part if rank != last else 0
        steps = max(steps, len(pipeline_chunks(part, options)) + p - 2)
    return steps, sent


def chain_broadcast(p, count, orders, options):
    return chain(p, count, orders, options, -1)


def chain_reduce(p, count, orders, options):
    return chain(p, count, orders, options, 0)


def along_and_across(p, along, part, sent, inner, outer, orders):
    """Adds what each rank sends for one part, in lines `along` and in the lines across them; returns the steps.

    `inner` is (reduce-scatter, all-gather) and `outer` an all-reduce, functions as all here.
    """
    lines = {}
    for rank in range(p):
        lines.setdefault(min(along(rank)), along(rank))
    lines, steps = list(lines.values()), 0
    chunk = even(part, len(lines[0]))
    for line in lines:
        for rule in inner:
            taken, each = rule(len(line), part, [orders[0]], {})
            for rank, elements in zip(line, each):
                sent[rank] += elements
            steps += taken if line is lines[0] else 0
    for place, m in enumerate(chunk):
        taken, each = outer(len(lines), m, [orders[1]], {})
        for line, elements in zip(lines, each):
            sent[line[place]] += elements
        steps += taken if place == 0 else 0
    return steps


def hierarchical(p, count, orders, options):
    if p == 1:
        return 0, [0]
    per_node = int(options.get("node", 1))
    inner = {"ring": (ring_reduce_scatter, ring_all_gather),
             "direct": (direct_reduce_scatter, direct_all_gather),
             "recursive_halving": (recursive_halving, recursive_doubling_all_gather)}
    if per_node == p:
        whole = {"recursive_halving": "halving_doubling"}.get(options.get("inner"), options.get("inner", "ring"))
        return RULES["all_reduce", whole](p, count, orders, {})
    sent, steps = [0] * p, 0
    for order, part in zip(orders, even(count, len(orders))):
        nodes = list(dict.fromkeys(rank // per_node for rank in order))
        in_node = [rank for rank in order if rank < per_node]
        steps = max(steps, along_and_across(
            p, lambda rank: [rank // per_node * per_node + i for i in range(per_node)], part, sent,
            inner[options.get("inner", "ring")], RULES["all_reduce", options.get("outer", "ring")],
            (in_node, nodes)))
    return steps, sent


def ring_2d(p, count, orders, options):
    if p == 1:
        return 0, [0]
    columns = int(options.get("node", 1))
    if columns == 1:
        columns = min(c for c in range(1, p + 1) if p % c == 0 and c * c >= p)
    rows, sent = p // columns, [0] * p
    first, second = even(count, 2)
    rings = (ring_reduce_scatter, ring_all_gather), ring_all_reduce
    steps = along_and_across(
        p, lambda r: [r // columns * columns + i for i in range(columns)], first, sent, *rings,
        (range(columns), range(rows)))
    other = along_and_across(
        p, lambda r: [r % columns + i * columns for i in range(rows)], second, sent, *rings,
        (range(rows), range(columns)))
    assert steps == other == 2 * (columns - 1) + 2 * (rows - 1)
    return steps, sent


def parameter_server(p, count, orders, options):
    """Separate servers are numbered after the ranks."""
    if p == 1:
        return 0, [0]
    servers = int(options.get("servers", p // int(options.get("node", 1))))
    sent = [0] * (p + servers if "separate" in options else p)
    for k, share in enumerate(even(count, servers)):
        server = p + k if "separate" in options else k * p // servers
        for rank in range(p):
            if rank != server:
                sent[rank] += share
                sent[server] += share
    return 2, sent


def pairwise(p, count, orders, options):
    return p - 1, [(p - 1) * (count // p)] * p


def direct(p, count, orders, options):
    if p == 1:
        return 0, [0]
    return 2, [(count - own) + (p - 1) * own for own in even(count, p)]


def direct_reduce_scatter(p, count, orders, options):
    return min(1, p - 1), [count - own for own in even(count, p)]


def direct_all_gather(p, count, orders, options):
    return min(1, p - 1), [(p - 1) * own for own in even(count, p)]


def children(v, p):
    """A node's parent is its number with the lowest set bit cleared."""
    return sum(1 for u in range(1, p) if u & (u - 1) == v)


def tree_broadcast(p, count, orders, options):
    return log2_ceil(p), [count * children(v, p) for v in range(p)]


def tree_reduce(p, count, orders, options):
    return log2_ceil(p), [count * (v != 0) for v in range(p)]


def tree_all_reduce(p, count, orders, options):
    down, up = tree_broadcast(p, count, orders, options)[1], tree_reduce(p, count, orders, options)[1]
    return 2 * log2_ceil(p), [a + b for a, b in zip(down, up)]


def fan_out_broadcast(p, count, orders, options):
    """A node's parent is its number with the highest set bit cleared; its depth is its number of set bits."""
    sent = [0] * p
    for v in range(1, p):
        sent[v - (1 << (v.bit_length() - 1))] += count
    return max(bin(v).count("1") for v in range(p)), sent


def rotated_fan_out_broadcast(p, count, orders, options):
    """The table's root is rank 0, whose numbers are the same either way."""
    return fan_out_broadcast(p, count, orders, options)


def fan_out_all_reduce(p, count, orders, options):
    up, down = tree_reduce(p, count, orders, options), fan_out_broadcast(p, count, orders, options)
    return up[0] + down[0], [a + b for a, b in zip(up[1], down[1])]


def direct_broadcast(p, count, orders, options):
    return min(1, p - 1), [(p - 1) * count] + [0] * (p - 1)


def direct_reduce(p, count, orders, options):
    return min(1, p - 1), [0] + [count] * (p - 1)


def direct_scatter(p, count, orders, options):
    return min(1, p - 1), [count - even(count, p)[0]] + [0] * (p - 1)


def direct_gather(p, count, orders, options):
    return min(1, p - 1), [0] + even(count, p)[1:]


def way_from_root(v):
    """The numbers on the way from the root, 0, to v, both among them."""
    way = [v]
    while way[0] != 0:
        way.insert(0, way[0] & (way[0] - 1))
    return way


def tree_scatter(p, count, orders, options):
    sent = [0] * p
    for v, chunk in enumerate(even(count, p)):
        for u in way_from_root(v)[:-1]:
            sent[u] += chunk
    return log2_ceil(p), sent


def tree_gather(p, count, orders, options):
    sent = [0] * p
    for v, chunk in enumerate(even(count, p)):
        for u in way_from_root(v)[1:]:
            sent[u] += chunk
    return log2_ceil(p), sent


RULES = {
    ("all_reduce", "ring"): ring_all_reduce,
    ("all_reduce", "segmented_ring"): segmented_ring,
    ("all_reduce", "halving_doubling"): halving_doubling,
    ("all_reduce", "near_halving_doubling"): near_halving_doubling,
    ("all_reduce", "recursive_doubling"): recursive_doubling_all_reduce,
    ("all_reduce", "direct"): direct,
    ("all_reduce", "binomial_tree"): tree_all_reduce,
    ("all_reduce", "binomial_fan_out"): fan_out_all_reduce,
    ("all_reduce", "double_binary_tree"): double_binary_tree,
    ("all_reduce", "nvls"): nvls,
    ("all_reduce", "collnet_direct"): collnet_direct,
    ("all_reduce", "collnet_chain"): collnet_chain,
    ("all_reduce", "hierarchical"): hierarchical,
    ("all_reduce", "ring_2d"): ring_2d,
    ("all_reduce", "parameter_server"): parameter_server,
    ("reduce_scatter", "ring"): ring_reduce_scatter,
    ("reduce_scatter", "recursive_halving"): recursive_halving,
    ("reduce_scatter", "pat"): pat_reduce_scatter,
    ("reduce_scatter", "direct"): direct_reduce_scatter,
    ("reduce_scatter", "nvls"): nvls_reduce_scatter,
    ("all_gather", "ring"): ring_all_gather,
    ("all_gather", "recursive_doubling"): recursive_doubling_all_gather,
    ("all_gather", "bruck"): bruck,
    ("all_gather", "pat"): pat_all_gather,
    ("all_gather", "direct"): direct_all_gather,
    ("all_gather", "nvls"): nvls_all_gather,
    ("broadcast", "binomial_tree"): tree_broadcast,
    ("broadcast", "chain"): chain_broadcast,
    ("broadcast", "binomial_fan_out"): fan_out_broadcast,
    ("broadcast", "rotated_fan_out"): rotated_fan_out_broadcast,
    ("broadcast", "direct"): direct_broadcast,
    ("reduce", "binomial_tree"): tree_reduce,
    ("reduce", "chain"): chain_reduce,
    ("reduce", "direct"): direct_reduce,
    ("all_to_all", "pairwise"): pairwise,
    ("scatter", "direct"): direct_scatter,
    ("scatter", "binomial_tree"): tree_scatter,
    ("gather", "direct"): direct_gather,
    ("gather", "binomial_tree"): tree_gather,
}

# (ranks, count, orders or None for rank order[, options as a string of the table])
CASES = {
    ("all_reduce", "ring"): [
        (1, 10, None), (2, 10, None), (3, 10, None), (5, 0, None), (5, 4, None), (7, 1000, None),
        (8, 1000, None), (16, 100, None), (4, 10, [[2, 0, 3, 1]]),
        (4, 100, [[0, 1, 2, 3], [3, 2, 1, 0]]),
        (6, 100, [[5, 1, 3, 0, 4, 2], [0, 1, 2, 3, 4, 5], [2, 4, 0, 3, 1, 5]]),
    ],
    ("all_reduce", "segmented_ring"): [
        (1, 10, None), (2, 1000, None), (3, 10, None), (5, 1, None), (4, 10, [[2, 0, 3, 1]]),
        (8, 1000, None), (12, 11, None), (2, 2000000, None), (3, 2500000, None),
    ],
    ("all_reduce", "halving_doubling"): [
        (1, 10, None), (2, 10, None), (3, 10, None), (5, 4, None), (6, 100, None), (7, 10, None),
        (8, 1000, None), (12, 100, None), (13, 0, None), (16, 10, None),
    ],
    ("all_reduce", "near_halving_doubling"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (5, 4, None), (6, 101, None), (7, 10, None),
        (8, 1003, None), (12, 100, None), (13, 0, None), (16, 10, None),
    ],
    ("all_reduce", "recursive_doubling"): [
        (1, 10, None), (2, 10, None), (3, 10, None), (6, 100, None), (8, 7, None), (13, 3, None),
    ],
    ("all_reduce", "direct"): [
        (1, 1, None), (2, 1, None), (3, 10, None), (5, 4, None), (8, 1000, None), (13, 100, None),
    ],
    ("all_reduce", "binomial_tree"): [
        (1, 100, None), (2, 0, None), (3, 10, None), (6, 10, None), (8, 100, None), (13, 1, None),
    ],
    ("all_reduce", "binomial_fan_out"): [
        (1, 100, None), (2, 10, None), (3, 10, None), (6, 10, None), (8, 101, None), (13, 1, None),
    ],
    ("all_reduce", "double_binary_tree"): [
        (1, 10, None), (2, 10, None), (3, 11, None), (7, 100, None), (8, 1000, None, "chunk 400"),
        (13, 5, None, "chunk 4"), (6, 100, None, "node 6"), (8, 100, None, "node 2 chunk 40"),
        (12, 101, [[1, 0, 2, 4, 5, 3, 7, 8, 6, 10, 9, 11], list(range(12))], "node 3 chunk 16"),
        (3, 600000, None),
    ],
    ("all_reduce", "nvls"): [
        (1, 10, None), (3, 11, None), (2, 10, None, "node 2"), (4, 10, None, "node 4 chunk 4"), (8, 3, None, "node 8"),
        (8, 1000, None, "node 8 chunk 200"), (8, 101, None, "node 4 chunk 16"), (9, 1000, None, "node 3"),
        (12, 5, None, "node 2"), (14, 100, None, "node 2 chunk 40"), (4, 700000, None, "node 4"),
    ],
    ("all_reduce", "collnet_direct"): [
        (1, 10, None), (3, 11, None), (4, 10, None, "node 4"), (6, 5, None, "node 3"), (8, 1000, None, "node 4 chunk 200"),
        (12, 101, None, "node 2 chunk 16"), (9, 2, None, "node 3"), (4, 700000, None, "node 2"),
    ],
    ("all_reduce", "collnet_chain"): [
        (1, 10, None), (3, 11, None), (4, 10, None, "node 4"), (6, 5, None, "node 3"), (8, 1000, None, "node 4 chunk 200"),
        (12, 101, None, "node 2 chunk 16"), (9, 2, None, "node 3"), (4, 700000, None, "node 2"),
    ],
    ("all_reduce", "hierarchical"): [
        (1, 10, None), (3, 10, None), (4, 11, None, "node 4"), (8, 1000, None, "node 4"), (6, 101, None, "node 3"),
        (6, 100, None, "node 6 inner recursive_halving"),
        (12, 100, None, "node 4 inner direct outer halving_doubling"),
        (12, 103, None, "node 3 inner recursive_halving outer recursive_doubling"),
        (15, 4, None, "node 5 inner recursive_halving outer binomial_tree"),
        (8, 101, [[1, 0, 2, 3, 5, 4, 6, 7], [4, 6, 5, 7, 2, 1, 3, 0]], "node 4 outer direct"),
    ],
    ("all_reduce", "ring_2d"): [
        (1, 10, None), (2, 10, None), (3, 11, None), (4, 101, None), (6, 3, None), (12, 1000, None),
        (12, 100, None, "node 6"), (8, 101, None, "node 8"), (13, 100, None),
    ],
    ("all_reduce", "parameter_server"): [
        (1, 10, None, "separate"), (2, 10, None), (3, 10, None, "servers 2"), (8, 1000, None, "node 4"),
        (7, 100, None, "servers 3"), (4, 10, None, "servers 1 separate"), (6, 101, None, "node 3 separate"),
        (3, 2, None, "servers 3 separate"),
    ],
    ("reduce_scatter", "ring"): [
        (1, 10, None), (3, 10, None), (5, 4, None), (8, 1000, None), (12, 100, None),
        (4, 10, [[2, 0, 3, 1]]), (4, 101, [[0, 1, 2, 3], [3, 2, 1, 0]]),
    ],
    ("reduce_scatter", "recursive_halving"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (6, 100, None), (8, 1000, None), (13, 20, None),
    ],
    ("reduce_scatter", "pat"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (5, 4, None), (6, 100, None), (8, 1000, None), (13, 20, None),
        (67, 67, None),
    ],
    ("reduce_scatter", "direct"): [
        (1, 10, None), (3, 10, None), (5, 4, None), (8, 1000, None),
    ],
    ("reduce_scatter", "nvls"): [
        (1, 10, None), (3, 11, None), (2, 10, None, "node 2"), (5, 4, None, "node 5"), (8, 1000, None, "node 8 chunk 200"),
        (8, 101, None, "node 4 chunk 16"), (6, 100, None, "node 2"), (4, 700000, None, "node 4"),
    ],
    ("all_gather", "ring"): [
        (1, 10, None), (3, 10, None), (5, 4, None), (8, 1000, None), (12, 100, None),
        (4, 10, [[2, 0, 3, 1]]), (4, 101, [[0, 1, 2, 3], [3, 2, 1, 0]]),
    ],
    ("all_gather", "recursive_doubling"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (6, 100, None), (8, 1000, None), (13, 20, None),
    ],
    ("all_gather", "bruck"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (6, 100, None), (8, 1000, None), (13, 20, None),
    ],
    ("all_gather", "pat"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (5, 4, None), (6, 100, None), (8, 1000, None), (13, 20, None),
        (67, 134, None),
    ],
    ("all_gather", "direct"): [
        (1, 10, None), (3, 10, None), (5, 4, None), (8, 1000, None),
    ],
    ("all_gather", "nvls"): [
        (1, 10, None), (3, 11, None), (2, 10, None, "node 2"), (5, 4, None, "node 5"), (8, 1000, None, "node 8 chunk 200"),
        (8, 101, None, "node 4 chunk 16"), (6, 100, None, "node 2"), (4, 700000, None, "node 4"),
    ],
    ("broadcast", "binomial_tree"): [
        (1, 10, None), (2, 10, None), (5, 10, None), (8, 1, None), (13, 100, None), (16, 1, None),
    ],
    ("broadcast", "chain"): [
        (1, 10, None), (2, 10, None), (5, 10, None), (5, 100, None, "chunk 40"), (8, 3, None, "chunk 4"),
        (4, 0, None, "chunk 4"), (6, 101, [[5, 1, 3, 0, 4, 2], [0, 1, 2, 3, 4, 5]], "chunk 64"),
        (3, 400000, None),
    ],
    ("broadcast", "binomial_fan_out"): [
        (1, 10, None), (2, 10, None), (5, 10, None), (8, 1, None), (13, 100, None), (16, 3, None),
    ],
    ("broadcast", "rotated_fan_out"): [
        (1, 10, None), (4, 10, None), (6, 3, None), (13, 100, None),
    ],
    ("broadcast", "direct"): [
        (1, 10, None), (2, 10, None), (3, 11, None), (5, 4, None),
    ],
    ("reduce", "binomial_tree"): [
        (1, 10, None), (3, 0, None), (6, 10, None), (8, 100, None), (13, 1000, None),
    ],
    ("reduce", "chain"): [
        (1, 10, None), (2, 10, None), (5, 100, None, "chunk 40"), (8, 3, None, "chunk 4"),
        (6, 101, [[5, 1, 3, 0, 4, 2], [0, 1, 2, 3, 4, 5]], "chunk 64"), (3, 400000, None),
    ],
    ("reduce", "direct"): [
        (1, 10, None), (2, 10, None), (3, 11, None), (5, 4, None),
    ],
    ("all_to_all", "pairwise"): [
        (1, 10, None), (3, 10, None), (4, 3, None), (8, 1000, None), (13, 100, None),
    ],
    ("scatter", "direct"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (5, 4, None), (8, 1000, None),
    ],
    ("scatter", "binomial_tree"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (5, 4, None), (6, 100, None), (8, 1000, None), (13, 20, None),
    ],
    ("gather", "direct"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (5, 4, None), (8, 1000, None),
    ],
    ("gather", "binomial_tree"): [
        (1, 10, None), (2, 11, None), (3, 10, None), (5, 4, None), (6, 100, None), (8, 1000, None), (13, 20, None),
    ],
}


def parsed(text):
    """`node 4 separate` as {"node": "4", "separate": True}."""
    words, options = text.split(), {}
    while words:
        key = words.pop(0)
        options[key] = True if key == "separate" else words.pop(0)
    return options


def main():
    print("| collective | algorithm | ranks | orders | options | count | steps | elements sent by 0, 1, ... |")
    print("|---|---|---|---|---|---|---|---|")
    for (collective, name), cases in CASES.items():
        for p, count, given, *text in cases:
            options = parsed(text[0]) if text else {}
            steps, sent = RULES[collective, name](p, count, given or [list(range(p))], options)
            assert len(sent) >= p
            orders = " / ".join(" ".join(map(str, order)) for order in given) if given else "-"
            print(f"| {collective} | {name} | {p} | {orders} | {text[0] if text else '-'} | {count} | {steps} "
                  f"| {' '.join(map(str, sent))} |")


main()
