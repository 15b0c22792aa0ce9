"""Proves the signature engines, function by function. `script/prove --help` says how."""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import neon
import processor
from decisions import Decisions
from fields import P256, P384
from generic import Generic
from inverse import prove_inverse
from lists import prove_batches
from llvm import Module
from mutants import attempt_all, read_list
from numbers384 import Numbers
from pairs import Pairs
from polynomials import NotProven
from portable import FIELDS, FILES, Portable, digits
from products import prove_products
from reading import prove_reading
from signatures import Signatures
from sums import Sums
from tables import prove_tables

ROOT = Path(__file__).resolve().parent.parent.parent
# What the proof does not show.
ASSUMED = (
    "this program: its arithmetic of polynomials and bounds, and what it says each function is for",
    "the compilers: LLVM's instructions mean what its manual says, and the machine code does what "
    "they do: those of C, of ModularInverse and of NonAdjacentForm before LLVM's optimisation, "
    "those of other Swift after it",
    "the models of intrinsics and inline assembly, as compared with a processor above",
    "memory: objects do not overlap unless one contains the other; a table is aligned to 64 bytes, "
    "and its address is at least 2^21; Swift's arrays and allocations do what they are said to do",
    "that the parts are put together: what one line says of a function is what the others take "
    "of it, for example that fields in Swift compute what portable-field says",
    "larger numbers: of signatures in a batch and of pairs, the same code runs with other counts",
    "theorem 11.2 of Bernstein and Yang (2019): division steps reach 0",
    "P-256 and P-384 have the prime orders n, over the fields of the primes p (SEC 2)",
)


