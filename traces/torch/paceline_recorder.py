"""Records the training steps of a PyTorch script, for `paceline import`.

    import paceline_recorder
    with paceline_recorder.record("run.trace"):
        train()

Each rank writes a file when the block ends, also by an exception: run.trace where there is one
rank, else run.<rank>.trace. It holds the times of the forward pass, of each parameter's gradient,
of the backward pass, of the optimizer and of the buckets of DistributedDataParallel. README.md,
beside this file in Paceline's sources, tells the rest. It needs torch (1.13 or 2) and no more.

The run stays as it is: a failure in here is reported once, on stderr, and ends the recording only.
"""
import functools
import json
import os
import socket
import sys
import threading
import time
import weakref

import torch

SCHEMA = "paceline.recording/1"

# What a line of the log is of; each is (what, mark, more).
(FORWARD_BEGIN, FORWARD_END, BACKWARD_BEGIN, BACKWARD_END, GRADIENT, OPTIMIZER_BEGIN, OPTIMIZER_END,
 BUCKET, BUCKET_END, STOP) = range(10)


class HostClock:
    """Marks are nanoseconds: what a CPU computes is done when the call returns."""
    kind = "host"
    now = staticmethod(time.perf_counter_ns)

    @staticmethod
    def times_of(marks, _starts):
        return marks


class DeviceClock:
    """Marks are CUDA events on the stream that is current: nothing waits until the end is read."""
    kind = "device"

    def __init__(self, device):
        self.device = device

    @staticmethod
    def now():
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("CUDA graphs cannot be recorded")
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def times_of(self, marks, starts):
        """A float of milliseconds loses microseconds within a minute: times are taken from the
        start of their step, and starts from the one before."""
        torch.cuda.synchronize(self.device)
        times, anchor, anchor_ns = [], marks[0], 0
        for index, mark in enumerate(marks):
            since_ns = 0 if mark is anchor else round(anchor.elapsed_time(mark) * 1e6)
            times.append(anchor_ns + since_ns)
            if index in starts:
                anchor, anchor_ns = mark, times[-1]
        return times


