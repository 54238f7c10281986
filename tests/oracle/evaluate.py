#!/usr/bin/python3
"""Evaluates Math programs from their JSON with NumPy, in float64: an independent second opinion on the reference of core/interp.

    evaluate.py CASES.json

CASES is a list of {"id", "program", "dims", "inputs", "expected"}; arrays are {"dtype", "shape", "data"} with "nan", "inf", "-inf" as
strings, expected ones have "bound" and "undetermined" too. Prints what differs; exit status 1 if anything does. Names are resolved through
scopes that hold closures (no expression is ever rewritten); every index has its own array axis, so values broadcast.
"""
import json
import math
import sys

import numpy as np


class Value:
    """An array and which of its elements are there because a mask says so (0 or -inf that absorb their partner)."""

    def __init__(self, array, masked=None):
        self.array = np.asarray(array)
        self.masked = np.zeros((), bool) if masked is None else masked

    def deeper(self, axes):
        """The same value with further axes of extent 1 behind."""
        grow = lambda a: a if a.ndim == 0 else a.reshape(a.shape + (1,) * axes)
        return Value(grow(self.array), grow(self.masked))


class Scope:
    """What names mean at one place: indices as arrays, ranges, parameters as (expression, scope), and how many axes exist."""

    def __init__(self, axes=0):
        self.axes = axes
        self.indices = {}
        self.ranges = {}
        self.params = {}
        self.locals = {}
        self.names = {}    # index parameter of a function -> the caller's index
        self.symbols = {}
        self.caller = None

    def with_indices(self, bound, extents, rename=True):
        """A scope with one new axis for each (name, first value); callers' scopes follow, under their own names of the index."""
        scope = Scope(self.axes + len(bound))
        scope.ranges, scope.locals, scope.names = dict(self.ranges), self.locals, self.names
        grow = len(bound)
        scope.indices = {n: a.reshape(a.shape + (1,) * grow) if a.ndim else a for n, a in self.indices.items()}
        scope.symbols = {n: v.deeper(grow) for n, v in self.symbols.items()}
        for k, (name, first) in enumerate(bound):
            shape = [1] * scope.axes
            shape[self.axes + k] = extents[k]
            scope.indices[name] = np.arange(first, first + extents[k]).reshape(shape)
            scope.ranges[name] = (first, first + extents[k])
        if self.caller is not None:
            theirs = [(self.names.get(name), first) for name, first in bound]
            outer = self.caller.with_indices([(n or "#%d" % k, f) for k, (n, f) in enumerate(theirs)], extents)
            scope.caller = outer
            scope.params = {n: (e, outer) for n, (e, _) in self.params.items()}
        else:
            scope.params = self.params
        return scope


MASKING = ("number", "infinity", "neg")


def is_mask_literal(expr):
    if expr["op"] == "number":
        return expr.get("num") == 0
    return expr["op"] == "infinity" or (expr["op"] == "neg" and expr["args"][0]["op"] == "infinity")


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


UNARY = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "erf": erf, "sigmoid": sigmoid,
}
REAL_ONLY = {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid"}
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or,
}


def philox(counter, key):
    """Philox 4x32-10 on Python integers."""
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def random_number(seed, *arguments):
    words = lambda x: [int(x) & 0xFFFFFFFF, (int(x) >> 32) & 0xFFFFFFFF]
    key, arguments = words(seed), list(arguments) or [0]
    while arguments:
        pair, arguments = (arguments[:2] + [0])[:2], arguments[2:]
        result = philox(words(pair[0]) + words(pair[1]), key)
        key = result[:2]
    return (result[0] >> 8) * 2.0 ** -24


