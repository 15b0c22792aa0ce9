"""The loop of ModularInverse, with its parts replaced: which numbers each gets."""
from compiled import MODULI
from running import Opaque, Place, Runner, Space, load, plus, store
from signatures import require

END = 1 << 64


class Loop:
    """inverse(of:), with its parts replaced: which numbers each gets."""

    def __init__(self, proof, turns, top):
        self.proof, self.turns, self.top, self.trace = proof, turns, top, []
        self.count = proof.count

    def fill(self, place, name, top=None):
        """New limbs, of which f's last one has a sign."""
        values = [Opaque() for _ in range(self.count)]
        if top is not None:
            values[-1] = top & END - 1
        for i, value in enumerate(values):
            store(plus(place, 8 * i), 8, value)
        return values

    def read(self, place):
        return [load(plus(place, 8 * i), 8) for i in range(self.count)]

    def check(self):
        proof, count = self.proof, self.count
        modulus = MODULI[0] if proof.words == 4 else MODULI[2]
        inversion = proof.inversion(modulus)
        number = [Opaque() for _ in range(proof.words)]
        state = {"f": [load(plus(inversion, 8 * i), 8) for i in range(count)],
                 "d": [0] * count, "e": [1] + [0] * (count - 1)}
        matrices, answer = [], [Opaque() for _ in range(proof.words)]

        def limbs(target, *words):
            if proof.words == 6:
                words = [load(plus(words[0], 8 * i), 8) for i in range(6)]
            require(same_values(words, number), "another number is inverted")
            state["g"] = self.fill(target, "g")

        def is_zero(place):
            require(same_values(self.read(place), state["g"]), "another number is asked for 0")
            return int(len(matrices) == self.turns)

        def matrix(delta, f, g):
            require(same_values([f, g], [state["f"][0], state["g"][0]]),
                    "the steps are of other numbers")
            require(same_values([load(delta, 8)], [matrices[-1][1] if matrices else 1]),
                    "delta is another number")
            new = [Opaque() for _ in range(4)], Opaque()
            store(delta, 8, new[1])
            matrices.append(new)
            return tuple(new[0])

        def modulo(u, v, q, r, d, e, own):
            require(same_values([u, v, q, r], matrices[-1][0]), "another matrix is applied")
            require(own == inversion, "another modulus is used")
            self.apply(state, ("d", "e"), (d, e))

        def apply(u, v, q, r, f, g):
            require(same_values([u, v, q, r], matrices[-1][0]), "another matrix is applied")
            self.apply(state, ("f", "g"), (f, g))

        def normalized(target, d, negating, own):
            require(same_values(self.read(d), state["d"]), "another number is the inverse")
            require(negating == int(self.turns > 0 and self.top < 0), "the sign is another one")
            require(own == inversion, "another modulus is used")
            state["result"] = self.fill(target, "result")

        def words(*arguments):
            require(same_values(self.read(arguments[-1]), state["result"]),
                    "another number is returned")
            if proof.words == 4:
                return tuple(answer)
            for i, word in enumerate(answer):
                store(plus(arguments[0], 8 * i), 8, word)

        functions = {"limbs": limbs, "is_zero": is_zero, "matrix": matrix, "modulo": modulo,
                     "apply": apply, "normalized": normalized, "words": words}
        runner = Runner(proof.module, {proof.names[n]: f for n, f in functions.items()})
        operand = self.in_memory(number)
        if proof.words == 4:
            found = runner.call(proof.names["inverse"], *number, inversion)
        else:
            result = Place(Space("answer", 48))
            runner.call(proof.names["inverse"], result, operand, inversion)
            found = [load(plus(result, 8 * i), 8) for i in range(6)]
        require(same_values(found, answer), "another number is returned")
        require(len(matrices) == self.turns, "the loop goes on after g is 0")

    @staticmethod
    def in_memory(number):
        place = Place(Space("number", 8 * len(number)))
        for i, word in enumerate(number):
            store(plus(place, 8 * i), 8, word)
        return place

    def apply(self, state, names, places):
        for name, place in zip(names, places):
            require(same_values(self.read(place), state[name]), f"another {name} is multiplied")
        for name, place in zip(names, places):
            state[name] = self.fill(place, name, self.top if name == "f" else None)


def same_values(found, wanted):
    """Whether values are the same, without comparing what is not known."""
    return len(found) == len(wanted) and all(
        a is b if isinstance(a, Opaque) or isinstance(b, Opaque) else a == b
        for a, b in zip(found, wanted))
