"""The points of P-384 (assay_p384.c): numbers of six words below p, in assembly and C."""
from fields import NUMBERS, P384, Bounds, Fields, operations_of_numbers
from formulas import Element, Formulas
from memory import Memory, Pointer
from signatures import require

NUMBER = NUMBERS.bytes
BELOW_P = Bounds([(1 << 64) - 1] * 6, P384 - 1)


class Numbers:
    def __init__(self, module):
        self.fields = Fields(module, NUMBERS, operations_of_numbers())
        self.formulas = Formulas(self.fields)

    def field_operations(self):
        for operation in self.fields.operations.values():
            self.fields.prove(operation.name, [BELOW_P] * len(operation.parameters))
            yield (f"{operation.name} is {operation.text} modulo p and below p, for all operands "
                   "below p")

    def point(self, names):
        memory, symbols = Memory("point", len(names) * NUMBER), []
        for at, name in enumerate(names):
            symbols.append(self.formulas.symbol(name))
            self.formulas.write(memory, [Element(symbols[-1], BELOW_P)], start=at * NUMBER)
        return Pointer(memory), symbols

    def coordinates(self, pointer):
        return [self.formulas.read(pointer.plus(at * NUMBER))[0].value for at in range(3)]

    def double(self):
        point, (x, y, z) = self.point("XYZ")
        self.formulas.machine().call("assay_p384_double", [point])
        x3, y3, z3 = self.coordinates(point)
        slope = ((x - z * z) * (x + z * z)).scaled(3)
        yy = y * y
        require(z3 == (y * z).scaled(2), "Z of the double is not 2 Y Z")
        require(x3 == slope * slope - (x * yy).scaled(8), "X of the double is not the tangent's")
        require(y3 == slope * ((x * yy).scaled(4) - x3) - (yy * yy).scaled(8),
                "Y of the double is not the tangent's")
        yield "assay_p384_double: X, Y, Z are the tangent's double for a = -3"
        yield "assay_p384_double: Z is 2 Y Z, 0 for Z = 0; no point of odd order has Y = 0"

    def add(self):
        point, (x1, y1, z1) = self.point("XYZ")
        other, (x2, y2) = self.point("xy")
        self.formulas.machine().call("assay_p384_add", [point, other])
        x3, y3, z3 = self.coordinates(point)
        zz = z1 * z1
        h, rise = x2 * zz - x1, y2 * zz * z1 - y1
        hh = h * h
        require(z3 == z1 * h, "Z of the sum is not Z1 H")
        require(x3 == rise * rise - (x1 + x2 * zz) * hh, "X of the sum is not the chord's")
        require(y3 == rise * (x1 * hh - x3) - y1 * hh * h, "Y of the sum is not the chord's")
        yield "assay_p384_add: X, Y, Z are the chord's sum of (X1, Y1, Z1) and (x2, y2)"
        yield "assay_p384_add: Z is Z1 (x2 Z1^2 - X1): 0 for equal points, opposite points and " \
              "Z1 = 0, and for no other"