def first_length(values):
    """Of the first tensor: samples of a batch."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            return int(value.shape[0])
        length = first_length(value) if isinstance(value, (list, tuple, dict)) else 0
        if length:
            return length
    return 0


def is_sharded(module):
    """FSDP and its like change the sizes of parameters under way: those are left alone."""
    return any(word in type(part).__name__ for part in module.modules()
               for word in ("FullyShardedDataParallel", "FSDP", "DeepSpeed")) or any(
        type(parameter).__name__ in ("FlatParameter", "DTensor") or parameter.numel() == 0
        for parameter in module.parameters())


class DdpModel:
    """What can be read of a DistributedDataParallel."""

    def __init__(self, model, number_of):
        self.model = model
        ignored = set(getattr(model, "parameters_to_ignore", ()))
        # As torch lists them for its reducer: each once, in the order of registration.
        self.tensors = [parameter for name, parameter in model.module.named_parameters()
                        if parameter.requires_grad and name not in ignored]
        self.parameters = [number_of.get(id(parameter)) for parameter in self.tensors]
        self.group_size = model.process_group.size()
        self.own_hook = bool(self.logged().get("comm_hook"))
        self.is_watched = False
        self.known_buckets = {}

    def logged(self):
        data = getattr(self.model, "_get_ddp_logging_data", None)
        return data() if data else {}

    def settings(self):
        told = {key: getattr(self.model, key, None) for key in
                ("gradient_as_bucket_view", "find_unused_parameters", "static_graph",
                 "broadcast_buffers")}
        return {"bucket_cap_bytes": getattr(self.model, "bucket_bytes_cap", None), **told,
                "group_size": self.group_size,
                "comm_hook": self.logged().get("comm_hook") if self.own_hook else None}

    def rebuilt_buckets(self):
        """Lists of numbers in self.tensors, as the reducer told them."""
        told = self.logged().get("rebuilt_per_bucket_param_indices", "")
        return [[int(number) for number in bucket.split()] for bucket in told.split(",") if bucket]

    def first_buckets(self):
        """Those before they are rebuilt: torch tells their sizes only; made again as it does."""
        distributed = torch.distributed
        limits = [sys.maxsize]
        if self.model.find_unused_parameters and not self.model.static_graph:
            limits = [distributed._DEFAULT_FIRST_BUCKET_BYTES, self.model.bucket_bytes_cap]
        if any(getattr(part, "sparse", False) for part in self.model.modules()):
            return []
        made = distributed._compute_bucket_assignment_by_size(
            self.tensors, limits, [False] * len(self.tensors))
        buckets = list(reversed(made[0]))
        sizes = [sum(self.tensors[number].numel() * self.tensors[number].element_size()
                     for number in bucket) for bucket in buckets]
        told = self.logged().get("bucket_sizes", "")
        return buckets if [int(size) for size in told.split(",") if size.strip()] == sizes else []

    def buckets(self, is_rebuilt, notes):
        key = "rebuilt" if is_rebuilt else "first"
        if key not in self.known_buckets:
            found = self.rebuilt_buckets() if is_rebuilt else self.first_buckets()
            if not found:
                notes.append(f"{key} buckets of DistributedDataParallel are not known")
            self.known_buckets[key] = found
        return self.known_buckets[key]

    def inferred_calls(self, number, buckets, at):
        """Buckets are launched in their order, each when the gradients of it and of those before
        are ready. Gradients that never come do not hold up anything: torch takes them as unused."""
        calls, launched = [], min((at[parameter] for parameter in self.parameters
                                   if parameter in at), default=None)
        if launched is None:
            return []  # this model is not of this backward pass
        for index, bucket in enumerate(buckets):
            tensors = [self.tensors[member] for member in bucket]
            launched = max([launched, *(at[self.parameters[member]] for member in bucket
                                        if self.parameters[member] in at)])
            calls.append(call_of(number, index, sum(tensor.numel() for tensor in tensors),
                                 None if self.own_hook else tensors[0].element_size(), launched))
        return calls


def call_of(model, index, elements, element_bytes, launched_ns=None):
    return {"model": model, "index": index, "elements": elements, "element_bytes": element_bytes,
            "launched_ns": launched_ns, "end_ns": None}


WATCHED = weakref.WeakKeyDictionary()  # by model: what its hook calls


def watch_of(model):
    """A list of what to call with the number and the buffer of each bucket, which returns what to
    call at its end: by a communication hook that does what DistributedDataParallel does without
    one. Torch cannot take a hook back: it stays with the model, and a later block uses it again."""
    if model in WATCHED:
        return WATCHED[model]
    told = []

    def paceline_all_reduce(group, bucket):
        buffer = bucket.buffer()
        ends = [begins(bucket.index(), buffer) for begins in told]
        buffer.div_(group.size())
        work = torch.distributed.all_reduce(buffer, group=group, async_op=True)

        def result(future):
            for done in filter(None, ends):
                done()
            return future.value()[0]

        return work.get_future().then(result)

    model.register_comm_hook(model.process_group, paceline_all_reduce)
    WATCHED[model] = told
    return told


def process():
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return {}
    return {"rank": distributed.get_rank(), "world_size": distributed.get_world_size(),
            "backend": distributed.get_backend()}


class Recording:
    """Hooks, and the log that they write."""

    def __init__(self, steps, collectives):
        self.steps_most, self.collectives = steps, collectives
        self.log = []         # (what, mark, more); of a gradient its number
        self.clock = self.in_forward = None
        self.notes, self.ddp = [], []
        self.is_active, self.lock = True, threading.Lock()
        self.undo = []        # takes each hook away
        self.roots = []       # outermost modules that train
        self.samples = 0      # of the forward pass under way
        self.parameters = []  # {"name", ...}
        self.number_of = {}   # of a parameter, by id
        self.kept = []        # tensors whose ids these are; nodes of the graph that carry hooks
        self.steps, self.step_begin = 0, 0  # of the one under way: its place in the log
        self.closing = GRADIENT  # what ends a step; where an optimizer was seen its end
        self.about = {"rank": 0, "world_size": 1, "backend": None, "device": "", "unix_ns": None}

    def guarded(self, function):
        def call(*arguments):
            try:
                return function(*arguments) if self.is_active else None
            except Exception as error:  # pylint: disable=broad-except
                return self.fail(error)
        return call

    def fail(self, error):
        with self.lock:
            was_active, self.is_active = self.is_active, False
        if was_active:
            text = f"recording ended early: {type(error).__name__}: {error}"
            self.notes.append(text[:500])
            tell(text)

    def mark(self, what, more=None):
        self.log.append((what, self.clock.now(), more))

    def start(self):
        self.about.update(process())
        self.watch_backward()
        self.watch_optimizers()
        self.finding = torch.nn.modules.module.register_module_forward_pre_hook(
            self.guarded(self.find_root))
        self.undo.append(self.finding.remove)

    def stop(self):
        """Removes all hooks; reports those that it cannot remove."""
        self.is_active = False
        while self.undo:
            try:
                self.undo.pop()()
            except Exception as error:  # pylint: disable=broad-except
                tell(f"a hook stays: {error}")

    def find_root(self, module, inputs):
        """A module called outside any other, with parameters to train: before its first call."""
        if (self.in_forward is None and module not in self.roots and torch.is_grad_enabled()
                and any(parameter.requires_grad for parameter in module.parameters())):
            self.take_root(module)
            self.forward_begins(module, inputs)

    def take_root(self, module):
        self.roots.append(module)
        if self.clock is None:
            device = next(module.parameters()).device
            self.clock = DeviceClock(device) if device.type == "cuda" else HostClock()
            if device.type not in ("cuda", "cpu"):
                self.notes.append(f"times of {device.type} are the host's")
            name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
            self.about.update(process(), device=name, unix_ns=time.time_ns())
        sharded = is_sharded(module)
        self.take_parameters(module, sharded)
        if not sharded:
            self.take_ddp(module)
        begins, ends = self.guarded(self.forward_begins), self.guarded(self.forward_ends)
        try:  # torch 2 shows the arguments that have names as well
            hook = module.register_forward_pre_hook(begins, with_kwargs=True)
        except TypeError:
            hook = module.register_forward_pre_hook(begins)
        self.undo += [hook.remove, module.register_forward_hook(ends).remove]

    def take_parameters(self, module, sharded):
        is_wrapper = type(module).__name__ in ("DistributedDataParallel", "DataParallel")
        prefix = "module." if is_wrapper else ""
        if sharded:
            self.notes.append("parameters are sharded: their gradients are not recorded")
        for name, parameter in module.named_parameters():
            if id(parameter) in self.number_of:
                continue
            number = len(self.parameters)
            self.number_of[id(parameter)] = number
            self.kept.append(parameter)
            self.parameters.append({
                "name": name[len(prefix):] if name.startswith(prefix) else name,
                "elements": parameter.numel(), "element_bytes": parameter.element_size(),
                "requires_grad": parameter.requires_grad})
            if parameter.requires_grad and not sharded:
                self.watch_gradient(parameter, number)

    def watch_gradient(self, parameter, number):
        note, now = self.log.append, self.clock.now  # no look-ups: there are many gradients
        ready = self.guarded(lambda *_: note((GRADIENT, now(), number)))
        if hasattr(parameter, "register_post_accumulate_grad_hook"):
            self.undo.append(parameter.register_post_accumulate_grad_hook(ready).remove)
            return
        with torch.enable_grad():
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        self.kept.append(node)
        self.undo.append(node.register_hook(ready).remove)

    def take_ddp(self, module):
        for part in module.modules():
            if not isinstance(part, torch.nn.parallel.DistributedDataParallel):
                continue
            ddp = DdpModel(part, self.number_of)
            self.ddp.append(ddp)
            if part in WATCHED:
                ddp.own_hook = False  # it is ours, of a block before
            if part in WATCHED or (self.collectives and not ddp.own_hook):
                told = watch_of(part)
                told.append(functools.partial(self.guarded(self.bucket_begins), len(self.ddp) - 1))
                self.undo.append(told.clear)
                ddp.is_watched = True

    def bucket_begins(self, number, index, buffer):
        """Returns what notes its end. Called in threads of torch, as that is."""
        call = call_of(number, index, buffer.numel(), buffer.element_size())
        self.mark(BUCKET, call)
        return self.guarded(lambda: self.mark(BUCKET_END, call))

    def forward_begins(self, module, inputs, named=None):
        is_inside = self.in_forward not in (None, module) and any(
            part is module for part in self.in_forward.modules())
        if is_inside or not torch.is_grad_enabled():
            return
        if any(what == self.closing for what, _, _ in self.log[self.step_begin:]):
            self.steps, self.step_begin = self.steps + 1, len(self.log)
            self.finding.remove()  # every model had its turn
            if self.steps >= self.steps_most:
                self.mark(STOP)
                self.stop()
                return
        self.in_forward = module
        samples = first_length(inputs) or first_length(named or {})
        # Where several models take turns, as many go through the first as through all.
        self.samples = samples if module is self.roots[0] else 0
        self.mark(FORWARD_BEGIN)

    def forward_ends(self, module, _inputs, output):
        if self.in_forward is not module:
            return
        self.in_forward = None
        models = [(getattr(ddp.model, "_has_rebuilt_buckets", False),
                   ddp.model.require_backward_grad_sync) for ddp in self.ddp]
        if self.samples == 0 and module is self.roots[0]:
            self.samples = first_length(output if isinstance(output, dict) else [output])
        self.mark(FORWARD_END, (models, self.samples))

    def around(self, begin, end):
        """What to call before and after calls, of which only the outermost count."""
        depth = 0

        def cross(what, step):
            nonlocal depth
            if self.clock is None:
                return
            depth += step
            if depth != (1 if what == begin else 0):
                return
            self.in_forward = None  # one that was left by an exception
            self.mark(what)
            if what == OPTIMIZER_END and self.closing != what:
                self.closing = what
                self.steps = 0  # passes that counted as steps until there was an optimizer

        return self.guarded(lambda *_: cross(begin, 1)), self.guarded(lambda *_: cross(end, -1))

    def watch_backward(self):
        """Tensor.backward goes through torch.autograd.backward."""
        begins, ends = self.around(BACKWARD_BEGIN, BACKWARD_END)
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(*arguments, **options):
            begins()
            try:
                return original(*arguments, **options)
            finally:
                ends()

        self.replace(torch.autograd, "backward", backward)

    def watch_optimizers(self):
        begins, ends = self.around(OPTIMIZER_BEGIN, OPTIMIZER_END)
        optimizer = sys.modules[torch.optim.Optimizer.__module__]
        if hasattr(optimizer, "register_optimizer_step_pre_hook"):
            self.undo += [optimizer.register_optimizer_step_pre_hook(begins).remove,
                          optimizer.register_optimizer_step_post_hook(ends).remove]
            return
        # Before torch 2 all step() ran in a range of this name, schedulers' replacements of it too.
        profiler = torch.autograd.profiler
        original = profiler.record_function

        class Range(original):
            def __enter__(self):
                if self.name.startswith("Optimizer.step#"):
                    begins()
                return super().__enter__()

            def __exit__(self, *exception):
                result = super().__exit__(*exception)
                if self.name.startswith("Optimizer.step#"):
                    ends()
                return result

        self.replace(profiler, "record_function", Range)

    def replace(self, owner, name, ours):
        original = getattr(owner, name)
        setattr(owner, name, ours)

        def restore():
            if getattr(owner, name) is not ours:
                raise RuntimeError(f"{name} was replaced by others")
            setattr(owner, name, original)

        self.undo.append(restore)

    def header(self):
        self.about.update(process())
        return {"schema": SCHEMA, "torch": torch.__version__, "host": socket.gethostname(),
                **self.about, "clock": self.clock.kind if self.clock else None,
                "parameters": self.parameters, "ddp": [ddp.settings() for ddp in self.ddp],
                "notes": self.notes}


def steps_of(recording):
    """The log in steps. One begins with the first forward pass after an optimizer's step or, where
    there is no optimizer, after gradients."""
    closing, starts, is_complete = recording.closing, [], True
    log = list(recording.log)
    for index, (what, _, _) in enumerate(log):
        if what in (FORWARD_BEGIN, STOP) and is_complete:
            starts.append(index)
            is_complete = False
        is_complete = is_complete or what == closing
    times = recording.clock.times_of([mark for _, mark, _ in log], set(starts)) if log else []
    first, steps = min(times, default=0), []
    log = [(what, time_ns - first, more) for (what, _, more), time_ns in zip(log, times)]
    for what, time_ns, more in log:
        if what in (BUCKET, BUCKET_END):
            more["launched_ns" if what == BUCKET else "end_ns"] = time_ns
    for number, start in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else len(log)
        if not any(what == closing for what, _, _ in log[start:stop]):
            continue  # cut off by the end of the block
        end_ns = log[stop][1] if stop < len(log) else max(
            time_ns for what, time_ns, _ in log[start:] if what != BUCKET_END)
        steps.append(step_of(recording, number, log[start:stop], end_ns))
    return steps


def pairs(log, begin, end):
    found, begun = [], None
    for what, time_ns, _ in log:
        if what == end and begun is not None:
            found.append([begun, time_ns])
        if what in (begin, end):
            begun = time_ns if what == begin else None
    return found


def step_of(recording, number, log, end_ns):
    begin_ns = log[0][1]
    gradients = [(time_ns, more) for what, time_ns, more in log if what == GRADIENT]
    backward, waits, buckets = [], [], []
    for begin, end, ready, told, watched in backward_passes(log):
        backward.append([begin, end])
        calls = calls_of(recording, ready, told, watched, end)
        buckets += calls
        if calls:
            waits.append([max(time_ns for time_ns, _ in ready), end])
    return {"step": number, "begin_ns": begin_ns, "end_ns": end_ns,
            "forward_ns": pairs(log, FORWARD_BEGIN, FORWARD_END), "backward_ns": backward,
            "waits_ns": waits, "optimizer_ns": pairs(log, OPTIMIZER_BEGIN, OPTIMIZER_END),
            # On a device, streams of their own may be ahead or behind.
            "gradients_ns": [min(max(time_ns, begin_ns), end_ns) for time_ns, _ in gradients],
            "gradient_parameters": [parameter for _, parameter in gradients],
            "samples": sum(more[1] for what, _, more in log if what == FORWARD_END),
            "buckets": buckets}


def backward_passes(log):
    """Of each its begin, end, [(time, parameter)], what was recorded of models before it, and the
    buckets that were watched. Where its begin is not seen it begins as its forward pass ends."""
    begin, ready, told, buckets, before = None, [], [], [], log[0][1]
    for what, time_ns, more in [*log, (FORWARD_END, None, ([], 0))]:
        if what == FORWARD_END:
            if begin is None and ready:  # its end was not seen
                yield before, ready[-1][0], ready, told, buckets
                ready, buckets = [], []
            told, before = more[0], time_ns
        elif what == BACKWARD_BEGIN:
            begin = time_ns
        elif what == GRADIENT:
            ready.append((time_ns, more))
        elif what == BUCKET:
            buckets.append(more)
        elif what == BACKWARD_END and begin is not None:
            if ready:
                yield begin, time_ns, ready, told, buckets
            begin, ready, buckets = None, [], []


def calls_of(recording, ready, told, watched, backward_end):
    """The buckets of a backward pass: as the hook saw them, or from when their gradients were
    ready. Then the end of the last one alone is known: the backward pass waits for it."""
    calls = list(watched)
    at = {parameter: time_ns for time_ns, parameter in ready}
    for number, (ddp, (is_rebuilt, is_synced)) in enumerate(zip(recording.ddp, told)):
        if ddp.is_watched or not is_synced:
            continue
        own = ddp.inferred_calls(number, ddp.buckets(is_rebuilt, recording.notes), at)
        if own:
            own[-1]["end_ns"] = backward_end
        calls += own
    return calls


def tell(text):
    try:
        print(f"paceline_recorder: {text}", file=sys.stderr, flush=True)
    except Exception:  # pylint: disable=broad-except
        pass


def write(path, header, steps):
    """To run.trace, or run.<rank>.trace where there are several: all of it, or nothing."""
    if header["world_size"] > 1:
        stem, extension = os.path.splitext(path)
        path = f"{stem}.{header['rank']}{extension}"
    unfinished = f"{path}.{os.getpid()}.unfinished"
    try:
        with open(unfinished, "w", encoding="utf-8") as file:
            for line in [header, *steps, {"steps": len(steps)}]:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)


class record:  # pylint: disable=invalid-name
    """Records the steps in its block, the first `steps` of them, and writes `path` at its end.

    With `collectives` each all-reduce of DistributedDataParallel is watched by a communication
    hook, which tells when it ended, not only the last one's end. It costs a pass over the
    gradients, and stays with the model (README.md)."""
    running = None

    def __init__(self, path, steps=100, collectives=False):
        self.path, self.steps, self.collectives = path, steps, collectives
        self.recording = None

    def __enter__(self):
        if record.running is not None:
            tell("a block within another one records nothing")
            return self
        try:
            self.recording = Recording(int(self.steps), bool(self.collectives))
            record.running = self
            self.recording.start()
        except Exception as error:  # pylint: disable=broad-except
            tell(f"nothing is recorded: {type(error).__name__}: {error}")
            self.leave()
        return self

    def leave(self):
        recording, self.recording = self.recording, None
        if recording is not None:
            record.running = None
            recording.stop()
        return recording

    def __exit__(self, *exception):
        recording = self.leave()
        if recording is None:
            return
        try:
            steps = steps_of(recording)
            header = recording.header()
            if not steps:
                tell("no training step was seen")
            write(os.fspath(self.path), header, steps)
        except Exception as error:  # pylint: disable=broad-except
            tell(f"nothing is written: {type(error).__name__}: {error}")
