"""The vector arithmetic of `rlsuite.inference.simd` in LLVM's instructions; imported when something is compiled.

W neighbouring states are one register of W *lanes*, up to four registers collect their sums while the other factor runs
through all states, and only the results are stored.

Every product is rounded before it is added, and sums across lanes are taken in one order, so that all processors get
the same bytes: instructions that multiply and add at once are not faster here, where the matrix has to be read.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import cgutils, types

from rlsuite.inference.simd import REGISTERS

# the builders of numba and llvmlite have no type annotations
_cgutils: Any = cgutils
_types: Any = types
_ir: Any = ir

Value: TypeAlias = Any
"""A value of LLVM: a number, a register of lanes, or an address; llvmlite carries no types, nor does numba below."""
Builder: TypeAlias = Any
"""What appends instructions to a function (``llvmlite.ir.IRBuilder``)."""
Target: TypeAlias = Any
"""What knows how numba lays out arrays and tuples."""
Type: TypeAlias = Any
"""The type of an argument."""
Signature: TypeAlias = Any
"""The types of the arguments and of the result."""
Written: TypeAlias = tuple[Signature, Callable[[Target, Builder, Signature, list[Value]], Value]]
"""What numba asks of an intrinsic: its signature, and what writes its instructions."""

_number: Value = _ir.DoubleType()
_index: Value = _ir.IntType(64)


class _Writer:
    """Writes instructions on registers of W float64 lanes at the end of a builder's block."""

    def __init__(self, target: Target, builder: Builder, lanes: Type) -> None:
        self.target = target
        self.builder = builder
        self.width = len(lanes[0])
        self.known_states = len(lanes[1])  # 0 if their number is not known
        self.type: Value = _ir.VectorType(_number, self.width)

    def rows(self, of_array: Type, value: Value) -> tuple[Value, Value, Value]:
        """Return the address of a two-dimensional array's first entry, its number of rows, and their length."""
        array = self.target.make_array(of_array)(self.target, self.builder, value)
        rows, length = _cgutils.unpack_tuple(self.builder, array.shape)
        return array.data, rows, _index(self.width) if self.known_states else length

    def row(self, of_array: Type, value: Value, number: Value) -> Value:
        """Return the address of a row."""
        data, _, length = self.rows(of_array, value)
        return self.builder.gep(data, [self.builder.mul(number, length)])

    def load(self, address: Value, offset: Value) -> Value:
        slot = self.builder.bitcast(self.builder.gep(address, [offset]), self.type.as_pointer())
        return self.builder.load(slot, align=8)

    def store(self, register: Value, address: Value, offset: Value) -> None:
        slot = self.builder.bitcast(self.builder.gep(address, [offset]), self.type.as_pointer())
        self.builder.store(register, slot, align=8)

    def scalar(self, address: Value, offset: Value) -> Value:
        """Return one entry, in all lanes."""
        return self.everywhere(self.builder.load(self.builder.gep(address, [offset])))

    def everywhere(self, value: Value) -> Value:
        """Return a number in all lanes."""
        nothing = _ir.Constant(self.type, _ir.Undefined)
        first = self.builder.insert_element(nothing, value, _ir.IntType(32)(0))
        zeros = _ir.Constant(_ir.VectorType(_ir.IntType(32), self.width), [0] * self.width)
        return self.builder.shuffle_vector(first, nothing, zeros)

    def constant(self, value: float) -> Value:
        return _ir.Constant(self.type, [value] * self.width)

    def variable(self, value: float) -> Value:
        """Return a register whose content changes, as an address; the optimiser takes it out of memory."""
        slot = _cgutils.alloca_once(self.builder, self.type)
        self.builder.store(self.constant(value), slot)
        return slot

    def add_to(self, slot: Value, register: Value) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(slot), register), slot)

    def raise_to(self, slot: Value, register: Value) -> None:
        """Keep the greater of both in each lane."""
        old = self.builder.load(slot)
        greater = self.builder.fcmp_ordered(">", register, old)
        self.builder.store(self.builder.select(greater, register, old), slot)

    def product_sum(self, one: Value, other: Value, more: Value) -> Value:
        """Return one * other + more."""
        return self.builder.fadd(self.builder.fmul(one, other), more)

    def together(self, slots: list[Value]) -> Value:
        """Return the sum of four registers."""
        one, two, three, four = (self.builder.load(slot) for slot in slots)
        return self.builder.fadd(self.builder.fadd(one, two), self.builder.fadd(three, four))

    def across(self, what: str, register: Value) -> Value:
        """Return the sum ("fadd") or the maximum ("fmax") of the lanes."""
        b, width = self.builder, self.width
        while width > 1:  # the upper half of the lanes onto the lower one
            width //= 2
            kind = _ir.VectorType(_ir.IntType(32), width)
            low = b.shuffle_vector(register, register, _ir.Constant(kind, [*range(width)]))
            high = b.shuffle_vector(register, register, _ir.Constant(kind, [*range(width, 2 * width)]))
            register = b.fadd(low, high) if what == "fadd" else b.select(b.fcmp_ordered(">", high, low), high, low)
        return b.extract_element(register, _ir.IntType(32)(0))

    def groups(self, length: Value, write: Callable[[Value, int], None]) -> None:
        """Call ``write(offset, n)`` for runs of n = REGISTERS registers, and then of single ones, up to `length`."""
        b = self.builder
        if self.known_states:
            write(_index(0), 1)
            return
        big = _index(REGISTERS * self.width)
        whole = b.mul(b.udiv(length, big), big)
        with _cgutils.for_range_slice(b, _index(0), whole, big) as (offset, _):
            write(offset, REGISTERS)
        with _cgutils.for_range_slice(b, whole, length, _index(self.width)) as (offset, _):
            write(offset, 1)

    def offsets(self, offset: Value, n: int) -> list[Value]:
        """Return where each register of a run begins."""
        return [self.builder.add(offset, _index(k * self.width)) for k in range(n)]

    def collect(
        self,
        times: Value,
        n: int,
        empty: float,
        step: Callable[[Value, list[Value]], None],
        join: Callable[[Value, Value], None],
    ) -> list[Value]:
        """Run ``step(i, places)`` for i in 0..times-1, and return n registers in which it collected something.

        A single register would have to wait for each result, so it is two that take turns.
        """
        b = self.builder
        chains = [[self.variable(empty) for _ in range(n)] for _ in range(2 if n == 1 else 1)]
        if isinstance(times, int):
            for i in range(times):
                step(_index(i), chains[i % 2])
            join(chains[0][0], b.load(chains[1][0]))
            return [b.load(chains[0][0])]
        together = _index(len(chains))
        with _cgutils.for_range(b, b.udiv(times, together)) as loop:
            for k, slots in enumerate(chains):
                step(b.add(b.mul(loop.index, together), _index(k)), slots)
        if len(chains) == 2:
            with b.if_then(b.trunc(times, _ir.IntType(1))):
                step(b.sub(times, _index(1)), chains[0])
            join(chains[0][0], b.load(chains[1][0]))
        return [b.load(slot) for slot in chains[0]]

    def entries(self, u: Value) -> Callable[[Value], Value]:
        """Return a function that gives an entry of a row, in all lanes."""
        if not self.known_states:
            return lambda i: self.scalar(u, i)
        row = self.load(u, _index(0))
        kind = _ir.VectorType(_ir.IntType(32), self.width)
        return lambda i: self.builder.shuffle_vector(row, row, _ir.Constant(kind, [i.constant] * self.width))

    def times_matrix(self, u: Value, matrix: Value, states: Value, length: Value, offset: Value, n: int) -> list[Value]:
        """Return n registers of sum_i u[i] matrix[i, :]."""
        entry = self.entries(u)

        def step(i: Value, slots: list[Value]) -> None:
            factor = entry(i)
            start = self.builder.add(self.builder.mul(i, length), offset)
            for slot, at in zip(slots, self.offsets(start, n), strict=True):
                value = self.product_sum(factor, self.load(matrix, at), self.builder.load(slot))
                self.builder.store(value, slot)

        return self.collect(self.known_states or states, n, 0.0, step, self.add_to)


