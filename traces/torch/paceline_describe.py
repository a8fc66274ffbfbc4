"""Describes a PyTorch model for `workload.model` of Paceline.

    from paceline_describe import describe
    describe(model, example_batch, "network.json")       # sequence=1024 for a model of tokens

One forward pass is run, in which every kernel becomes a layer of the file: its arithmetic, what it
reads and makes of a sample, and the parameters that it is the first to use. Modules give the names;
functions (additions, F.relu, products of attention) are seen as well. Dropout is left out. With
model and batch on the device "meta" nothing is computed. README.md, beside this file in Paceline's
sources, tells the rest. It needs torch (1.13 or 2) and no more.
"""
import dataclasses
import itertools
import json
import math
from typing import Any, Dict, Iterator, List, Optional, Set

import torch
from torch.utils._python_dispatch import TorchDispatchMode

Layer = Dict[str, Any]
TYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
         torch.float64: "fp64", torch.int32: "int32", torch.int64: "int64"}
PRODUCTS = ("mm", "addmm", "mv", "addmv", "linear", "bmm", "baddbmm")
KINDS = {"batchnorm": ("batch_norm",), "layernorm": ("layer_norm", "group_norm", "rms_norm"),
         "embedding": ("embedding",), "pool": ("pool", "mean", "sum", "amax"),
         "fused_attention": ("scaled_dot_product",), "other": ("rnn", "lstm", "gru")}
VIEWS = {"_unsafe_view", "unsafe_split", "unsafe_chunk"}  # that their signatures do not show
KEEPS_OUTPUT = {"relu", "threshold", "tanh", "sigmoid", "exp", "sqrt", "rsqrt", "softmax",
                "safe_softmax", "log_softmax"}
KEEPS_NOTHING = {"add", "sub", "rsub", "neg", "cat", "stack", "clone", "copy", "to_copy", "where",
                 "masked_fill", "index", "repeat", "roll", "flip", "tril", "triu"}
