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
STEPS_MOST = 100  # of a recording where nothing else is said

# What a line of the log is of; each is (what, mark, more).
(FORWARD_BEGIN, FORWARD_END, BACKWARD_BEGIN, BACKWARD_END, GRADIENT, OPTIMIZER_BEGIN, OPTIMIZER_END,
 BUCKET, STOP) = range(9)


class HostClock:
    """Marks are nanoseconds: what a CPU computes is done when the call returns."""
    kind = "host"
    now = staticmethod(time.perf_counter_ns)

    @staticmethod
    def times_of(marks, _starts):
        first = min(marks, default=0)
        return [mark - first for mark in marks]


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
        """Since the first one. A float of milliseconds loses microseconds within a minute: times
        are taken from the start of their step, and starts from the one before."""
        torch.cuda.synchronize(self.device)
        times, anchor, anchor_ns = [], marks[0] if marks else None, 0
        for index, mark in enumerate(marks):
            time_ns = anchor_ns
            if mark is not anchor:
                time_ns += round(anchor.elapsed_time(mark) * 1e6)
            times.append(time_ns)
            if index in starts:
                anchor, anchor_ns = mark, time_ns
        first = min(times, default=0)
        return [time_ns - first for time_ns in times]


def first_length(values):
    """Of the first tensor: samples of a batch."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            return int(value.shape[0])
        if isinstance(value, (list, tuple, dict)):
            length = first_length(value)
            if length:
                return length
    return 0


def is_sharded(module):
    """FSDP and its like change the sizes of parameters under way: those are left alone."""
    if any(word in type(part).__name__ for part in module.modules()
           for word in ("FullyShardedDataParallel", "FSDP", "DeepSpeed")):
        return True
    return any(type(parameter).__name__ in ("FlatParameter", "DTensor") or parameter.numel() == 0
               for parameter in module.parameters())


class DdpModel:
    """What can be read of a DistributedDataParallel."""

    def __init__(self, model, number_of):
        self.model = model
        ignored = set(getattr(model, "parameters_to_ignore", ()))
        # As torch lists them for its reducer: each once, in the order of registration.
        named = [(name, parameter) for name, parameter in model.module.named_parameters()
                 if parameter.requires_grad and name not in ignored]
        self.tensors = [parameter for _, parameter in named]
        self.parameters = [number_of.get(id(parameter)) for parameter in self.tensors]
        self.group_size = model.process_group.size()
        self.own_hook = bool(self.logged().get("comm_hook"))
        self.watch = None  # a BucketWatch
        self.sparse = any(getattr(part, "sparse", False) for part in model.modules())

    def logged(self):
        data = getattr(self.model, "_get_ddp_logging_data", None)
        return data() if data else {}

    def is_rebuilt(self):
        return bool(getattr(self.model, "_has_rebuilt_buckets", False))

    def settings(self):
        model, logged = self.model, self.logged()
        return {
            "bucket_cap_bytes": getattr(model, "bucket_bytes_cap", None),
            "gradient_as_bucket_view": getattr(model, "gradient_as_bucket_view", None),
            "find_unused_parameters": getattr(model, "find_unused_parameters", None),
            "static_graph": getattr(model, "static_graph", None),
            "broadcast_buffers": getattr(model, "broadcast_buffers", None),
            "group_size": self.group_size,
            "comm_hook": logged.get("comm_hook") if self.own_hook else None,
        }

    def rebuilt_buckets(self):
        """Lists of numbers in self.tensors, as the reducer told them, or None."""
        told = self.logged().get("rebuilt_per_bucket_param_indices")
        if not told:
            return None
        return [[int(number) for number in bucket.split()] for bucket in told.split(",")]

    def first_buckets(self):
        """Those before they are rebuilt: torch tells their sizes only; made again as it does."""
        distributed = torch.distributed
        limits = [sys.maxsize]
        if self.model.find_unused_parameters and not self.model.static_graph:
            limits = [distributed._DEFAULT_FIRST_BUCKET_BYTES, self.model.bucket_bytes_cap]
        if self.sparse:
            return None
        made = distributed._compute_bucket_assignment_by_size(
            self.tensors, limits, [False] * len(self.tensors))
        buckets = list(reversed(made[0]))
        sizes = [sum(self.tensors[number].numel() * self.tensors[number].element_size()
                     for number in bucket) for bucket in buckets]
        told = self.logged().get("bucket_sizes", "")
        return buckets if [int(size) for size in told.split(",") if size.strip()] == sizes else None


class BucketWatch:
    """A communication hook that does what DistributedDataParallel does without one, and tells when.

    Torch cannot take a hook back: it stays with the model, and is used again by a later block."""
    of_models = weakref.WeakKeyDictionary()

    def __init__(self):
        self.told = None  # what to call with (bucket); returns what to call at its end

    @classmethod
    def on(cls, model):
        watch = cls.of_models.get(model)
        if watch is None:
            watch = cls()
            model.register_comm_hook(model.process_group, watch.hook())
            cls.of_models[model] = watch
        return watch

    def hook(self):
        def paceline_all_reduce(group, bucket):
            told, buffer = self.told, bucket.buffer()
            done = told(bucket.index(), buffer) if told else None
            buffer.div_(group.size())
            work = torch.distributed.all_reduce(buffer, group=group, async_op=True)

            def result(future):
                if done:
                    done()
                return future.value()[0]

            return work.get_future().then(result)

        return paceline_all_reduce


class Recording:
    """Hooks, and the log that they write."""

    def __init__(self, steps, collectives):
        self.steps_most = steps
        self.collectives = collectives
        self.log = []         # (what, mark, more)
        # Gradients apart, as there are many: which, when, and how many came before each of the log.
        self.ready_numbers, self.ready_marks, self.ready_before = [], [], []
        self.clock = None
        self.notes = []
        self.is_active = True
        self.undo = []        # takes each hook away
        self.roots = []       # outermost modules that train
        self.in_forward = None
        self.samples = 0      # of the forward pass under way
        self.parameters = []  # {"name", ...}
        self.number_of = {}   # of a parameter, by id
        self.kept = []        # tensors whose ids these are; nodes of the graph that carry hooks
        self.ddp = []
        self.depth = {BACKWARD_BEGIN: 0, OPTIMIZER_BEGIN: 0}
        self.steps = 0
        self.step_has = set()  # GRADIENT, OPTIMIZER_END
        self.saw_optimizer = False
        self.about = {}
        self.lock = threading.Lock()

    # What may fail stays inside.

    def guarded(self, function):
        @functools.wraps(function)
        def call(*arguments):
            if self.is_active:
                try:
                    function(*arguments)
                except Exception as error:  # pylint: disable=broad-except
                    self.fail(error)
        return call

    def fail(self, error):
        with self.lock:
            if not self.is_active:
                return
            self.is_active = False
        self.note(f"recording ended early: {type(error).__name__}: {error}")

    def note(self, text):
        self.notes.append(text[:500])
        tell(text)

    def mark(self, what, more=None):
        self.ready_before.append(len(self.ready_marks))
        self.log.append((what, self.clock.now(), more))

    def full_log(self):
        """With the gradients in their places."""
        full, done = [], 0
        for entry, before in zip(self.log, self.ready_before):
            full += self.gradients(done, before)
            full.append(entry)
            done = before
        return full + self.gradients(done, len(self.ready_marks))

    def gradients(self, begin, end):
        return [(GRADIENT, mark, number) for mark, number in
                zip(self.ready_marks[begin:end], self.ready_numbers[begin:end])]

    # Hooks.

    def start(self):
        self.about = self.process()
        self.watch_backward()
        self.watch_optimizers()
        found = torch.nn.modules.module.register_module_forward_pre_hook(
            self.guarded(self.find_root))
        self.finding = found.remove
        self.undo.append(found.remove)

    def stop(self):
        """Removes all hooks; reports those that it cannot remove."""
        self.is_active = False
        undo, self.undo = self.undo, []
        for take_away in reversed(undo):
            try:
                take_away()
            except Exception as error:  # pylint: disable=broad-except
                tell(f"a hook stays: {error}")

    def find_root(self, module, inputs):
        """A module called outside any other, with parameters to train: before its first call."""
        if self.in_forward is not None or not torch.is_grad_enabled() or module in self.roots:
            return
        if not any(parameter.requires_grad for parameter in module.parameters()):
            return
        self.take_root(module)
        self.forward_begins(module, inputs)

    def take_root(self, module):
        self.roots.append(module)
        if self.clock is None:
            device = next(module.parameters()).device
            self.clock = DeviceClock(device) if device.type == "cuda" else HostClock()
            if device.type not in ("cuda", "cpu"):
                self.notes.append(f"times of {device.type} are the host's")
            self.about.update(self.process())
            self.about["device"] = (torch.cuda.get_device_name(device) if device.type == "cuda"
                                    else device.type)
            self.about["unix_ns"] = time.time_ns()
        sharded = is_sharded(module)
        self.take_parameters(module, sharded)
        if not sharded:
            self.take_ddp(module)
        begins = self.watch_forward(module)
        ends = module.register_forward_hook(self.guarded(self.forward_ends))
        self.undo += [begins.remove, ends.remove]

    def watch_forward(self, module):
        """Torch 2 shows the arguments that have names as well."""
        begins = self.guarded(self.forward_begins)
        try:
            return module.register_forward_pre_hook(begins, with_kwargs=True)
        except TypeError:
            return module.register_forward_pre_hook(begins)

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
        # No object is made but what is kept, nor are there look-ups: this is most of what it costs.
        note_number, note_mark = self.ready_numbers.append, self.ready_marks.append
        now, fail = self.clock.now, self.fail

        def ready(_first, _second=None):
            try:
                note_mark(now())
                note_number(number)
            except Exception as error:  # pylint: disable=broad-except
                fail(error)

        if hasattr(parameter, "register_post_accumulate_grad_hook"):
            self.undo.append(parameter.register_post_accumulate_grad_hook(ready).remove)
            return
        with torch.enable_grad():
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        self.kept.append(node)
        self.undo.append(node.register_hook(ready).remove)

    def take_ddp(self, module):
        parallel = torch.nn.parallel.DistributedDataParallel
        for part in module.modules():
            if not isinstance(part, parallel):
                continue
            ddp = DdpModel(part, self.number_of)
            self.ddp.append(ddp)
            watch = BucketWatch.of_models.get(part)
            if watch:
                ddp.own_hook = False  # it is ours, of a block before
            if self.collectives and not ddp.own_hook:
                watch = BucketWatch.on(part)
            if watch:
                ddp.watch = watch
                watch.told = functools.partial(self.bucket_begins, len(self.ddp) - 1)
                self.undo.append(functools.partial(setattr, watch, "told", None))

    def bucket_begins(self, number, index, buffer):
        """Returns what notes its end. Called in threads of torch, as that is."""
        if not self.is_active:
            return None
        try:
            ends = []
            self.mark(BUCKET, (number, index, buffer.numel(), buffer.element_size(), ends))
        except Exception as error:  # pylint: disable=broad-except
            self.fail(error)
            return None
        return self.guarded(lambda: ends.append(self.clock.now()))

    def is_step_complete(self):
        return (OPTIMIZER_END if self.saw_optimizer else GRADIENT) in self.step_has

    def forward_begins(self, module, inputs, named=None):
        if not torch.is_grad_enabled():
            return
        if self.in_forward is not None and self.in_forward is not module and self.is_within(module):
            return
        if self.ready_before and len(self.ready_marks) > self.ready_before[-1]:
            self.step_has.add(GRADIENT)
        if self.is_step_complete():
            self.steps += 1
            self.step_has.clear()
            if self.finding:  # every model had its turn
                self.finding()
                self.finding = None
            if self.steps >= self.steps_most:
                self.mark(STOP)
                self.stop()
                return
        self.in_forward = module
        samples = first_length(inputs) or first_length(named or {})
        # Where several models take turns, as many go through the first as through all.
        self.samples = samples if module is self.roots[0] else 0
        self.mark(FORWARD_BEGIN)

    def is_within(self, module):
        return any(part is module for part in self.in_forward.modules())

    def forward_ends(self, module, _inputs, output):
        if self.in_forward is not module:
            return
        self.in_forward = None
        models = [(ddp.is_rebuilt(), bool(ddp.model.require_backward_grad_sync))
                  for ddp in self.ddp]
        if self.samples == 0 and module is self.roots[0]:
            self.samples = first_length(output if isinstance(output, dict) else [output])
        self.mark(FORWARD_END, (models, self.samples))

    def around(self, begin, end, is_begin):
        """Only the outermost of calls within each other."""
        if self.clock is None:
            return
        self.depth[begin] += 1 if is_begin else -1
        if self.depth[begin] == (1 if is_begin else 0):
            self.in_forward = None  # one that was left by an exception
            self.mark(begin if is_begin else end)
            self.step_has.add(GRADIENT if begin == BACKWARD_BEGIN else end)
            if end == OPTIMIZER_END and not self.saw_optimizer:
                self.saw_optimizer = True
                self.steps = 0  # passes that counted as steps until there was an optimizer

    def around_calls(self, begin, end):
        return (self.guarded(lambda *_: self.around(begin, end, True)),
                self.guarded(lambda *_: self.around(begin, end, False)))

    def watch_backward(self):
        """Tensor.backward goes through torch.autograd.backward."""
        begins, ends = self.around_calls(BACKWARD_BEGIN, BACKWARD_END)
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(*arguments, **options):
            begins()
            try:
                return original(*arguments, **options)
            finally:
                ends()

        self.replace(torch.autograd, "backward", original, backward)

    def watch_optimizers(self):
        begins, ends = self.around_calls(OPTIMIZER_BEGIN, OPTIMIZER_END)
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

        self.replace(profiler, "record_function", original, Range)

    def replace(self, owner, name, original, ours):
        setattr(owner, name, ours)

        def restore():
            if getattr(owner, name) is not ours:
                raise RuntimeError(f"{name} was replaced by others")
            setattr(owner, name, original)

        self.undo.append(restore)

    # What it says.

    @staticmethod
    def process():
        distributed = torch.distributed
        if not distributed.is_available() or not distributed.is_initialized():
            return {}
        return {"rank": distributed.get_rank(), "world_size": distributed.get_world_size(),
                "backend": distributed.get_backend()}

    def header(self):
        about = dict(self.about)
        if "rank" not in about:
            about.update(self.process())
        return {"schema": SCHEMA, "torch": torch.__version__, "host": socket.gethostname(),
                "rank": about.get("rank", 0), "world_size": about.get("world_size", 1),
                "backend": about.get("backend"), "device": about.get("device", ""),
                "clock": self.clock.kind if self.clock else None, "unix_ns": about.get("unix_ns"),
                "parameters": self.parameters,
                "ddp": [ddp.settings() for ddp in self.ddp], "notes": self.notes}


def steps_of(recording):
    """The log in steps. One begins with the first forward pass after an optimizer's step or, where
    there is no optimizer, after gradients."""
    closing = OPTIMIZER_END if recording.saw_optimizer else GRADIENT
    starts, is_complete = [], True
    log = recording.full_log()
    for index, (what, _, _) in enumerate(log):
        if what in (FORWARD_BEGIN, STOP) and is_complete:
            starts.append(index)
            is_complete = False
        is_complete = is_complete or what == closing
    log = with_times(recording.clock, log, set(starts))
    steps = []
    for number, start in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else len(log)
        if not any(what == closing for what, _, _ in log[start:stop]):
            continue  # cut off by the end of the block
        end_ns = log[stop][1] if stop < len(log) else max(entry[1] for entry in log[start:])
        steps.append(step_of(recording, number, log[start:stop], end_ns))
    return steps


def with_times(clock, log, starts):
    """The log with times in the place of marks, also for the ends of buckets."""
    marks, anchors = [], set()
    for index, (what, mark, more) in enumerate(log):
        if index in starts:
            anchors.add(len(marks))
        marks.append(mark)
        if what == BUCKET:
            marks += more[4]
    times = iter(clock.times_of(marks, anchors) if marks else [])
    timed = []
    for what, _, more in log:
        timed.append((what, next(times), more))
        if what == BUCKET:
            more[4][:] = [next(times) for _ in more[4]]
    return timed


def pairs(log, begin, end):
    found, begun = [], None
    for what, time_ns, _ in log:
        if what == begin:
            begun = time_ns
        elif what == end and begun is not None:
            found.append([begun, time_ns])
            begun = None
    return found


def step_of(recording, number, log, end_ns):
    step = {"step": number, "begin_ns": log[0][1], "end_ns": end_ns,
            "forward_ns": pairs(log, FORWARD_BEGIN, FORWARD_END), "backward_ns": [], "waits_ns": [],
            "optimizer_ns": pairs(log, OPTIMIZER_BEGIN, OPTIMIZER_END)}
    gradients = [(time_ns, more) for what, time_ns, more in log if what == GRADIENT]
    # On a device, streams of their own may be ahead or behind.
    step["gradients_ns"] = [min(max(time_ns, log[0][1]), end_ns) for time_ns, _ in gradients]
    step["gradient_parameters"] = [parameter for _, parameter in gradients]
    step["samples"] = sum(more[1] for what, _, more in log if what == FORWARD_END)
    step["buckets"] = []
    for begin, end, ready, told, buckets in backward_passes(log):
        step["backward_ns"].append([begin, end])
        calls = calls_of(recording, ready, told, buckets, end)
        step["buckets"] += calls
        if calls:
            step["waits_ns"].append([max(time_ns for time_ns, _ in ready), end])
    return step


def backward_passes(log):
    """Of each its begin, end, [(time, parameter)], what was recorded of models before it, and the
    buckets that were watched. Where its begin is not seen it begins as its forward pass ends."""
    begin, ready, told, buckets, before = None, [], [], [], log[0][1]
    for what, time_ns, more in log:
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
            buckets.append((time_ns, more))
        elif what == BACKWARD_END and begin is not None:
            if ready:
                yield begin, time_ns, ready, told, buckets
            begin, ready, buckets = None, [], []
    if ready and begin is None:
        yield before, ready[-1][0], ready, told, buckets


def calls_of(recording, ready, told, watched, backward_end):
    """The buckets of a backward pass: as the hook saw them, or from when their gradients were
    ready. Then the end of the last one alone is known: the backward pass waits for it."""
    calls = []
    for launched, (number, index, elements, element_bytes, ends) in watched:
        calls.append({"model": number, "index": index, "elements": elements,
                      "element_bytes": element_bytes, "launched_ns": launched,
                      "end_ns": ends[0] if ends else None})
    at = {}
    for time_ns, parameter in ready:
        at[parameter] = time_ns
    for number, (ddp, (is_rebuilt, is_synced)) in enumerate(zip(recording.ddp, told)):
        if ddp.watch or not is_synced:
            continue
        buckets = buckets_of(recording, ddp, is_rebuilt)
        own = inferred_calls(number, ddp, buckets, at)
        if own:
            own[-1]["end_ns"] = backward_end
        calls += own
    return calls


def buckets_of(recording, ddp, is_rebuilt):
    key = "rebuilt" if is_rebuilt else "first"
    kept = ddp.__dict__.setdefault("buckets", {})
    if key not in kept:
        kept[key] = ddp.rebuilt_buckets() if is_rebuilt else ddp.first_buckets()
        if kept[key] is None:
            recording.notes.append(f"{key} buckets of DistributedDataParallel are not known")
    return kept[key] or []


def inferred_calls(number, ddp, buckets, at):
    """Buckets are launched in their order, each when the gradients of it and of those before are
    ready. Gradients that never come do not hold up anything: torch takes them as unused."""
    calls, launched = [], min((at[parameter] for parameter in ddp.parameters if parameter in at),
                              default=None)
    if launched is None:
        return []  # this model is not of this backward pass
    for index, bucket in enumerate(buckets):
        tensors = [ddp.tensors[member] for member in bucket]
        times = [at[parameter] for parameter in (ddp.parameters[member] for member in bucket)
                 if parameter in at]
        launched = max([launched, *times])
        calls.append({"model": number, "index": index,
                      "elements": sum(tensor.numel() for tensor in tensors),
                      "element_bytes": None if ddp.own_hook else tensors[0].element_size(),
                      "launched_ns": launched, "end_ns": None})
    return calls


def tell(text):
    try:
        print(f"paceline_recorder: {text}", file=sys.stderr, flush=True)
    except Exception:  # pylint: disable=broad-except
        pass


def path_of(path, header):
    """run.trace, or run.<rank>.trace where there are several."""
    if header["world_size"] <= 1:
        return path
    stem, extension = os.path.splitext(path)
    return f"{stem}.{header['rank']}{extension}"


def write(path, header, steps):
    """All of it, or nothing."""
    unfinished = f"{path}.{os.getpid()}.unfinished"
    try:
        with open(unfinished, "w", encoding="utf-8") as file:
            for line in [header, *steps, {"steps": len(steps)}]:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        os.replace(unfinished, path)
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise


class record:  # pylint: disable=invalid-name
    """Records the steps in its block, the first `steps` of them, and writes `path` at its end.

    With `collectives` each all-reduce of DistributedDataParallel is watched by a communication
    hook, which tells when it ended, not only the last one's end. It costs a pass over the
    gradients, and stays with the model (README.md)."""
    running = None

    def __init__(self, path, steps=STEPS_MOST, collectives=False):
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
            return False
        try:
            steps = steps_of(recording)
            header = recording.header()
            if not steps:
                tell("no training step was seen")
            write(path_of(os.fspath(self.path), header), header, steps)
        except Exception as error:  # pylint: disable=broad-except
            tell(f"nothing is written: {type(error).__name__}: {error}")
        return False
