"""Elements of fields as terms: what was computed of which elements, each term once."""
from polynomials import NotProven, Polynomial, Variable
from running import Opaque


class Element(Opaque):
    """A term: its kind, and the numbers of its operands."""

    __slots__ = ("modulus", "index", "node")

    def __init__(self, modulus, index, node):
        self.modulus, self.index, self.node = modulus, index, node

    def __repr__(self):
        return f"{self.node[0]}{self.index}"


class Number(Opaque):
    """A word of the number that an element stands for."""

    __slots__ = ("element", "position")

    def __init__(self, element, position):
        self.element, self.position = element, position


class Algebra:
    """The terms of all fields. Only these rules are used: 0 and 1 are neutral, sums and products
    commute, 1 / (a b) times b is 1 / a, and 1 / a times a b is b, for divisors that
    are noted as not 0."""

    def __init__(self):
        self.terms, self.elements, self.divisors = {}, [], {}

    def term(self, modulus, *node):
        key = (modulus, *node)
        found = self.terms.get(key)
        if found is None:
            found = self.terms[key] = Element(modulus, len(self.elements), node)
            self.elements.append(found)
        return found

    def symbol(self, modulus, name):
        return self.term(modulus, "symbol", name)

    def constant(self, modulus, number):
        return self.term(modulus, "constant", number % modulus)

    def require_one_field(self, a, b):
        for x in (a, b):
            if not isinstance(x, Element):
                raise NotProven("a word that is no element is used as one")
        if a.modulus != b.modulus:
            raise NotProven("elements of two fields are mixed")

    def add(self, a, b):
        self.require_one_field(a, b)
        for x, y in ((a, b), (b, a)):
            if x.node == ("constant", 0):
                return y
        return self.term(a.modulus, "add", *sorted((a.index, b.index)))

    def subtract(self, a, b):
        self.require_one_field(a, b)
        if b.node == ("constant", 0):
            return a
        return self.term(a.modulus, "subtract", a.index, b.index)

    def multiply(self, a, b):
        self.require_one_field(a, b)
        for x, y in ((a, b), (b, a)):
            if x.node == ("constant", 1):
                return y
            if x.node[0] == "invert":
                rest = self.without(self.elements[x.node[1]], y)
                if rest is not None:
                    return self.invert(rest)
                rest = self.without(y, self.elements[x.node[1]])
                if rest is not None:
                    return rest
        return self.term(a.modulus, "multiply", *sorted((a.index, b.index)))

    def without(self, product, factor):
        """The other factor, if `factor` is one of the product's."""
        if product is factor:
            return self.constant(product.modulus, 1)
        if product.node[0] == "multiply":
            for at in (1, 2):
                if product.node[at] == factor.index:
                    self.divisors[factor.index] = factor
                    return self.elements[product.node[3 - at]]
        return None

    def invert(self, a):
        if a.node == ("constant", 1):
            return a
        self.divisors[a.index] = a
        return self.term(a.modulus, "invert", a.index)

    def require_divisors(self, known, claim):
        """That all that was inverted is a product of elements that are known not to be 0."""
        checked = set()
        for element in self.divisors.values():
            pending = [element]
            while pending:
                one = pending.pop()
                if (one.index in known or one.index in checked
                        or one.node[0] == "constant" and one.node[1]):
                    continue
                checked.add(one.index)
                if one.node[0] != "multiply":
                    raise NotProven(claim)
                pending += [self.elements[at] for at in one.node[1:]]
        self.divisors.clear()

    # Polynomials

    def polynomial(self, element, named):
        """The polynomial of a term in the elements of `named`: numbers of terms and variables."""
        done = {}

        def value(one):
            if one.index in named:
                return Polynomial.of(named[one.index], one.modulus)
            if one.index not in done:
                done[one.index] = expanded(one)
            return done[one.index]

        def expanded(one):
            kind, *operands = one.node
            if kind == "constant":
                return Polynomial.constant(operands[0], one.modulus)
            if kind in ("symbol", "invert"):
                raise NotProven("a result depends on another element than those of its formula")
            a, b = (value(self.elements[at]) for at in operands)
            return a + b if kind == "add" else a - b if kind == "subtract" else a * b

        return value(element)

    def named(self, *elements):
        """Variables for elements."""
        names, variables = {}, []
        for element in elements:
            if element.node[0] == "constant":
                variables.append(Polynomial.constant(element.node[1], element.modulus))
                continue
            if element.index not in names:
                names[element.index] = Variable(f"e{element.index}", 0, element.modulus - 1)
            variables.append(Polynomial.of(names[element.index], element.modulus))
        return names, variables