KERNELS_MAX = 64  # of one call of a module that has none within it, such as an LSTM


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Of tuples, dicts and dataclasses, too."""
    if isinstance(value, torch.Tensor):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from tensors_in(list(vars(value).values()))
    elif isinstance(value, (list, tuple)) or hasattr(value, "values"):
        for one in value if isinstance(value, (list, tuple)) else value.values():
            yield from tensors_in(one)


def storage_of(tensor: torch.Tensor) -> int:
    """The same for all views of a tensor."""
    return (getattr(tensor, "untyped_storage", None) or tensor._storage)()._cdata


def kind_of(op: str, has_weight: bool, args: tuple) -> str:
    if "convolution" in op:
        return "grouped_convolution" if args[-1] != 1 else "convolution"
    if op in PRODUCTS:
        return "linear" if has_weight or "bmm" not in op else "attention"
    return next((kind for kind, words in KINDS.items() if any(word in op for word in words)),
                "elementwise")


def flops_of(op: str, kind: str, args: tuple, made: torch.Tensor, weights: int) -> int:
    """Of the whole batch; a multiply-add is 2."""
    given = [one for one in args if isinstance(one, torch.Tensor)]
    if kind == "fused_attention":
        query, key, value = given[:3]
        return 2 * query[..., 0].numel() * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    if "convolution" in kind:
        places = given[0] if args[6] else made  # transposed, or not
        return 2 * given[1].numel() * places.shape[0] * math.prod(places.shape[2:])
    if kind == "other":
        return 2 * weights * given[0].shape[:-1].numel()
    if kind in ("linear", "attention"):
        left = 1 if op.startswith(("add", "badd")) else 0
        return 2 * made.numel() * given[left].shape[-1]
    return 0


class Watch(TorchDispatchMode):
    """Makes a layer of each kernel; `path` has the modules that are running."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.parameters = dict(model.named_parameters())  # those that are shared once
        self.names: Dict[int, List[str]] = {}  # of parameters, by their storage
        self.buffers = {storage_of(buffer) for buffer in model.buffers()}
        self.noise: Set[int] = set()  # storages of dropout's masks
        self.alive: List[torch.Tensor] = []  # so that their storages are no other tensor's
        self.path, self.begins = [""], [0]
        self.layers: List[Layer] = []
        for name, parameter in self.parameters.items():
            self.names.setdefault(storage_of(parameter), []).append(name)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        outcome = func(*args, **(kwargs or {}))
        op = func._overloadpacket.__name__
        results = [one.alias_info for one in func._schema.returns]
        is_view = op in VIEWS or any(one is not None and not one.is_write for one in results)
        given, made = list(tensors_in([args, kwargs or {}])), list(tensors_in(outcome))
        if given and made and not is_view and "dropout" not in op:
            self.see(op, args, given, made[0])
        return outcome

    def matrices(self, names: List[str]) -> int:
        return sum(self.parameters[name].numel() for name in names
                   if self.parameters[name].dim() > 1)

    def see(self, op: str, args: tuple, given: List[torch.Tensor], made: torch.Tensor) -> None:
        stores = [(storage_of(tensor), tensor) for tensor in given]
        used = [name for store, _ in stores for name in self.names.get(store, [])]
        used = [name for name in self.parameters if name in used]
        read = [one for one in stores if one[0] not in self.names and one[0] not in self.buffers]
        if op == "bernoulli_" or any(store in self.noise for store, _ in read):
            if op != "mul":
                self.noise.add(storage_of(made))
                self.alive.append(made)
            return
        op = op.strip("_")
        if not read or op.endswith("_like") or op.startswith("new_"):
            if used:  # what is made of parameters alone, as by autocast, counts as they do
                self.names.setdefault(storage_of(made), used)
                self.alive.append(made)
            return
        kind, sizes = kind_of(op, bool(used), args), [tensor.numel() for _, tensor in read]
        layer = {"module": self.path[-1], "op": op, "kind": kind, "in": sum(sizes), "uses": used,
                 "flops": flops_of(op, kind, args, made, self.matrices(used)), "out": made.numel()}
        if kind == "elementwise":
            is_scale = op in ("mul", "div") and len(read) == 1
            layer["keeps"] = ("nothing" if op in KEEPS_NOTHING or is_scale else
                              "output" if op in KEEPS_OUTPUT else "input")
        elif kind == "pool" and "max_pool" not in op:
            layer["keeps"] = "nothing"
        self.layers.append(layer)
        if kind == "attention":
            self.join_attention()

    def join_attention(self) -> None:
        """Two products with a softmax between them are one layer, and what scales and masks."""
        last = self.layers[-1]
        own = [layer for layer in self.layers if layer["module"] == last["module"]]
        first = next((i for i in range(len(own) - 2, -1, -1) if own[i]["kind"] == "attention"), 0)
        scores, between = own[first]["out"], own[first + 1:-1]
        if not any(one["op"].endswith("softmax") and one["out"] == scores for one in between):
            return
        last.update({"in": own[first]["in"] + last["in"] - scores, "scores": scores,
                     "flops": own[first]["flops"] + last["flops"],
                     "uses": [name for one in own[first:] for name in one["uses"]]})
        gone = {id(one) for one in own[first:-1]}
        self.layers = [one for one in self.layers if id(one) not in gone]

    def begin(self, name: str) -> None:
        self.path.append(name)
        self.begins.append(len(self.layers))

    def end(self, is_leaf: bool) -> None:
        self.path.pop()
        own = self.layers[self.begins.pop():]
        if is_leaf and len(own) > KERNELS_MAX:
            joined = {key: sum(one[key] for one in own) for key in ("in", "out", "flops")}
            uses = list(dict.fromkeys(name for one in own for name in one["uses"]))
            self.layers[-len(own):] = [{**own[0], **joined, "kind": "other",
                                        "uses": uses}]


def watch_forward(model: torch.nn.Module, example: Any) -> Watch:
    """Buffers are afterwards what they were."""
    watch, hooks = Watch(model), []
    before = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    for name, module in model.named_modules():
        leaf = not any(True for _ in module.children())
        hooks.append(module.register_forward_pre_hook(lambda *_, name=name: watch.begin(name)))
        hooks.append(module.register_forward_hook(lambda *_, leaf=leaf: watch.end(leaf)))
    try:
        with watch:
            if isinstance(example, (list, tuple)):
                model(*example)
            elif hasattr(example, "keys"):
                model(**example)
            else:
                model(example)
    finally:
        for hook in hooks:
            hook.remove()
        with torch.no_grad():
            for buffer, was in before:
                buffer.copy_(was)
    return watch


