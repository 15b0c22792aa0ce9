"""Compares the models of instructions with this processor, on edge and random values."""
import random
import struct
import subprocess
from pathlib import Path

from assembly import Processor
from instructions import model_of, multiply_32
from machine import Machine
from memory import Recast
from polynomials import NotProven
from values import Word

FOLDER = Path(__file__).resolve().parent
EDGES = [0, 1, 2, (1 << 29) - 1, 1 << 29, (1 << 32) - 1, 1 << 32, (1 << 52) - 1, 1 << 52,
         (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 2, (1 << 64) - 1]
BLOCKS = 300
FEATURES = {"8": ("avx512f", "avx512dq", "avx512ifma"), "4": ("avx2",), "1": ("bmi2", "adx")}


def blocks():
    generator = random.Random(59)
    for _ in range(BLOCKS):
        yield [[generator.choice(EDGES) if generator.random() < 0.6 else generator.getrandbits(64)
                for _ in range(8)] for _ in range(3)]


def flags():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


def compare(clang, sources, scratch):
    """Yields a line for each set of instructions."""
    present = flags()
    for kind, needed in FEATURES.items():
        is_here = all(feature in present for feature in needed)
        names = {"8": "AVX-512 IFMA", "4": "AVX2", "1": "BMI2, ADX and carries"}[kind]
        if kind != "8" and not is_here:
            yield f"{names}: not on this processor"
            continue
        defined = ["-DEIGHT"] if kind == "8" else []
        defined += [] if is_here else ["-DASSAY_EMULATE_IFMA"]
        program = scratch / f"processor{kind}"
        subprocess.run(
            [clang, "-O1", *defined, f"-I{sources}", "-o", program, FOLDER / "processor.c"],
            check=True, capture_output=True, text=True)
        count, found = run(program, kind)
        by = "this processor" if is_here else \
            "emulation.h, plain C (not on this processor)"
        yield f"{names}: {len(found)} models agree with {by} on {count} blocks of edge and " \
              "random words"


def run(program, kind):
    words = list(blocks())
    data = b"".join(struct.pack("<24Q", *(w for row in block for w in row)) for block in words)
    lines = subprocess.run(
        [program, kind], input=data, capture_output=True, check=True).stdout.decode().split("\n")
    lines = iter(lines)
    names = set()
    for block in words:
        for name, expected in computed(kind, block):
            found = next(lines).split()
            names.add(name)
            if found[0] != name or [int(w, 16) for w in found[1:]] != expected:
                raise NotProven(f"the model of {name} differs from the processor: "
                                f"{[hex(w) for row in block for w in row]}")
    return len(words), names


def constants(row):
    return [Word.constant(w) for w in row]


def numbers(words):
    return [w.number for w in (words.values if isinstance(words, Recast) else words)]


def computed(kind, block):
    machine = Machine(None)
    if kind == "8":
        yield from computed_eight(machine, block)
    elif kind == "4":
        yield from computed_four(machine, block)
    else:
        for a, b, c in zip(*block):
            yield from computed_scalar(machine, a, b, c)


def computed_eight(machine, block):
    a, b, c = map(constants, block)
    for name in ("l", "h"):
        name = f"llvm.x86.avx512.vpmadd52{name}.uq.512"
        yield name, numbers(model_of(name)(machine, a, b, c))
    for name, count in (("pslli", 12), ("pslli", 48), ("psrli", 52), ("psrai", 48)):
        name = f"llvm.x86.avx512.{name}.q.512"
        yield f"{name}:{count}", numbers(model_of(name)(machine, a, Word.constant(count)))
    name = "llvm.x86.avx512.pternlog.q.512"
    yield f"{name}:168", numbers(model_of(name)(machine, a, b, c, Word.constant(0xA8)))
    name = "llvm.x86.avx512.permvar.di.512"
    yield name, numbers(model_of(name)(machine, a, b))
    for name in ("llvm.umax.v8i64", "llvm.umin.v8i64", "llvm.abs.v8i64"):
        yield name, numbers(model_of(name)(machine, a, b))


def computed_four(machine, block):
    a, b, c = (constants(row[:4]) for row in block)
    yield "vpmuludq", [multiply_32(machine, x, y).number for x, y in zip(a, b)]
    for name in ("llvm.x86.avx2.pslli.q", "llvm.x86.avx2.psrli.q"):
        yield f"{name}:29", numbers(model_of(name)(machine, a, Word.constant(29)))
    masks = constants([(1 << 64) - 1 if w >> 63 else 0 for w in block[2][:4]])
    name = "llvm.x86.avx2.pblendvb"
    yield name, numbers(model_of(name)(
        machine, Recast(a, 64), Recast(b, 64), Recast(masks, 64)))
    name = "llvm.x86.avx.ptestz.256"
    result = model_of(name)(machine, a, b)
    yield name, [result if isinstance(result, int) else result.number]


def computed_scalar(machine, a, b, c):
    first, second, carry = (Word.constant(w) for w in (a, b, c & 1))
    for name in ("llvm.x86.addcarry.64", "llvm.x86.subborrow.64"):
        yield name, numbers(model_of(name)(machine, carry, first, second))
    processor = Processor(machine, {0: None, 1: None, 2: first})
    processor.rdx = second
    processor.execute("mulxq $2, $0, $1")
    yield "mulxq", numbers([processor.registers[1], processor.registers[0]])
    for name, flag in (("adcxq", "carry"), ("adoxq", "overflow")):
        processor = Processor(machine, {0: second, 1: first})
        processor.carry = processor.overflow = Word.constant(1)
        setattr(processor, flag, carry)
        processor.execute(f"{name} $1, $0")
        yield name, numbers([getattr(processor, flag), processor.registers[0]])