def multiply(
    context: Target,
    matrix: Type,
    u: Type,
    u_row: Type,
    table: Type,
    row: Type,
    scale: Type,
    out: Type,
    out_row: Type,
    lanes: Type,
) -> Written:
    """Fill ``out = (u @ matrix) * table[row] * scale`` and return its sum."""

    def generate(target: Target, b: Builder, signature: Signature, given: list[Value]) -> Value:
        kinds = signature.args
        w = _Writer(target, b, kinds[8])
        data, states, length = w.rows(kinds[0], given[0])
        source, factors = w.row(kinds[1], given[1], given[2]), w.row(kinds[3], given[3], given[4])
        goal = w.row(kinds[6], given[6], given[7])
        scales, total = w.everywhere(given[5]), w.variable(0.0)

        def write(offset: Value, n: int) -> None:
            sums = w.times_matrix(source, data, states, length, offset, n)
            for at, each in zip(w.offsets(offset, n), sums, strict=True):
                value = b.fmul(each, b.fmul(scales, w.load(factors, at)))
                w.store(value, goal, at)
                w.add_to(total, value)

        w.groups(length, write)
        return w.across("fadd", b.load(total))

    arguments = (matrix, u, u_row, table, row, scale, out, out_row, lanes)
    return _types.float64(*arguments), generate