def tensor_entry(name: str, tensor: torch.Tensor) -> Layer:
    shape, of_type = list(tensor.shape) or [1], TYPES.get(tensor.dtype)
    if of_type is None:  # the bytes of so many int64
        shape, of_type = [-(-tensor.numel() * tensor.element_size() // 8)], "int64"
    entry = {"name": name, "shape": shape, "type": of_type}
    if isinstance(tensor, torch.nn.Parameter) and not tensor.requires_grad:
        entry["frozen"] = True
    return entry


def entries_of(watch: Watch, model: torch.nn.Module, batch: int) -> List[Layer]:
    """As the file has them: parameters and buffers are with the first layer that uses them."""
    modules, rest, entries = dict(model.named_modules()), dict(watch.parameters), []
    ops: Dict[str, Set[str]] = {}
    for layer in watch.layers:
        ops.setdefault(layer["module"], set()).add(layer["op"])
    buffers = {name: [tensor_entry(own, buffer) for own, buffer in
                      module.named_buffers(recurse=False) if buffer.numel()]
               for name, module in modules.items()}
    for layer in watch.layers:
        module, op = layer["module"], layer["op"]
        is_alone = len(ops[module]) == 1 and not any(True for _ in modules[module].children())
        entry = {"module": module or op, **({} if is_alone or not module else {"op": op})}
        has_softmax = layer["kind"] != "attention" or "scores" in layer
        entry["kind"] = layer["kind"] if has_softmax else "linear"
        entry.update({key: -(-layer[key] // batch) for key in ("flops", "in", "out", "scores")
                      if layer.get(key)})
        entry.update({"keeps": layer["keeps"]} if "keeps" in layer else {})
        fresh = [name for name in dict.fromkeys(layer["uses"]) if name in rest]
        if watch.matrices(fresh) != watch.matrices(layer["uses"]):
            entry["weights"] = watch.matrices(layer["uses"])
        if fresh:
            start = module + "." if module else ""
            entry["parameters"] = [tensor_entry(
                name[len(start):] if name.startswith(start) else name, rest.pop(name))
                for name in fresh]
        if buffers.get(module):
            entry["buffers"] = buffers.pop(module)
        entries.append(entry)
    for name, parameter in rest.items():
        entry = tensor_entry(name, parameter)
        entries.append({"parameter": name, "count": parameter.numel(),
                        **{key: entry[key] for key in ("frozen",) if key in entry}})
    entries += [{"module": name or "model", "op": "buffers", "buffers": held}
                for name, held in buffers.items() if held]
    return entries


def blocks_of(model: torch.nn.Module) -> Dict[str, str]:
    """Modules in a list of their like, such as a transformer's layers, and the name of that."""
    found: Dict[str, str] = {}
    for name, module in model.named_modules():
        members = [member for _, member in module.named_children()]
        if (isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) and len(members) > 1 and
                len({type(member) for member in members}) == 1 and
                any(True for _ in members[0].children()) and
                not any(name.startswith(outer + ".") for outer in found)):
            found.update({f"{name}.{i}".strip("."): name for i in range(len(members))})
    return found


def in_blocks(entries: List[Layer], blocks: Dict[str, str]) -> List[Layer]:
    """Blocks that follow one another and are alike are written once."""
    def block_of(entry: Layer) -> Optional[str]:
        name = entry.get("module", "") + "."
        return next((block for block in blocks if name.startswith(block + ".")), None)

    result: List[Layer] = []
    for block, group in itertools.groupby(entries, block_of):
        if block is None:
            result += group
            continue
        around, number = blocks[block], int(block.rsplit(".", 1)[-1])
        counted = (around + "." if around else "") + "{i}"
        layers = [{**one, "module": counted + one["module"][len(block):]} for one in group]
        last = result[-1] if result else {}
        if last.get("layers") == layers and last["from"] + last["repeat"] == number:
            last["repeat"] += 1
        else:
            result.append({"repeat": 1, "from": number, "layers": layers})
    return result


def describe(model: torch.nn.Module, example_batch: Any, path: str = "network.json",
             sequence: Optional[int] = None) -> None:
    """Writes a file for `workload.model`. The batch is what the model is called with: a tensor, a
    tuple of arguments or a dict of them; its samples are the first length of its first tensor.
    `sequence` are the tokens of a sample, which `tokens/s` needs."""
    first = next(tensors_in(example_batch), None)
    batch = first.shape[0] if first is not None and first.dim() else 1
    watch = watch_forward(model, example_batch)
    entries = entries_of(watch, model, batch)
    unseen = [entry["module"] for entry in entries
              if entry.get("kind") == "elementwise" and entry["keeps"] != "nothing" and any(
                  sum(size > 1 for size in tensor["shape"]) > 1
                  for tensor in entry.get("parameters", []))]
    note = f"By paceline_describe.py with torch {torch.__version__}, of a batch of {batch}."
    if unseen:
        note += " Read element by element, as no product was seen: " + ", ".join(unseen)
    network = {"schema": "paceline.network/1", "name": type(model).__name__, "note": note,
               **({"sample": {"sequence": sequence}} if sequence else {})}
    lines = ",\n".join(json.dumps(entry) for entry in in_blocks(entries, blocks_of(model)))
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(network)[:-1] + ',\n"layers": [\n' + lines + "\n]}\n")
    print(f"{path}: {sum(one.numel() for one in watch.parameters.values())} parameters, "
          f"{sum(layer['flops'] for layer in watch.layers) / batch / 1e9:.4g} GFLOP a sample")
