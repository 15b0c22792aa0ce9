"""The engines for 64-bit Arm: pairs in two vectors of Neon (neon_vectors.h), and points of P-384 in
plain C (plain_words.h). pairs.py and numbers384.py prove them, as they do for the other processor.

The functions of arm_neon.h are not executed, but modelled under their names."""
import shutil
import struct
import subprocess
from pathlib import Path

from conditions import Bits
from fields import Shape
from instructions import MODELS, blend, model, model_of
from llvm import Module
from machine import Machine
from numbers384 import Numbers
from pairs import Pairs, Points
from polynomials import NotProven, Polynomial
from processor import FOLDER, blocks, constants, numbers
from signatures import require
from values import UNKNOWN

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
# Without the headers of a C library, which may be missing.
TARGET = ("-target", "aarch64-unknown-linux-gnu", "-ffreestanding")
NEON = Shape("neon", 9, 29, 4, 261)


# Models: each word is a slot of a vector of two

def by_words(name, op):
    @model(name)
    def execute(machine, a, b):
        return [machine.scalar(op, x, y, 64) for x, y in zip(a, b)]


for intrinsic, operation in (("vaddq_u64", "add"), ("vsubq_u64", "sub"), ("vandq_u64", "and"),
                             ("vorrq_u64", "or")):
    by_words(intrinsic, operation)


@model("vdupq_n_u64")
def both_slots(machine, a):
    return [a, a]


@model("vmovn_u64")
def low_halves(machine, words):
    return [machine.arithmetic.split(a, 32)[1] for a in words]


@model("vmull_u32")
def products(machine, a, b):
    return [machine.arithmetic.multiply(x, y, 64) for x, y in zip(a, b)]


@model("vbslq_u64")
def chosen_bits(machine, mask, a, b):
    """Chooses bits; here the mask's words are 0 or -1, so it chooses words: a's where it is -1."""
    return blend(machine, b, a, mask).values


def masks(machine, predicate, a, b):
    found = [machine.compare(predicate, x, y, 64) for x, y in zip(a, b)]
    return [UNKNOWN if bit is UNKNOWN else Bits.number([bit] * 64) for bit in found]


@model("vceqq_u64")
def are_equal(machine, a, b):
    return masks(machine, "eq", a, b)


@model("vcgtq_u64")
def are_above(machine, a, b):
    return masks(machine, "ugt", a, b)


@model("vzip1q_u64")
def first_words(machine, a, b):
    return [a[0], b[0]]


@model("vzip2q_u64")
def second_words(machine, a, b):
    return [a[1], b[1]]


INTRINSICS = [name for name in MODELS if name.startswith("v")]


# Proofs

def module_of(clang, path):
    text = subprocess.run(
        [clang, "-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", *TARGET,
         f"-I{path.parent}/include", "-o", "-", path],
        check=True, capture_output=True, text=True).stdout
    module = Module(text)
    for name in INTRINSICS:
        module.functions.pop(name, None)
    return module


class HalfPoints(Points):
    """Points whose coordinates are loaded and stored by two vectors."""

    @staticmethod
    def half(pointer):
        """Where the coordinate is, and which of its halves this is."""
        offset = pointer.offset + Polynomial.constant(0)
        index = offset.terms.get((), 0) % 32 // 16
        return offset - 16 * index, 2 * index

    def load(self, machine, pointer, type):
        require(type.kind == "vector" and type.count == 2, "a load that is no half of a coordinate")
        offset, start = self.half(pointer)
        self.loads.append((offset.key, len(self.stored)))
        return self.element(offset.key).words[start:start + 2]

    def store(self, machine, pointer, type, value):
        require(type.kind == "vector" and type.count == 2, "a store of no half of a coordinate")
        offset, start = self.half(pointer)
        self.stored.setdefault(offset.key, [UNKNOWN] * 4)[start:start + 2] = value


class NeonPairs(Pairs):
    @property
    def points(self):
        return HalfPoints(self)

    def __init__(self, module):
        super().__init__(module, NEON)


class PlainNumbers(Numbers):
    """The last carry of a sum is lost in C as well, because it is always 0."""

    def __init__(self, module):
        super().__init__(module)
        self.fields.may_wrap = True


# Models and the processor

def compare(scratch):
    """Compares the models with an emulated processor."""
    if any(shutil.which(tool) is None for tool in (COMPILER, EMULATOR)):
        yield "Neon: not compared: apt-get install gcc-aarch64-linux-gnu qemu-user-static"
        return
    program = scratch / "neon"
    subprocess.run(
        [COMPILER, "-O1", "-static", "-o", program, FOLDER / "neon.c"],
        check=True, capture_output=True, text=True)
    words = list(blocks())
    data = b"".join(struct.pack("<24Q", *(w for row in block for w in row)) for block in words)
    output = subprocess.run([EMULATOR, program], input=data, capture_output=True, check=True).stdout
    lines = iter(output.decode().split("\n"))
    names = set()
    for block in words:
        for name, expected in computed(block):
            found = next(lines).split()
            names.add(name)
            if found[0] != name or [int(w, 16) for w in found[1:]] != expected:
                raise NotProven(f"the model of {name} differs from the processor: "
                                f"{[hex(w) for row in block for w in row]}")
    require(set(INTRINSICS) <= {name.split(":")[0] for name in names}, "a model is not compared")
    yield (f"Neon: {len(names)} models agree with an emulated processor (qemu) on {len(words)} "
           "blocks of edge and random words")


def computed(block):
    machine = Machine(None)
    a, b, c = (constants(row[:2]) for row in block)
    masks_of_c = constants([(1 << 64) - 1 if w >> 63 else 0 for w in block[2][:2]])
    halves = [constants([w & 0xFFFFFFFF for w in row[:2]]) for row in block]
    for name in ("vaddq_u64", "vsubq_u64", "vandq_u64", "vorrq_u64", "vceqq_u64", "vcgtq_u64",
                 "vzip1q_u64", "vzip2q_u64"):
        yield name, numbers(model_of(name)(machine, a, b))
    # Equal words are rare among random ones.
    yield "vceqq_u64:equal", numbers(model_of("vceqq_u64")(machine, a, [a[0], b[1]]))
    yield "vdupq_n_u64", numbers(model_of("vdupq_n_u64")(machine, a[0]))
    yield "vmovn_u64", numbers(model_of("vmovn_u64")(machine, a))
    yield "vmull_u32", numbers(model_of("vmull_u32")(machine, halves[0], halves[1]))
    yield "vbslq_u64", numbers(model_of("vbslq_u64")(machine, masks_of_c, a, b))
    # Not intrinsics, but operators.
    for op, name in (("shl", "<<"), ("lshr", ">>")):
        yield f"{name}:29", [machine.scalar(op, w, constants([29])[0], 64).number for w in a]