class Program:
    def __init__(self, program, dims, inputs):
        self.program = program
        self.dims = {d["name"]: dims.get(d["name"], d["value"]) for d in program["dims"]}
        self.functions = {f["name"]: f for f in program["functions"]}
        self.reducers = {r["name"]: r for r in program["reducers"]}
        self.tensors = {n: (Value(a), [0] * a.ndim) for n, a in inputs.items()}

    def run(self):
        for statement in self.program["statements"]:
            self.statement(statement)
        return {r["name"]: self.tensors[r["name"]][0].array for r in self.program["results"]}

    def statement(self, statement):
        scope = Scope()
        for axis in statement["axes"]:
            lo, hi = (self.evaluate(axis[end], scope).array for end in ("lo", "hi"))
            first, last = int(np.min(lo)), int(np.max(hi))
            scope = scope.with_indices([(axis["index"], first)], [max(last - first, 0)])
        if statement["kind"] == "map":
            value = self.evaluate(statement["value"], scope)
        else:
            reducer = statement["reducer"]
            name = reducer if isinstance(reducer, str) else reducer["name"]
            value = self.reduce(name, statement["result"], statement["over"], statement["values"], scope)
        ranges = [scope.ranges[a["index"]] for a in statement["axes"]]
        shape = tuple(hi - lo for lo, hi in ranges)
        result = next((r for r in self.program["results"] if r["name"] == statement["name"]), None)
        dtype = statement["dtype"] or (result["dtype"] if result else None)
        array = cast(value.array, dtype)
        self.tensors[statement["name"]] = (Value(np.broadcast_to(array, shape), np.broadcast_to(value.masked, shape)), [lo for lo, _ in ranges])

    # ---- expressions ----
    def evaluate(self, expr, scope):
        op = expr["op"]
        special = getattr(self, "op_" + op, None)
        if special:
            return special(expr, scope)
        args = [self.evaluate(a, scope) for a in expr["args"]]
        if op in UNARY:
            return self.unary(op, args[0])
        return self.binary(op, *args)

    def op_number(self, expr, _):
        if "value" in expr:
            return Value(float(expr["value"]))
        return Value(expr["num"]) if expr["den"] == 1 else Value(expr["num"] / expr["den"])

    def op_infinity(self, *_):
        return Value(np.inf)

    def op_boolean(self, expr, _):
        return Value(bool(expr["value"]))

    def op_index(self, expr, scope):
        return Value(scope.indices[expr["name"]])

    def op_dim(self, expr, _):
        return Value(self.dims[expr["name"]])

    def op_symbol(self, expr, scope):
        name = expr["name"]
        if name in scope.symbols:
            return scope.symbols[name]
        if name in scope.params:
            return self.evaluate(*scope.params[name])
        return self.evaluate(scope.locals[name], scope)

    def op_extent(self, expr, scope):
        name = expr["args"][0]["name"]
        lo, hi = self.range_of(name, list(scope.params.values()), scope)
        return Value(np.asarray(hi) - np.asarray(lo))

    def op_cast(self, expr, scope):
        value = self.evaluate(expr["args"][0], scope)
        return Value(cast(value.array, expr["dtype"]), value.masked)

    def op_call(self, expr, scope):
        function = self.functions[expr["name"]]
        inner = Scope(scope.axes)
        inner.caller = scope
        inner.locals = {l["name"]: l["value"] for l in function["locals"]}
        inner.params = {p: (a, scope) for p, a in zip(function["parameters"], expr["args"])}
        for own, theirs in zip(function["indices"], expr["indices"]):
            inner.names[own] = theirs
            if theirs in scope.indices:
                inner.indices[own] = scope.indices[theirs]
                inner.ranges[own] = scope.ranges[theirs]
        return self.evaluate(function["body"], inner)

    def op_read(self, expr, scope):
        tensor, first = self.tensors[expr["name"]]
        places = [self.evaluate(a, scope) for a in expr["args"]]
        if not places:
            return Value(tensor.array, tensor.masked)
        inside = np.asarray(True)
        positions = []
        for axis, place in enumerate(places):
            position = np.asarray(place.array).astype(np.int64) - first[axis]
            fits = (position >= 0) & (position < tensor.array.shape[axis])
            inside = inside & fits
            positions.append(np.where(fits, position, 0))
        if tensor.array.size == 0:
            empty = np.full(np.broadcast_shapes(*(p.shape for p in positions)), np.nan)
            return Value(empty)
        positions = tuple(np.broadcast_arrays(*positions))
        array = tensor.array[positions]
        outside = np.nan if array.dtype.kind == "f" else 0
        masked = np.broadcast_to(tensor.masked, tensor.array.shape)[positions] & inside
        return Value(np.where(inside, array, outside), masked)

    def op_where(self, expr, scope):
        condition, then, otherwise = (self.evaluate(a, scope) for a in expr["args"])
        test = condition.array.astype(bool)
        masked = [v.masked | is_mask_literal(e) for v, e in ((then, expr["args"][1]), (otherwise, expr["args"][2]))]
        return Value(np.where(test, then.array, otherwise.array), np.where(test, *masked))

    def op_logical_not(self, expr, scope):
        return Value(~self.evaluate(expr["args"][0], scope).array.astype(bool))

    def op_random(self, expr, scope):
        arrays = np.broadcast_arrays(*(self.evaluate(a, scope).array for a in expr["args"]))
        return Value(np.vectorize(random_number, otypes=[float])(*arrays))

    def op_reduce(self, expr, scope):
        return self.reduce(expr["name"], expr["result"], expr["over"], expr["args"], scope)

    def unary(self, op, x):
        array = x.array.astype(float) if op in REAL_ONLY or x.array.dtype == bool else x.array
        result = UNARY[op](array)
        if op in ("exp", "exp2"):
            return Value(np.where(x.masked & (array == -np.inf), 0.0, result), x.masked & (array == -np.inf))
        keeps = op in ("neg", "abs", "floor", "sqrt", "tanh", "sin", "erf", "log", "log2")
        return Value(result, x.masked & ((result == 0) | np.isinf(result)) if keeps else None)

    def binary(self, op, a, b):
        x, y = a.array, b.array
        if op in ("add", "sub", "mul", "min", "max"):
            x, y = (v.astype(np.int64) if v.dtype == bool else v for v in (x, y))
        if op == "div":
            result = x.astype(float) / y.astype(float)
        elif op == "floordiv":
            result = np.floor_divide(x, np.where(y == 0, 1, y))
        elif op == "mod":
            result = np.mod(x, np.where(y == 0, 1, y))
        elif op == "pow":
            whole = x.dtype.kind in "iu" and y.dtype.kind in "iu" and np.all(y >= 0)
            result = x ** y if whole else np.power(x.astype(float), y.astype(float))
        else:
            result = BINARY[op](x, y)
        return self.absorbed(op, a, b, result)

    @staticmethod
    def absorbed(op, a, b, result):
        """A term whose factor a mask made 0 counts as masked out; so does -inf that a mask added."""
        if op in ("mul", "div"):
            zero = a.masked & (a.array == 0)
            if op == "mul":
                zero = zero | (b.masked & (b.array == 0))
            return Value(np.where(zero, 0, result), zero)
        if op in ("add", "sub"):
            left, right = a.masked & np.isinf(a.array), b.masked & np.isinf(b.array)
            other = -b.array if op == "sub" else b.array
            result = np.where(left & ~right, a.array, np.where(right & ~left, other, result))
            zeros = a.masked & b.masked & (a.array == 0) & (b.array == 0)
            return Value(result, (left ^ right) | zeros)
        return Value(result)

    # ---- reductions ----
    def range_of(self, name, closures, scope):
        """A stated range, the caller's, or the extent of what the index reads."""
        if name in scope.ranges:
            return scope.ranges[name]
        for expr, where in closures:
            theirs = scope.names.get(name, name) if where is not scope else name
            found = self.extent_read(expr, theirs, where)
            if found:
                return found
        raise ValueError("no range for " + name)

    def extent_read(self, expr, name, scope):
        if expr is None:
            return None
        if expr["op"] == "read":
            tensor, first = self.tensors[expr["name"]]
            for axis, place in enumerate(expr["args"]):
                if place["op"] == "index" and place["name"] == name:
                    return first[axis], first[axis] + tensor.array.shape[axis]
        if expr["op"] == "symbol" and expr["name"] in scope.params:
            inner, where = scope.params[expr["name"]]
            return self.extent_read(inner, scope.names.get(name, name), where)
        if expr["op"] == "symbol" and expr["name"] in scope.locals:
            return self.extent_read(scope.locals[expr["name"]], name, scope)
        for part in expr.get("args", []):
            found = self.extent_read(part, name, scope)
            if found:
                return found
        return None

    def reduce(self, name, result, over, values, scope):
        bound, extents, ragged = [], [], []
        for axis in over:
            if axis["lo"] is not None:
                lo, hi = self.evaluate(axis["lo"], scope).array, self.evaluate(axis["hi"], scope).array
            else:
                lo, hi = (np.asarray(e) for e in self.range_of(axis["index"], [(v, scope) for v in values], scope))
            first = int(np.min(lo)) if lo.size else 0
            last = int(np.max(hi)) if hi.size else first
            bound.append((axis["index"], first))
            extents.append(max(last - first, 0))
            ragged.append((lo, hi))
        inner = scope.with_indices(bound, extents)
        inside = np.asarray(True)
        grow = lambda a: a.reshape(a.shape + (1,) * len(bound)) if a.ndim else a
        for (index, _), (lo, hi) in zip(bound, ragged):
            inside = inside & (inner.indices[index] >= grow(lo)) & (inner.indices[index] < grow(hi))
        columns = [self.evaluate(v, inner) for v in values]
        shape = np.broadcast_shapes(inside.shape, *(c.array.shape for c in columns), (1,) * scope.axes + tuple(extents))
        inside = np.broadcast_to(inside, shape)
        columns = [np.broadcast_to(c.array, shape) for c in columns]
        axes = tuple(range(scope.axes, scope.axes + len(bound)))
        if name in self.reducers:
            return self.fold(self.reducers[name], result, columns, inside, axes, scope)
        return Value(BUILTIN[name](columns, inside, axes, result))

    def fold(self, reducer, result, columns, inside, axes, scope):
        """A declared reducer, element by element in index order."""
        outer = inside.shape[: scope.axes]
        flat = lambda a: a.reshape(outer + (-1,))
        columns, inside = [flat(c) for c in columns], flat(inside)
        names = [c["name"] for c in reducer["state"]]
        state = [np.broadcast_to(self.evaluate(c["identity"], scope).array, outer) for c in reducer["state"]]
        for k in range(inside.shape[-1]):
            lifting, combining = Scope(scope.axes), Scope(scope.axes)
            lifting.symbols = {p: Value(c[..., k]) for p, c in zip(reducer["parameters"], columns)}
            element = [self.evaluate(c["lift"], lifting).array for c in reducer["state"]]
            combining.symbols = {n: Value(s) for n, s in zip(names, state)}
            combining.symbols.update({n + "'": Value(e) for n, e in zip(names, element)})
            after = [self.evaluate(c["combine"], combining).array for c in reducer["state"]]
            state = [np.where(inside[..., k], a, s) for a, s in zip(after, state)]
        projecting = Scope(scope.axes)
        projecting.symbols = {n: Value(s) for n, s in zip(names, state)}
        wanted = next(r for r in reducer["results"] if not result or r["name"] == result)
        return self.evaluate(wanted["value"], projecting)