def multiply_two(
    context: Target,
    matrix: Type,
    u: Type,
    u_row: Type,
    table: Type,
    row: Type,
    scale: Type,
    out: Type,
    out_row: Type,
    other: Type,
    other_row: Type,
    joint: Type,
    joint_row: Type,
    lanes: Type,
) -> Written:
    """Fill `out` as `multiply` does, but with 0 where `other` is 0, and ``joint = (u @ matrix) * other``.

    Return the sums of `out` and of `joint`.
    """

    def generate(target: Target, b: Builder, signature: Signature, given: list[Value]) -> Value:
        kinds = signature.args
        w = _Writer(target, b, kinds[12])
        data, states, length = w.rows(kinds[0], given[0])
        source, factors, goal, partner, both = (w.row(kinds[k], given[k], given[k + 1]) for k in (1, 3, 6, 8, 10))
        scales, total, total_joint = w.everywhere(given[5]), w.variable(0.0), w.variable(0.0)

        def write(offset: Value, n: int) -> None:
            sums = w.times_matrix(source, data, states, length, offset, n)
            for at, each in zip(w.offsets(offset, n), sums, strict=True):
                its_partner = w.load(partner, at)
                value = b.fmul(each, b.fmul(scales, w.load(factors, at)))
                is_alone = b.fcmp_ordered("==", its_partner, w.constant(0.0))
                value = b.select(is_alone, w.constant(0.0), value)
                w.store(value, goal, at)
                w.add_to(total, value)
                shared = b.fmul(each, its_partner)
                w.store(shared, both, at)
                w.add_to(total_joint, shared)

        w.groups(length, write)
        found = [w.across("fadd", b.load(slot)) for slot in (total, total_joint)]
        return target.make_tuple(b, signature.return_type, found)

    arguments = (matrix, u, u_row, table, row, scale, out, out_row, other, other_row, joint, joint_row, lanes)
    return _types.UniTuple(_types.float64, 2)(*arguments), generate


def max_plus(
    context: Target,
    matrix: Type,
    u: Type,
    u_row: Type,
    table: Type,
    row: Type,
    shift: Type,
    out: Type,
    out_row: Type,
    lanes: Type,
) -> Written:
    """Fill ``out[j] = max_i (u[i] + matrix[i, j]) + table[row, j] + shift`` and return its maximum."""

    def generate(target: Target, b: Builder, signature: Signature, given: list[Value]) -> Value:
        kinds = signature.args
        w = _Writer(target, b, kinds[8])
        data, states, length = w.rows(kinds[0], given[0])
        source, terms = w.row(kinds[1], given[1], given[2]), w.row(kinds[3], given[3], given[4])
        goal = w.row(kinds[6], given[6], given[7])
        shifts, highest = w.everywhere(given[5]), w.variable(-float("inf"))

        entry = w.entries(source)

        def write(offset: Value, n: int) -> None:
            def step(i: Value, slots: list[Value]) -> None:
                term = entry(i)
                start = b.add(b.mul(i, length), offset)
                for slot, at in zip(slots, w.offsets(start, n), strict=True):
                    w.raise_to(slot, b.fadd(term, w.load(data, at)))

            highs = w.collect(w.known_states or states, n, -float("inf"), step, w.raise_to)
            for at, each in zip(w.offsets(offset, n), highs, strict=True):
                value = b.fadd(each, b.fadd(shifts, w.load(terms, at)))
                w.store(value, goal, at)
                w.raise_to(highest, value)

        w.groups(length, write)
        return w.across("fmax", b.load(highest))

    arguments = (matrix, u, u_row, table, row, shift, out, out_row, lanes)
    return _types.float64(*arguments), generate


