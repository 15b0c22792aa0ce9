"""The engine of eight signatures: which points are added, with which signs, and what is decided."""
from itertools import product

from conditions import Bits
from fields import SIGNATURES
from machine import Machine, explore
from memory import Memory, Pointer
from points import Local, Sum, Table
from polynomials import Polynomial, Variable
from signatures import ELEMENT, SLOTS, require
from values import UNKNOWN, Word

POINT = 3 * ELEMENT
DIGITS, WINDOW_POINTS, TABLE_POINTS = 26, 512, 25 * 512 + 64


class Sums:
    """Proofs about sums of points: the formulas by their contracts."""

    def __init__(self, module, signatures):
        self.module, self.signatures = module, signatures
        self.points, self.entries = {}, {}
        self.formulas = signatures.formulas
        group = module.types["%struct.Group"]
        self.group = {name: group.offset(i) for i, name in enumerate(
            ("share", "count", "generator", "key", "stream", "r"))}
        self.group_size = group.size
        self.contracts = {
            "from_words": self.from_words, "from_affine": self.from_affine,
            "add_mixed": self.add_mixed, "add_general": self.add_general,
            "negated_point_where": self.negated_point_where}

    def machine(self, prefix=(), **intercepts):
        return Machine(self.module, prefix, self.contracts | intercepts)

    # Points in memory

    def write_points(self, pointer, points):
        for slot, point in enumerate(points):
            for at in range(3):
                for i in range(SIGNATURES.limbs):
                    word = UNKNOWN
                    if point is not UNKNOWN:
                        word = Word.variable("l", 0, (1 << 52) - 1)
                        self.points[word.polynomial.key] = (point, at, i)
                    pointer.memory.write(
                        pointer.offset + at * ELEMENT + SIGNATURES.offset(i, slot), 8, word)

    def read_points(self, pointer):
        points = []
        for slot in range(SLOTS):
            found = set()
            for at in range(3):
                for i in range(SIGNATURES.limbs):
                    word = pointer.memory.read(
                        pointer.offset + at * ELEMENT + SIGNATURES.offset(i, slot), 8)
                    if word is UNKNOWN:
                        found.add(UNKNOWN)
                        continue
                    point, *position = self.points.get(word.polynomial.key, (None, None, None))
                    require(position == [at, i], "a limb of a point is not in its place")
                    found.add(point)
            require(len(found) == 1, "a slot has limbs of several points")
            points.append(found.pop())
        return points

    def table_words(self, table, offset):
        if not isinstance(offset, Polynomial):
            offset = Polynomial.constant(offset)
        require(all(isinstance(c, int) and c % 64 == 0 for c in offset.terms.values()),
                "a point's address is not a multiple of 64")
        low, high = offset.bounds()
        require(low >= 0 and high < TABLE_POINTS * 64, "an address is outside of the table")
        key = (table.name, offset.key)
        if key not in self.entries:
            words = [Word.variable("w", 0, (1 << 64) - 1) for _ in range(8)]
            for i, word in enumerate(words):
                self.entries[word.polynomial.key] = (key, i)
            self.entries[key] = words
        return self.entries[key]

    # Contracts

    def from_words(self, machine, arguments):
        target, source = arguments
        for slot in range(SLOTS):
            words = [source.memory.read(source.offset + (i * SLOTS + slot) * 8, 8)
                     for i in range(4)]
            found = [UNKNOWN if w is UNKNOWN else self.entries[w.polynomial.key] for w in words]
            element = UNKNOWN
            if UNKNOWN not in found:
                key, first = found[0]
                require(first in (0, 4) and found == [(key, first + i) for i in range(4)],
                        "words of a table's point are mixed, or in another order")
                element = (key, first // 4)
            for i in range(SIGNATURES.limbs):
                word = UNKNOWN
                if element is not UNKNOWN:
                    word = Word.variable("l", 0, (1 << 52) - 1)
                    self.points[word.polynomial.key] = (element, "coordinate", i)
                target.memory.write(target.offset + SIGNATURES.offset(i, slot), 8, word)

    def coordinate(self, pointer, slot):
        found = set()
        for i in range(SIGNATURES.limbs):
            word = pointer.memory.read(pointer.offset + SIGNATURES.offset(i, slot), 8)
            if word is UNKNOWN:
                return UNKNOWN
            element, kind, at = self.points[word.polynomial.key]
            require(kind == "coordinate" and at == i, "a limb of a coordinate is not in its place")
            found.add(element)
        require(len(found) == 1, "limbs of several coordinates are mixed")
        return found.pop()

    def from_affine(self, machine, arguments):
        target, x, y, mask = arguments
        points = []
        for slot, negative in enumerate(Bits.of(mask, SLOTS)):
            first, second = self.coordinate(x, slot), self.coordinate(y, slot)
            if UNKNOWN in (first, second) or not isinstance(negative, int):
                points.append(UNKNOWN)
                continue
            require(first == (first[0], 0) and second == (first[0], 1),
                    "x and y are not those of one point of a table")
            points.append(Sum({first[0]: -1 if negative else 1}, "affine"))
        self.write_points(target, points)

    def add_mixed(self, machine, arguments):
        target, first, second = arguments
        self.write_sums(target, first, second, ("affine",))

    def add_general(self, machine, arguments):
        target, first, second = arguments
        self.write_sums(target, first, second, ("affine", "sum", "negated"))

    def write_sums(self, target, first, second, kinds):
        sums = []
        for a, b in zip(self.read_points(first), self.read_points(second)):
            if UNKNOWN in (a, b):
                sums.append(UNKNOWN)
                continue
            require(a.kind in ("sum", "affine") and b.kind in kinds,
                    "an operand of an addition has other bounds than those proven for it")
            sums.append(a.plus(b, sign=-1))
        self.write_points(target, sums)

    def negated_point_where(self, machine, arguments):
        target, mask, source = arguments
        points = []
        for point, bit in zip(self.read_points(source), Bits.of(mask, SLOTS)):
            known = point is not UNKNOWN and isinstance(bit, int)
            points.append(Sum(point.signed(-1 if bit else 1), "negated") if known else UNKNOWN)
        self.write_points(target, points)

    # Lemmas: one addition in one slot, whatever the others do

    def sum_memory(self, points, some, positive):
        memory = Memory("sum", POINT + 64)
        self.write_points(Pointer(memory), points)
        memory.write(POINT, 1, Bits.number(some))
        memory.write(POINT + 1, 1, Bits.number(positive))
        return memory

    @staticmethod
    def only(states):
        """Known bits in some slots, others unknown."""
        return [states.get(slot, UNKNOWN) for slot in range(SLOTS)]

    def result(self, memory, slot):
        """Whether the slot has a point, and its terms."""
        some = Bits.of(memory.read(POINT, 1), SLOTS)[slot]
        positive = Bits.of(memory.read(POINT + 1, 1), SLOTS)[slot]
        require(isinstance(some, int), "whether a slot has a point depends on other slots")
        if not some:
            return {}
        require(isinstance(positive, int), "the sign of a slot depends on other slots")
        point = self.read_points(Pointer(memory))[slot]
        require(point is not UNKNOWN, "the point of a slot depends on other slots")
        return point.signed(1 if positive else -1)

    def one_step(self):
        """add_points, in each slot and for all states of it."""
        paths = 0
        for slot, some, positive, used, negative in product(range(SLOTS), *[(0, 1)] * 4):
            if (some, positive) == (0, 1):
                # Nothing sets the sign of a slot without a point.
                continue

            def run(prefix):
                machine = self.machine(prefix)
                self.check_step(machine, slot, some, positive, used, negative)
                return machine

            paths += explore(run)
        yield ("add_points: in every slot, used or not, the sum becomes the sum and the digit's "
               f"signed point, whatever the other slots do ({paths} paths)")

    def check_step(self, machine, slot, some, positive, used, negative):
        tables = [Table(f"table{i}", self) for i in range(SLOTS)]
        old = [Sum({f"S{i}": 1}, "sum") for i in range(SLOTS)]
        memory = self.sum_memory(old, self.only({slot: some}), self.only({slot: positive}))
        points = Memory("points", 72)
        offsets = []
        for i, table in enumerate(tables):
            offset = Polynomial.of(Variable(f"i{i}", 0, TABLE_POINTS - 1)).scaled(64)
            machine.bases[table.base] = table
            address = Polynomial.of(table.base) + offset
            points.write(8 * i, 8, Word(address, 1 << 21, (1 << 48) - 1))
            offsets.append(offset)
        points.write(64, 1, Bits.number(self.only({slot: negative})))
        points.write(65, 1, Bits.number(self.only({slot: used})))
        machine.call("add_points", [Pointer(memory), Pointer(points)])
        expected = Sum({f"S{slot}": (1 if positive else -1) if some else 0}, "sum")
        if used:
            entry = (tables[slot].name, offsets[slot].key)
            expected = expected.plus(Sum({entry: -1 if negative else 1}, "sum"))
        require(self.result(memory, slot) == expected.terms, "add_points adds something else")
        new_some = Bits.of(memory.read(POINT, 1), SLOTS)[slot]
        require(new_some == (some | used), "add_points forgets that a slot has a point")
        if not new_some:
            positive = Bits.of(memory.read(POINT + 1, 1), SLOTS)[slot]
            require(positive == 0, "a slot without a point has a sign")

    def sums_of_slots(self):
        """add_slots, for each slot and all states of it and of the one that it adds."""
        for distance, slot in product((1, 2, 4), range(SLOTS)):
            other = (slot + distance) % SLOTS
            for a, b in product(((0, 0), (1, 0), (1, 1)), repeat=2):
                old = [Sum({f"S{i}": 1}, "sum") for i in range(SLOTS)]
                memory = self.sum_memory(
                    old, self.only({slot: a[0], other: b[0]}),
                    self.only({slot: a[1], other: b[1]}))
                machine = self.machine()
                machine.call("add_slots", [Pointer(memory), Word.constant(distance)])
                expected = {}
                for i, (some, positive) in ((slot, a), (other, b)):
                    if some:
                        expected[f"S{i}"] = 1 if positive else -1
                require(self.result(memory, slot) == expected, "add_slots adds something else")
                require(Bits.of(memory.read(POINT, 1), SLOTS)[slot] == (a[0] | b[0]),
                        "add_slots forgets that a slot has a point")
                if not a[0] | b[0]:
                    require(Bits.of(memory.read(POINT + 1, 1), SLOTS)[slot] == 0,
                            "a slot without a point has a sign")
        yield "add_slots: every slot's sum becomes that and the sum of the slot above it"

    # All digits of signatures

    def all_digits(self):
        for count in range(1, SLOTS + 1):
            for sign in (-1, 0, 1):
                self.check_digits(count, sign)
        yield ("distribute, next_points, add_all: for 1 to 8 signatures each of the 52 digits is "
               "used once, in a slot of its signature")
        yield ("next_points: digit d of window w takes point 512 w + |d| - 1 of its table, inside "
               "the table, with the sign of d; 0 takes none")

    def check_digits(self, count, sign):
        """With all digits negative, 0 or positive. A slot's addresses depend on its digits only,
        so this covers every mixture."""
        digits, names = Memory("digits", count * 2 * DIGITS * 2), {}
        for i, k in product(range(count), range(2 * DIGITS)):
            most = 64 if k % DIGITS == DIGITS - 1 else 511
            least = 0 if k % DIGITS == DIGITS - 1 else -512
            word = Word.constant(0)
            if sign > 0:
                word = Word.variable(f"d{i}.{k}", 1, most)
            elif sign < 0 and least < 0:
                word = Word.variable(f"d{i}.{k}", 65536 + least, 65535)
            for variable in word.polynomial.variables():
                names[variable] = (i, k)
            digits.write((i * 2 * DIGITS + k) * 2, 2, word)
        generator = Table("generator", self)
        tables = [Table(f"key{i}", self) for i in range(count)]
        keys, numbers = Memory("keys", 8 * count), Memory("r", 32 * count)
        for i, table in enumerate(tables):
            keys.write(8 * i, 8, Pointer(table))
        for i in range(4 * count):
            numbers.write(8 * i, 8, Word.variable(f"r{i}", 0, (1 << 64) - 1))
        group, steps = Memory("group", self.group_size), []
        memory = Memory("sum", POINT + 64)

        def note(machine, arguments):
            self.note_step(machine, arguments, memory, steps)

        machine = self.machine(add_points=note)
        machine.bases[generator.base] = generator
        base = Word(Polynomial.of(generator.base), 1 << 21, (1 << 47) - 64)
        group.write(self.group["generator"], 8, base)
        machine.call("distribute", [Pointer(group), Pointer(keys), Pointer(digits),
                                    Pointer(numbers), Word.constant(count)])
        share = group.read(self.group["share"], 4).number
        require(share * count <= SLOTS and share in (1, 2, 4, 8), "more slots than there are")
        for i in range(count):
            words = [group.read(self.group["r"] + 32 * i * share + 8 * j, 8) for j in range(4)]
            wanted = [numbers.read(32 * i + 8 * j, 8) for j in range(4)]
            require(words == wanted, "r of a signature is not in its first slot")
        machine.call("add_all", [Pointer(memory), Pointer(group)])
        self.check_steps(machine, steps, count, share, sign, names, generator, tables)

    def note_step(self, machine, arguments, memory, steps):
        target, points = arguments
        require(target.memory is memory and target.offset == 0, "a step adds to another sum")
        state = memory.read(POINT, 1)
        if not steps:
            require(state.number == 0 and memory.read(POINT + 1, 1).number == 0,
                    "the sums do not begin without a point")
        else:
            require(state is steps[-1][0], "the sums change between the steps")
        state = Word.variable("state", 0, 255)
        memory.write(POINT, 1, state)
        read = [points.memory.read(points.offset + 8 * slot, 8) for slot in range(SLOTS)]
        masks = [Bits.of(points.memory.read(points.offset + at, 1), SLOTS) for at in (64, 65)]
        steps.append((state, read, *masks))

    def check_steps(self, machine, steps, count, share, sign, names, generator, tables):
        taken = {}
        for _, addresses, negative, used in steps:
            for slot, address in enumerate(addresses):
                pointer = machine.execute_inttoptr(
                    {"%a": address}, type("Cast", (), {"a": Local("%a")}))
                require(isinstance(used[slot], int) and isinstance(negative[slot], int),
                        "whether a digit is used is not known")
                if not used[slot]:
                    self.table_words(pointer.memory, pointer.offset)
                    continue
                offset = pointer.offset
                named = offset.variables() if isinstance(offset, Polynomial) else set()
                require(len(named) == 1 and named <= names.keys(),
                        "a point is used that no digit names")
                (variable,) = named
                require(variable not in taken, "a digit is used twice")
                taken[variable] = slot
                i, k = names[variable]
                require(slot // share == i, "a digit is used in a slot of another signature")
                table = generator if k < DIGITS else tables[i]
                size = Polynomial.of(variable)
                size = 65536 - size if sign < 0 else size
                wanted = (size + (k % DIGITS * WINDOW_POINTS - 1)).scaled(64)
                require(pointer.memory is table and offset == wanted,
                        f"digit {k} takes another point than its own")
                require(negative[slot] == (sign < 0), "a digit's point has the wrong sign")
                self.table_words(pointer.memory, offset)
        require(set(taken) == set(names), "a digit is not used")

    def groups(self):
        """assay_p256_verify: parts of eight signatures, and the sums of the slots that share."""
        for count in range(1, 3 * SLOTS + 1):
            self.check_groups(count)
        yield ("assay_p256_verify: for 1 to 24 signatures each has its digits, r and outcome in "
               "one group, and the sum of its slots in the first of them")

    def check_groups(self, count):
        calls, share = [], {}

        def distribute(machine, arguments):
            group, keys, digits, r, part = arguments
            calls.append(("part", keys.offset, digits.offset, r.offset, part.number))
            number = part.number
            share[0] = 8 if number == 1 else 4 if number == 2 else 2 if number <= 4 else 1
            group.memory.write(group.offset + self.group["share"], 4, Word.constant(share[0]))

        def add_all(machine, arguments):
            calls.append(("add_all",))

        def add_slots(machine, arguments):
            calls.append(("add_slots", arguments[1].number))

        def decide(machine, arguments):
            calls.append(("decide", arguments[2].offset))

        machine = self.machine(
            distribute=distribute, add_all=add_all, add_slots=add_slots, decide=decide)
        generator = Table("generator", self)
        arguments = [Pointer(generator)] + [Pointer(Memory(n)) for n in ("keys", "digits", "r")]
        machine.call("assay_p256_verify", [
            *arguments, Word.constant(count), Pointer(Memory("outcomes"))])
        at = 0
        for begin in range(0, count, SLOTS):
            part = min(SLOTS, count - begin)
            wanted = ("part", 8 * begin, 2 * 2 * DIGITS * begin, 32 * begin, part)
            require(calls[at] == wanted, "a group has other signatures than its own")
            require(calls[at + 1] == ("add_all",), "the digits of a group are not added")
            slots, at = [[slot] for slot in range(SLOTS)], at + 2
            while calls[at][0] == "add_slots":
                distance = calls[at][1]
                slots = [slots[s] + slots[(s + distance) % SLOTS] for s in range(SLOTS)]
                at += 1
            each = 8 if part == 1 else 4 if part == 2 else 2 if part <= 4 else 1
            for i in range(part):
                require(sorted(slots[i * each]) == list(range(i * each, (i + 1) * each)),
                        "the first slot of a signature has not the sum of its slots")
            require(calls[at] == ("decide", begin), "the outcomes of a group go elsewhere")
            at += 1
        require(at == len(calls), "there are more calls than groups")