def plain(ufunc, start):
    def reduce(columns, inside, axes, _):
        x = columns[0]
        if x.dtype == bool:
            x = x.astype(np.int64)
        if isinstance(start, float) and math.isinf(start):
            x = x.astype(float)
        return ufunc.reduce(np.where(inside, x, start), axis=axes, initial=start)
    return reduce


def place(sign):
    def reduce(columns, inside, axes, result):
        count = math.prod(inside.shape[a] for a in axes)
        outer = tuple(n for a, n in enumerate(inside.shape) if a not in axes)
        x, at = (np.asarray(c).reshape(outer + (count,)) for c in columns)
        inside = inside.reshape(outer + (count,))
        key = np.where(inside, sign * x.astype(float), -np.inf)
        if count == 0:
            return np.full(outer, 2147483647) if result != "value" else np.full(outer, -sign * np.inf)
        best = key.max(axis=-1, keepdims=True)       # NaN where there is one
        tied = inside & ((key == best) | (np.isnan(best) & np.isnan(key)))
        if result == "value":
            return sign * best[..., 0]
        return np.where(tied, at, 2147483647).min(axis=-1)
    return reduce


BUILTIN = {
    "sum": plain(np.add, 0), "prod": plain(np.multiply, 1), "max": plain(np.maximum, -np.inf), "min": plain(np.minimum, np.inf),
    "any": lambda c, inside, axes, _: np.any(c[0].astype(bool) & inside, axis=axes),
    "all": lambda c, inside, axes, _: np.all(c[0].astype(bool) | ~inside, axis=axes),
    "argmax": place(1), "argmin": place(-1),
}


