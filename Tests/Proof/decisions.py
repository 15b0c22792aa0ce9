"""The engine of eight signatures: the outcome, given the sum."""
from conditions import Bits
from execution import Infeasible
from fields import P256, sum_of
from machine import Machine, explore
from memory import Memory, Pointer
from signatures import ELEMENT, SLOTS, require
from sums import POINT, Sums
from values import UNKNOWN, Word

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
FAILS, HOLDS, UNDECIDED = 0, 1, 2


class Decisions:
    def __init__(self, module, sums):
        self.module, self.sums = module, sums

    def added_order(self):
        """add_order, for every r below 2^256."""
        outcomes = set()

        def run(prefix):
            machine = Machine(self.module, prefix)
            memory = Memory("r", 32)
            words = [Word.variable(f"r{i}", 0, (1 << 64) - 1) for i in range(4)]
            for i, word in enumerate(words):
                memory.write(8 * i, 8, word)
            try:
                result = machine.call("add_order", [Pointer(memory)])
            except Infeasible:
                return machine
            bit = result if isinstance(result, int) else result.number
            outcomes.add(bit)
            after = [memory.read(8 * i, 8) for i in range(4)]
            self.check_order(machine, bit, sum_of(words, 64), words, after)
            return machine

        explore(run)
        require(outcomes == {0, 1}, "add_order always answers the same")
        yield "add_order: for every r, whether r + n < p; then r becomes r + n"

    @staticmethod
    def check_order(machine, bit, r, words, after):
        low, high = machine.arithmetic.bounds(r + ORDER)
        if bit:
            require(high < P256, "add_order adds although r + n can be p or more")
            lost = (r + ORDER - sum_of(after, 64)).divided_by_power_of_two(256)
            require(machine.arithmetic.is_integer(lost), "r + n has another value")
            # A multiple of 2^256, and both are below it.
        else:
            require(low >= P256, "add_order does not add although r + n can be below p")
            require(all(a is b for a, b in zip(words, after)), "add_order changes r")

    def outcomes(self):
        paths = 0
        for count in range(1, SLOTS + 1):
            for index in range(count):
                for some in (0, 1):
                    paths += self.check_outcome(count, index, some)
        require(ORDER < P256 < 2 * ORDER, "x mod n is another number than x or x - n")
        yield ("decide: undecided where the slot has no point or Z is 0; otherwise holds for "
               f"x = r, or for x = r + n < p, and for nothing else ({paths} paths)")
        yield "n < p < 2 n, so x mod n = r for x = r and x = r + n only"

    def check_outcome(self, count, index, some):
        share = 8 if count == 1 else 4 if count == 2 else 2 if count <= 4 else 1
        slot, position = index * share, self.sums.group
        results = []

        def run(prefix):
            group, sums = Memory("group", self.sums.group_size), Memory("sum", POINT + 64)
            group.write(position["share"], 4, Word.constant(share))
            group.write(position["count"], 8, Word.constant(count))
            for i in range(4 * SLOTS):
                group.write(position["r"] + 8 * i, 8, Word.variable("r", 0, (1 << 64) - 1))
            before = [group.read(position["r"] + 32 * slot + 8 * i, 8) for i in range(4)]
            sums.write(POINT, 1, Bits.number(Sums.only({slot: some})))
            target = Memory("outcomes", count)

            def only(machine, *key):
                return Bits.number(Sums.only({slot: machine.decide(key)}))

            def has_x(machine, arguments):
                point, numbers = arguments
                require(point.memory is sums and point.offset == 0, "x of another point")
                require(numbers.memory is group and numbers.offset == position["r"], "another r")
                words = [group.read(position["r"] + 32 * slot + 8 * i, 8) for i in range(4)]
                if all(a is b for a, b in zip(words, before)):
                    return only(machine, "x = r")
                require(machine.path.get(("r + n < p",)) == 1, "r is changed")
                return only(machine, "x = r + n")

            def add_order(machine, arguments):
                at = arguments[0].offset - position["r"]
                if at != 32 * slot:
                    return UNKNOWN
                bit = machine.decide(("r + n < p",))
                if bit:
                    for i in range(4):
                        group.write(arguments[0].offset + 8 * i, 8, Word.variable("s", 0, 1))
                return bit

            def divided(machine, arguments):
                require(arguments[1].memory is sums and arguments[1].offset == 2 * ELEMENT,
                        "another coordinate than Z is tested")
                machine.quotient = arguments[0].memory

            def is_multiple(machine, arguments):
                require(arguments[0].memory is machine.quotient, "another number is tested")
                # Others are undecided, so that this is one path for each outcome of this slot.
                bit = machine.decide(("Z = 0",))
                return Bits.number([bit if i == slot else 1 for i in range(SLOTS)])

            machine = Machine(self.module, prefix, {
                "has_x": has_x, "add_order": add_order, "divided_by_radix": divided,
                "is_multiple_of_p": is_multiple})
            machine.call("decide", [Pointer(group), Pointer(sums), Pointer(target)])
            path = machine.path.get
            asked = [("x = r",), ("r + n < p",), ("Z = 0",)]
            if path(("r + n < p",)):
                asked.append(("x = r + n",))
            require(machine.path.keys() >= set(asked), "x is not compared with r, or with r + n")
            holds = path(("x = r",)) or path(("r + n < p",)) and path(("x = r + n",))
            wanted = UNDECIDED if not some or path(("Z = 0",)) else HOLDS if holds else FAILS
            outcome = target.read(index, 1)
            require(isinstance(outcome, Word) and outcome.number == wanted,
                    "the outcome is not that of the comparison")
            results.append(wanted)
            return machine

        paths = explore(run)
        require(not some or set(results) == {FAILS, HOLDS, UNDECIDED}, "an outcome is impossible")
        return paths
