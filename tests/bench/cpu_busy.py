"""How busy the CPUs of this machine are, all together, while a `with` of it lasts."""


class CpuBusy:
    """The sum over all its `with`s, from /proc/stat, as real/worker/session.cpp has it."""

    def __init__(self):
        self.idle = self.all = 0

    def __enter__(self):
        self.begun = self.now()
        return self

    def __exit__(self, *_):
        idle, every = (end - begin for begin, end in zip(self.begun, self.now()))
        self.idle += idle
        self.all += every

    @staticmethod
    def now():
        """Ticks: idle (the fourth and fifth column), and of all kinds but guests' (in user's)."""
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)

    def fraction(self):
        return 1.0 - self.idle / self.all if self.all > 0 else 0.0
