# ---- how the mathematics is evaluated ----
# Elements are computed where they are asked for, and kept: a row of a result takes what that row reads. Every index of a statement has an
# array axis of its own, so values broadcast. Arithmetic is float64; what the text rounds to a type is rounded to it.
MOST = 1 << 23  # elements of one step; more are computed in parts
KEPT = 1 << 26  # elements that are remembered


class TooLarge(Exception):
    pass


class Frame:
    def __init__(self, axes, first, volume):
        self.axes, self.next, self.volume, self.inside = axes, first, volume, np.asarray(True)


class Evaluation:
    """The operator on given inputs: arrays as launch.py stores them, by name."""

    def __init__(self, inputs, dims):
        self.inputs, self.dims = inputs, dims
        self.types = {p["name"]: p["dtype"] for p in PARAMETERS}
        self.frames, self.memory, self.kept, self.parts = [], {}, 0, []

    def at(self, name, *subscripts):
        """Elements of a tensor. A subscript outside is one that a condition rules out: any element will do."""
        places = [np.asarray(s).astype(np.int64) for s in subscripts]
        if name in self.inputs:
            array = self.inputs[name]
            if 0 in array.shape:
                return np.zeros(np.broadcast_shapes(*(p.shape for p in places)))
            inside = tuple(np.clip(p, 0, n - 1) for p, n in zip(places, array.shape))
            return decoded(array[inside], self.types[name])
        values = [np.unique(p) for p in places]
        grid = self.grid(name, values)
        return grid[tuple(np.searchsorted(v, p) for v, p in zip(values, places))]

    def grid(self, name, values):
        key = (name, *(v.tobytes() for v in values))
        if key not in self.memory:
            array = self.computed(name, values)
            self.memory[key] = array
            self.kept += array.size
            for old in list(self.memory):
                if self.kept <= KEPT or old == key:
                    break
                self.kept -= self.memory.pop(old).size
        return self.memory[key]

    def computed(self, name, values):
        function, reduced, dtype = STATEMENTS[name]
        shape = tuple(v.size for v in values)
        if 0 in shape:
            return np.zeros(shape)
        axes = len(values) + reduced
        volume = int(np.prod(shape))
        indices = [v.reshape([-1 if k == axis else 1 for k in range(axes)]) for axis, v in enumerate(values)]
        self.frames.append(Frame(axes, len(values), volume))
        self.frames[-1].may_part = volume > 1
        try:
            array = np.asarray(function(self, *indices))
        except TooLarge:
            array = None
        finally:
            self.frames.pop()
        if array is None:
            longest = int(np.argmax(shape))
            halves = np.array_split(values[longest], 2)
            parts = [self.computed(name, values[:longest] + [half] + values[longest + 1:]) for half in halves]
            return np.concatenate(parts, axis=longest)
        return rounded(np.broadcast_to(array, shape) if array.shape != shape else array, dtype)

    # ---- reductions ----
    def over(self, lo, hi):
        """The next reduced index of the statement: its values, on an axis of their own. Ranges may depend on indices before."""
        frame = self.frames[-1]
        lo, hi = np.asarray(lo), np.asarray(hi)
        first, last = (int(lo.min()), int(hi.max())) if lo.size and hi.size else (0, 0)
        count = max(last - first, 0)
        frame.volume *= max(count, 1)
        if frame.volume > MOST and frame.may_part:
            raise TooLarge
        index = np.arange(first, first + count).reshape([-1 if k == frame.next else 1 for k in range(frame.axes)])
        frame.next += 1
        frame.inside = frame.inside & (index >= lo) & (index < hi)
        frame.shape = np.broadcast_shapes(getattr(frame, "shape", (1,) * frame.axes), index.shape)
        return index

    def columns(self, reduced, identities, values):
        """The values with the reduced axes as one, in order; what is outside of the ranges is the identity."""
        inside = self.frames[-1].inside
        shape = np.broadcast_shapes(inside.shape, self.frames[-1].shape, *(np.shape(v) for v in values))
        own = shape[:len(shape) - reduced]
        return [np.where(inside, np.broadcast_to(v, shape), i).reshape(own + (-1,)) for v, i in zip(values, identities)]

    def reduced(self, operation, identity, reduced, value):
        column, = self.columns(reduced, [identity], [value])
        return operation.reduce(column, axis=-1) if column.shape[-1] else np.full(column.shape[:-1], identity)

    def folded(self, identities, reduced, lifted, combine):
        """Neighbours are combined, in order, until one state is left."""
        state = self.columns(reduced, identities, lifted)
        if state[0].shape[-1] == 0:
            return [np.full(s.shape[:-1], i) for s, i in zip(state, identities)]
        while state[0].shape[-1] > 1:
            if state[0].shape[-1] % 2:
                state = [np.concatenate([s, np.full(s.shape[:-1] + (1,), i)], axis=-1) for s, i in zip(state, identities)]
            state = [np.asarray(s) for s in combine([s[..., 0::2] for s in state], [s[..., 1::2] for s in state])]
        return [s[..., 0] for s in state]


def decoded(array, dtype):
    """Stored elements as float64, or as int64."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64 if dtype in ("f16", "f32", "f64") else np.int64)


def encoded(array, dtype):
    """Numbers as they are stored: bf16 as its 16 bits, ties to even."""
    if dtype == "bf16":
        bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.asarray(array).astype({"f16": np.float16, "f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32,
                                     "i8": np.int8, "bool": np.uint8}[dtype])


def rounded(array, dtype):
    if dtype in (None, "f64"):
        return array
    if dtype in ("bf16", "f16", "f32"):
        return decoded(encoded(array, dtype), dtype)
    if dtype == "bool":
        return (np.asarray(array) != 0).astype(np.int64)
    least, most = {"i8": (-2**7, 2**7 - 1), "i32": (-2**31, 2**31 - 1), "i64": (-2**63, 2**63 - 1024)}[dtype]
    if np.asarray(array).dtype.kind == "f":  # to the nearest, and to the ends of what the type holds
        array = np.clip(np.rint(np.nan_to_num(array, nan=0.0, posinf=most, neginf=least)), least, most)
    return np.asarray(array).astype(np.int64)


def power(x, y):
    x, y = np.asarray(x), np.asarray(y)
    whole = x.dtype.kind in "iu" and y.dtype.kind in "iu" and np.all(y >= 0)
    return x ** y if whole else np.power(x.astype(float), y.astype(float))


def quotient(x, y):
    return np.asarray(x, dtype=float) / np.asarray(y, dtype=float)


def floor_quotient(x, y):
    return np.floor_divide(x, np.where(np.equal(y, 0), 1, y))


def remainder(x, y):
    return np.mod(x, np.where(np.equal(y, 0), 1, y))


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, dtype=float)))


def philox(counter, key):
    """Philox 4x32-10."""
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def random_number(seed, *arguments):
    def words(x):
        return [int(x) & 0xFFFFFFFF, (int(x) >> 32) & 0xFFFFFFFF]
    key, arguments = words(seed), list(arguments) or [0]
    while arguments:
        pair, arguments = (arguments[:2] + [0])[:2], arguments[2:]
        result = philox(words(pair[0]) + words(pair[1]), key)
        key = result[:2]
    return (result[0] >> 8) * 2.0 ** -24


def random(*arguments):
    return np.vectorize(random_number, otypes=[float])(*np.broadcast_arrays(*arguments))


# ---- the operator, opened: one function a statement ----