def cast(array, dtype):
    """Integers and bool change kind; floats stay unrounded, as in the reference."""
    if dtype in ("i64", "i32", "i8"):
        return np.rint(np.nan_to_num(array)).astype(np.int64) if array.dtype.kind == "f" else array.astype(np.int64)
    if dtype == "bool":
        return array.astype(bool)
    if dtype in ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"):
        return array.astype(float)
    return array


def array_of(json_array):
    data = np.array([float(x) for x in json_array["data"]], dtype=float).reshape(json_array["shape"])
    return cast(data, json_array["dtype"])


def differences(case):
    inputs = {n: array_of(a) for n, a in case["inputs"].items()}
    results = Program(case["program"], case["dims"], inputs).run()
    for name, expected in case["expected"].items():
        wanted = np.array([float(x) for x in expected["data"]])
        bound = np.array([float(x) for x in expected["bound"]])
        got = np.broadcast_to(results[name], expected["shape"]).astype(float).reshape(-1)
        for k in range(wanted.size):
            if expected["undetermined"][k] and math.isinf(bound[k]):
                continue
            same = got[k] == wanted[k] or (math.isnan(got[k]) and math.isnan(wanted[k]))
            if not same and not abs(got[k] - wanted[k]) <= 1e-3 * bound[k] + 1e-12 * abs(wanted[k]):
                yield "%s: %s[%d] is %r here, %r in the reference" % (case["id"], name, k, got[k], wanted[k])


def main():
    np.seterr(all="ignore")
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    found = 0
    for case in cases:
        for difference in differences(case):
            found += 1
            if found <= 20:
                print(difference)
    print("%d cases, %d differences" % (len(cases), found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