def add_outer(context: Target, counts: Type, left: Type, right: Type, number: Type, lanes: Type) -> Written:
    """Add ``sum_n left[n, i] * right[n, j]`` over the first `number` rows to ``counts[i, j]``."""

    def generate(target: Target, b: Builder, signature: Signature, given: list[Value]) -> Value:
        kinds = signature.args
        w = _Writer(target, b, kinds[4])
        total, states, length = w.rows(kinds[0], given[0])
        ones, others = w.rows(kinds[1], given[1])[0], w.rows(kinds[2], given[2])[0]

        with _cgutils.for_range(b, _index(w.known_states) if w.known_states else states) as over_states:
            i = over_states.index
            here = b.gep(total, [b.mul(i, length)])

            def write(offset: Value, n: int) -> None:
                def step(k: Value, slots: list[Value]) -> None:
                    start = b.mul(k, length)
                    factor = w.scalar(ones, b.add(start, i))
                    for slot, at in zip(slots, w.offsets(b.add(start, offset), n), strict=True):
                        b.store(w.product_sum(factor, w.load(others, at), b.load(slot)), slot)

                sums = w.collect(given[3], n, 0.0, step, w.add_to)
                for at, each in zip(w.offsets(offset, n), sums, strict=True):
                    w.store(b.fadd(w.load(here, at), each), here, at)

            w.groups(length, write)
        return target.get_dummy_value()

    return _types.void(counts, left, right, number, lanes), generate


def add_to_shifted(
    context: Target,
    out: Type,
    out_row: Type,
    before: Type,
    before_row: Type,
    factor: Type,
    v: Type,
    v_row: Type,
    lanes: Type,
) -> Written:
    """Fill ``out[i] = before[i + 1] + factor * v[i]`` as far as `v` goes, and return the sum."""

    def generate(target: Target, b: Builder, signature: Signature, given: list[Value]) -> Value:
        kinds = signature.args
        w = _Writer(target, b, kinds[7])
        goal, source, added = (w.row(kinds[k], given[k], given[k + 1]) for k in (0, 2, 5))
        factors = w.everywhere(given[4])
        by_one = _ir.Constant(_ir.VectorType(_ir.IntType(32), w.width), [*range(1, w.width + 1)])
        sums = [w.variable(0.0) for _ in range(REGISTERS)]

        def write(offset: Value, n: int) -> None:
            # Registers are read as they were written a step before: others have to wait until they are in the cache.
            offsets = w.offsets(offset, n)
            loaded = [w.load(source, at) for at in (*offsets, b.add(offsets[-1], _index(w.width)))]
            for at, total, here, there in zip(offsets, sums, loaded, loaded[1:], strict=False):
                value = b.fadd(b.shuffle_vector(here, there, by_one), b.fmul(factors, w.load(added, at)))
                w.store(value, goal, at)
                w.add_to(total, value)

        w.groups(w.rows(kinds[5], given[5])[2], write)
        return w.across("fadd", w.together(sums))

    return _types.float64(out, out_row, before, before_row, factor, v, v_row, lanes), generate


def dot_two(
    context: Target,
    u: Type,
    u_row: Type,
    begin: Type,
    v: Type,
    v_row: Type,
    w: Type,
    w_row: Type,
    lanes: Type,
) -> Written:
    """Return ``sum_i u[begin + i] * v[i]`` and ``sum_i u[begin + i] * w[i]``, as far as `w` goes."""

    def generate(target: Target, b: Builder, signature: Signature, given: list[Value]) -> Value:
        kinds = signature.args
        writer = _Writer(target, b, kinds[7])
        window = b.gep(writer.row(kinds[0], given[0], given[1]), [given[2]])
        factors = [writer.row(kinds[k], given[k], given[k + 1]) for k in (3, 5)]
        sums = [[writer.variable(0.0) for _ in range(REGISTERS)] for _ in factors]

        def write(offset: Value, n: int) -> None:
            for register, at in enumerate(writer.offsets(offset, n)):
                seen = writer.load(window, at)
                for factor, totals in zip(factors, sums, strict=True):
                    writer.add_to(totals[register], b.fmul(seen, writer.load(factor, at)))

        writer.groups(writer.rows(kinds[5], given[5])[2], write)
        found = [writer.across("fadd", writer.together(totals)) for totals in sums]
        return target.make_tuple(b, signature.return_type, found)

    return _types.UniTuple(_types.float64, 2)(u, u_row, begin, v, v_row, w, w_row, lanes), generate