class Prover:
    """The parts, in order. Each yields a line for each claim that it has shown."""

    def __init__(self, clang, sources):
        self.clang, self.sources, self.modules, self.proofs = clang, sources, {}, {}

    def module(self, name):
        if name not in self.modules:
            path = self.sources / name
            text = subprocess.run(
                [self.clang, "-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm",
                 "-target", "x86_64-unknown-linux-gnu", f"-I{path.parent}/include", "-o", "-",
                 path], check=True, capture_output=True, text=True).stdout
            self.modules[name] = Module(text)
        return self.modules[name]

    def arm_module(self, name):
        if ("arm", name) not in self.modules:
            self.modules["arm", name] = neon.module_of(self.clang, self.sources / name)
        return self.modules["arm", name]

    def once(self, kind, *arguments):
        if kind not in self.proofs:
            self.proofs[kind] = kind(*arguments)
        return self.proofs[kind]

    @property
    def signatures(self):
        return self.once(Signatures, self.module("CAssayP256/assay_p256.c"))

    @property
    def sums(self):
        return self.once(Sums, self.module("CAssayP256/assay_p256.c"), self.signatures)

    @property
    def decisions(self):
        return self.once(Decisions, self.module("CAssayP256/assay_p256.c"), self.sums)

    @property
    def pairs(self):
        return self.once(Pairs, self.module("CAssayP256/pairs.c"))

    @property
    def swift_module(self):
        if "swift" not in self.modules:
            self.modules["swift"] = self.compiled_swift()
        return self.modules["swift"]

    def compiled_swift(self):
        """The types of fields and scalars, with the optimisation of the release build."""
        folder, own = self.sources / "AssayCurves", ROOT / "Tests" / "Proof"
        files = [path for pattern in FILES for path in sorted(folder.glob(pattern))]
        return self.swift(["CAssayP256/include/assay_p256.h"], [
            *files, own / "Digits.swift", own / "Formulas.swift"])

    @property
    def run_module(self):
        if "run" not in self.modules:
            self.modules["run"] = self.compiled_run()
        return self.modules["run"]

    def compiled_run(self):
        """All of AssayCurves, with the fields of Fields.swift."""
        folder, own = self.sources / "AssayCurves", ROOT / "Tests" / "Proof"
        files = [path for path in sorted(folder.glob("*/*.swift"))
                 if not re.fullmatch(r"P\d+(Field|Order)", path.stem)]
        headers = ("CAssayP256/include/assay_p256.h", "CAssayP384/include/assay_p384.h")
        return self.swift(headers, [*files, own / "Fields.swift", own / "Entries.swift"])

    @property
    def inverse_module(self):
        if "inverse" not in self.modules:
            folder, own = self.sources / "AssayCurves", ROOT / "Tests" / "Proof"
            # Each function by itself: Swift optimises without inlining, and LLVM not at all.
            self.modules["inverse"] = self.swift([], [
                *sorted(folder.glob("Field/*.swift")), folder / "P384" / "Words6.swift",
                folder / "Point" / "NonAdjacentForm.swift",
                folder / "Point" / "SignedDigits.swift", own / "Inverse.swift"],
                "-Xllvm", "-sil-inline-never-functions=ModularInverse",
                "-Xfrontend", "-disable-llvm-optzns")
        return self.modules["inverse"]

    def swift(self, headers, files, *options):
        """Compiles with the optimisation of the release build."""
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "module.modulemap").write_text("\n".join(
                f'module {Path(header).parts[0]} {{ header "{self.sources / header}" export * }}'
                for header in headers))
            text = subprocess.run(
                [Path(self.clang).parent / "swiftc", "-O", "-wmo", "-emit-ir",
                 "-swift-version", "6", "-package-name", "assay", "-module-name", "AssayCurves",
                 "-I", scratch, *options, *files, "-o", "-"],
                check=True, capture_output=True, text=True).stdout
        return Module(text)

    @property
    def numbers(self):
        return self.once(Numbers, self.module("CAssayP384/assay_p384.c"))

    @property
    def neon_pairs(self):
        return self.once(neon.NeonPairs, self.arm_module("CAssayP256/pairs.c"))

    @property
    def plain_numbers(self):
        return self.once(neon.PlainNumbers, self.arm_module("CAssayP384/assay_p384.c"))

    # The parts

    def instructions(self):
        with tempfile.TemporaryDirectory() as scratch:
            yield from processor.compare(
                self.clang, self.sources / "CAssayP256", Path(scratch))
            yield from neon.compare(Path(scratch))

    def ifma_field(self):
        yield from self.signatures.field_operations()

    def ifma_formulas(self):
        yield from self.several(
            self.signatures, "affine", "mixed_addition", "general_addition")

    def ifma_sums(self):
        yield from self.several(
            self.sums, "one_step", "sums_of_slots", "all_digits", "groups")

    def ifma_outcome(self):
        yield from self.several(self.signatures, "compared_x", "multiples_of_p")
        yield from self.several(self.decisions, "added_order", "outcomes")

    def avx2_field(self):
        yield from self.pairs.field_operations()

    def avx2_formulas(self):
        yield from self.several(self.pairs, "sum_of_pair", "equal_words", "rows")

    def avx2_sums(self):
        yield from self.pairs.all_pairs()

    def neon_field(self):
        yield from self.neon_pairs.field_operations()

    def neon_formulas(self):
        yield from self.several(self.neon_pairs, "sum_of_pair", "equal_words", "rows")

    def neon_sums(self):
        yield from self.neon_pairs.all_pairs()

    def p384_field(self):
        yield from self.numbers.field_operations()

    def p384_points(self):
        yield from self.several(self.numbers, "double", "add")

    def plain_field(self):
        yield from self.plain_numbers.field_operations()

    def plain_points(self):
        yield from self.several(self.plain_numbers, "double", "add")

    def portable_field(self):
        module = self.swift_module
        for field in FIELDS:
            yield from Portable(module, *field).operations()

    def portable_formulas(self):
        generic = Generic(self.swift_module, P256)
        yield from self.several(
            generic, "extended", "jacobian", "affine", "inversion", "comparison")
        # The same for the other prime.
        of_p384 = Generic(self.swift_module, P384)
        for line in self.several(of_p384, "extended", "jacobian", "affine", "inversion"):
            yield "P-384: " + line

    def digits(self):
        for words, window_bits in ((4, 10), (6, 8)):
            yield from digits(self.swift_module, words, window_bits)

    def tables(self):
        yield from prove_tables(self.run_module)

    def batches(self):
        yield from prove_batches(self.run_module)

    def products(self):
        yield from prove_products(self.run_module, self.inverse_module)

    def inverse(self):
        yield from prove_inverse(self.inverse_module)

    def reading(self):
        yield from prove_reading(self.run_module)

    @staticmethod
    def several(proof, *names):
        for name in names:
            yield from getattr(proof, name)()

    def part(self, name):
        """The lines of a part."""
        try:
            yield from getattr(self, name.replace("-", "_"))()
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise NotProven(f"the program does not understand the source: {error!r}") from error


