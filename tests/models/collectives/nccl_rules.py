"""NCCL's algorithms for algorithms_table.py: its rings and trees, PAT, NVLS and CollNet."""

from cuts import ELEMENT_SIZE, ceil_div, even, log2_ceil, pipeline_chunks


def ring_all_reduce(p, count, orders, options):
    if p == 1:
        return 0, [0]
    sent = [0] * p
    for order, part in zip(orders, even(count, len(orders))):
        chunk = even(part, p)
        for q, rank in enumerate(order):
            # Reduce-scatter: q hands on every chunk but its own. All-gather: every chunk but the
            # next position's own.
            sent[rank] += (part - chunk[q]) + (part - chunk[(q + 1) % p])
    return 2 * (p - 1), sent


def ring_reduce_scatter(p, count, orders, options):
    return p - 1, [count - own for own in even(count, p)] if p > 1 else [0]


def ring_all_gather(p, count, orders, options):
    if p == 1:
        return 0, [0]
    sent = [0] * p
    for c, order in enumerate(orders):
        part = [even(chunk, len(orders))[c] for chunk in even(count, p)]  # of each rank's chunk
        for q, rank in enumerate(order):
            sent[rank] += sum(part) - part[order[(q + 1) % p]]
    return p - 1, sent


def tree_edges(p):
    """(parent, child) of a binomial tree: a parent is its child's number with the lowest set bit cleared."""
    return [(v & (v - 1), v) for v in range(1, p)]


def pat_steps(p):
    """At each distance 32 chunks at a time, one a rank below whose number is an odd multiple of it."""
    distances = [2**i for i in range(log2_ceil(p))]
    return sum(ceil_div(len(range(d, p, 2 * d)), 32) for d in distances)


def pat(p, count, sender):
    """The chunk of each owner o crosses the edges of a tree of its own, whose number v is rank o - v."""
    sent = [0] * p
    for owner, chunk in enumerate(even(count, p)):
        for edge in tree_edges(p):
            sent[(owner - edge[sender]) % p] += chunk
    return pat_steps(p), sent


def pat_all_gather(p, count, orders, options):
    """Down: parents send."""
    return pat(p, count, 0)


def pat_reduce_scatter(p, count, orders, options):
    """Up: children send."""
    return pat(p, count, 1)


def btree_parents(n):
    """NCCL's tree: with b the lowest set bit of v, the parent is v - b with bit 2b set, or v - b where that
    is out of bounds; 0 is the root."""
    parents = [None] * n
    for v in range(1, n):
        bit = 1
        while not v & bit:
            bit *= 2
        up = (v - bit) | (2 * bit)
        parents[v] = up if up < n else v - bit
    return parents


def two_trees(n):
    """The parents of nodes in each."""
    first = btree_parents(n)
    if n % 2 == 0:  # mirror image
        second = [None if first[n - 1 - v] is None else n - 1 - first[n - 1 - v] for v in range(n)]
    else:  # moved by one
        second = [None if first[(v - 1) % n] is None else (first[(v - 1) % n] + 1) % n for v in range(n)]
    return first, second


def edges_to_root(parents, v):
    return 0 if parents[v] is None else 1 + edges_to_root(parents, parents[v])


def nvls(p, count, orders, options):
    """The switches of the nodes are numbered after the ranks."""
    per_node = int(options.get("node", 1))
    if per_node == 1:
        return double_binary_tree(p, count, orders, options)
    n, steps = p // per_node, 0
    sent = [count] * p + [per_node * count] * n
    for head, share in enumerate(even(count, per_node)):
        for part, parents in zip(even(share, min(n, 2)), two_trees(n)):
            most = max(1, int(options.get("chunk", 512 << 10)) // ELEMENT_SIZE)
            depth = max(edges_to_root(parents, v) for v in range(n))
            steps = max(steps, max(1, ceil_div(part, most)) + 2 * depth + 3)
            for node, parent in enumerate(parents):
                sent[node * per_node + head] += part  # back to the switch
                if parent is not None:
                    sent[node * per_node + head] += part  # up
                    sent[parent * per_node + head] += part  # down
    return steps, sent


def collnet(p, count, orders, options, steps_behind, sent_by_rank):
    """Behind the ranks the nodes' switches, idle, and the network's."""
    per_node = int(options.get("node", 1))
    n = p // per_node
    if n == 1:
        return ring_all_reduce(p, count, orders, options)
    most = max(1, int(options.get("chunk", 512 << 10)) // ELEMENT_SIZE)
    shares = even(count, per_node)
    steps = max(1, ceil_div(max(shares), most)) + steps_behind(per_node)
    ranks = [sent_by_rank(shares, rank % per_node) for rank in range(p)]
    return steps, ranks + [0] * n + [n * count]


def collnet_direct(p, count, orders, options):
    return collnet(
        p, count, orders, options, lambda g: 3 if g > 1 else 1,
        lambda shares, local: count + (len(shares) - 1) * shares[local],
    )


def collnet_chain(p, count, orders, options):
    # Whose line it ends: the head behind it.
    return collnet(
        p, count, orders, options, lambda g: 2 * g - 1,
        lambda shares, local: 2 * count - shares[(local + 1) % len(shares)],
    )


def nvls_reduce_scatter(p, count, orders, options):
    """The switch of a lone node is numbered after the ranks."""
    if int(options.get("node", 1)) != p or p == 1:
        return ring_reduce_scatter(p, count, orders, options)
    most = max(1, int(options.get("chunk", 512 << 10)) // ELEMENT_SIZE)
    return max(1, ceil_div(max(even(count, p)), most)) + 1, [count] * (p + 1)


def nvls_all_gather(p, count, orders, options):
    if int(options.get("node", 1)) != p or p == 1:
        return ring_all_gather(p, count, orders, options)
    steps, _ = nvls_reduce_scatter(p, count, orders, options)
    return steps, even(count, p) + [(p - 1) * count]


def double_binary_tree(p, count, orders, options):
    if p == 1:
        return 0, [0]
    per_node = int(options.get("node", 1))
    n = p // per_node
    first, second = two_trees(n)
    sent, steps = [0] * p, 0
    for c, part in enumerate(even(count, 2 * len(orders))):
        chains = [[r for r in orders[c // 2] if r // per_node == node] for node in range(n)]
        parent = {}
        for node, chain_ in enumerate(chains):
            up = (first, second)[c % 2][node]
            parent[chain_[0]] = None if up is None else chains[up][0]
            for above, below in zip(chain_, chain_[1:]):
                parent[below] = above
        depth = 0
        for rank in range(p):
            edges, above = 0, parent[rank]
            if above is not None:
                sent[rank] += part  # up
                sent[above] += part  # and down again
            while above is not None:
                edges, above = edges + 1, parent[above]
            depth = max(depth, edges)
        # The first chunk goes up `depth` edges and down as many, each chunk one step behind the last.
        steps = max(steps, 2 * depth + len(pipeline_chunks(part, options)) - 1)
    return steps, sent