PARTS = {
    "instructions": "the models of instructions agree with the processor",
    "ifma-field": "operations on field elements of eight signatures",
    "ifma-formulas": "additions of points of eight signatures",
    "ifma-sums": "which points are added, in which slots and with which signs",
    "ifma-outcome": "the comparison with r",
    "avx2-field": "operations on field elements of four pairs",
    "avx2-formulas": "the addition of a pair, and its results' words",
    "avx2-sums": "the shared inversion, and which points are added",
    "neon-field": "as avx2-field, compiled for 64-bit Arm with Neon",
    "neon-formulas": "as avx2-formulas, compiled for 64-bit Arm with Neon",
    "neon-sums": "as avx2-sums, compiled for 64-bit Arm with Neon",
    "portable-field": "Swift's operations on field elements and scalars of P-256 and P-384",
    "portable-formulas": "Swift's generic formulas, shared inversion and comparison with r",
    "digits": "the recoding of scalars to the digits of tables",
    "tables": "the tables of multiples of the generator and of keys",
    "batches": "signatures on P-256: scalars, digits, lists of points, passes and outcomes",
    "products": "signatures on P-384: the non-adjacent form, products and outcomes",
    "inverse": "the inverse of one number by division steps",
    "reading": "the point of a key, r, s and the digest from octets; P-384's comparison with r",
    "p384-field": "operations on field elements of P-384",
    "p384-points": "doubles and sums of points of P-384",
    "plain-field": "as p384-field, compiled for 64-bit Arm",
    "plain-points": "as p384-points, compiled for 64-bit Arm",
}


def prove(prover, parts):
    """Runs parts. Returns those that are not proven."""
    failed = []
    for part in parts:
        start = time.monotonic()
        print(f"{part}: {PARTS[part]}", flush=True)
        try:
            for line in prover.part(part):
                print(f"  proven: {line}", flush=True)
        except NotProven as problem:
            print(f"  NOT PROVEN: {problem}", flush=True)
            failed.append(part)
        print(f"  {time.monotonic() - start:.0f} s", flush=True)
    return failed


def parse_arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--clang", required=True)
    return parser.parse_args()


def run_mutants(arguments):
    mutants = read_list(PARTS)
    unknown = set(arguments.names) - {mutant.name for mutant in mutants}
    if unknown:
        print(f"prove: unknown mutant: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = [m for m in mutants if not arguments.names or m.name in arguments.names]
    survivors = attempt_all(
        lambda sources: Prover(arguments.clang, sources), chosen, list(PARTS))
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants were caught")
    for name in survivors:
        print(f"survived: {name}", file=sys.stderr)
    return 1 if survivors else 0


def main():
    arguments = parse_arguments()
    if arguments.list:
        for mutant in read_list(PARTS) if arguments.mutants else ():
            print(f"{mutant.name:34} {mutant.fields['breaks']}")
        for name, text in () if arguments.mutants else PARTS.items():
            print(f"{name:16} {text}")
        return 0
    if arguments.mutants:
        return run_mutants(arguments)
    unknown = set(arguments.names) - PARTS.keys()
    if unknown:
        print(f"prove: unknown part: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    prover = Prover(arguments.clang, ROOT / "Sources")
    failed = prove(prover, arguments.names or PARTS)
    print("assumed:")
    for line in ASSUMED:
        print(f"  {line}")
    if failed:
        print(f"NOT PROVEN: {' '.join(failed)}")
        return 1
    print("proven")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"prove: {error}{getattr(error, 'stderr', None) or ''}", file=sys.stderr)
        sys.exit(2)
