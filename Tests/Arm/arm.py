"""Builds the C targets for 64-bit Arm and runs their checks under qemu. See script/arm."""
import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import engine_cases
import openssl
import other_cases
import pair_cases
import signature_cases
from cases import Cases, Different
from curve import P256

ROOT = Path(__file__).resolve().parent.parent.parent
LISTS = (ROOT / "Tests" / "Arm" / "mutants.txt", ROOT / "Tests" / "Proof" / "Mutants" / "neon.txt")
GCC, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
PACKAGES = {GCC: "gcc-aarch64-linux-gnu", QEMU: "qemu-user-static"}
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-O2")
# The targets that checks.c calls, and those that call single operations of them.
CHECKED = ("CAssayBytes", "CAssayP256", "CAssayP384")
CHECKS = ("CAssayP256Checks", "CAssayP384Checks")
# The settings of Package.swift that matter, and no optimisation: see compile_swift.
EMBEDDED = (
    "-enable-experimental-feature", "Embedded", "-enable-experimental-feature", "Lifetimes",
    "-wmo", "-Onone", "-parse-as-library", "-swift-version", "6", "-package-name", "assay",
    "-module-name", "AssayCurves", "-Xcc", "-ffreestanding")
# swiftc makes code for any address.
WITH_SWIFT = ("-static-pie", "-fPIE", "-DHAS_SWIFT")
# Headers of libraries, which do not depend on the processor, and their Debian packages.
LIBRARIES = {"libprotobuf-c": ("protobuf-c", "libprotobuf-c-dev"),
             "libcurl": ("curl", "libcurl4-openssl-dev")}
# Random signatures, and rounds of everything else: of all, and of what mutants are tried with.
WHOLE, QUICK = (20000, 1000), (300, 200)
# Random signatures for the engine in Swift, whose code is not optimised: of all, and for mutants.
ENGINE, ENGINE_QUICK = 320, 20
ENGINE_SOURCES = Path("Sources", "AssayCurves")
RUN_SECONDS = 600


def all_cases(signature_count, rounds):
    cases = Cases(seed=59)
    pair_cases.pair_operations(cases, rounds)
    pair_cases.passes(cases, rounds)
    other_cases.operations_384(cases, rounds)
    other_cases.points_384(cases, rounds)
    other_cases.products_384(cases, rounds // 20)
    other_cases.base64_texts(cases, 3 * rounds)
    other_cases.json_blocks(cases, 3 * rounds)
    keys = [1, 2, P256.n - 1] + [cases.random.randrange(1, P256.n) for _ in range(4)]
    tables = [signature_cases.Table(cases, *key) for key in enumerate(keys)]
    signature_cases.known_answers(cases, tables, len(tables))
    signature_cases.edges(cases, tables)
    signature_cases.large_x(cases, tables, 2)
    signature_cases.random_signatures(cases, tables, signature_count)
    return cases


def cases_of_engine(signature_count):
    cases = Cases(seed=60)
    engine_cases.all_cases(cases, signature_count)
    return cases


class Unable(Exception):
    """The checks can't run."""


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Compiler:
    def __init__(self, name, command, ignored=()):
        self.name, self.command = name, (*command, *WARNINGS, *ignored)
        self.version = output(command[0], "--version").splitlines()[0]
        predefined = output(*command, "-E", "-dM", "-x", "c", "/dev/null")
        self.has_embed = "__STDC_EMBED_FOUND__" in predefined

    def run(self, *arguments):
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise Unable(f"{self.name} {arguments[-1]}:\n{done.stderr}")


def compilers(clang):
    # GCC does not know an attribute for Swift.
    yield Compiler("GCC", (GCC,), ("-Wno-attributes",))
    if clang:
        yield Compiler("clang", (clang, "-target", "aarch64-linux-gnu"))


def library_headers(scratch):
    """A folder with the headers of the libraries alone: beside them are those of this processor."""
    folder = scratch / "include"
    folder.mkdir()
    for library, (name, package) in LIBRARIES.items():
        try:
            found = Path(output("pkg-config", "--variable=includedir", library).strip()) / name
        except (OSError, subprocess.CalledProcessError):
            found = None
        if found is None or not found.is_dir():
            raise Unable(f"no headers of {library}: apt-get install {package} pkg-config")
        (folder / name).symlink_to(found)
    return folder


def compile_all(compiler, headers, scratch):
    """Compiles every C file of Sources. Returns what is said of them."""
    files = sorted((ROOT / "Sources").glob("*/*.c"))
    left = [f for f in files if "#embed" in f.read_text() and not compiler.has_embed]
    jobs = [(f, ("-c", f"-I{f.parent}/include", f"-I{headers}", "-o",
                 scratch / f"{compiler.name}-{f.stem}.o", f)) for f in files if f not in left]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: compiler.run(*job[1]), jobs))
    names = ", ".join(f"{f.parent.name}/{f.name}" for f in left)
    return f"{len(jobs)} files" + (f"; not {names}: it has no #embed" if left else "")


def compile_swift(swiftc, root, scratch):
    """AssayCurves as Embedded Swift: an object, or None without the standard library for it. The
    optimiser of Swift 6.3 ends at a call by protocol in SumTrees."""
    library = swiftc.parent.parent / "lib/swift/embedded/Swift.swiftmodule"
    if not (library / "aarch64-none-none-elf.swiftmodule").exists():
        return None
    headers = ((name, f"{root}/Sources/{name}/include/assay_{name[6:].lower()}.h")
               for name in ("CAssayP256", "CAssayP384"))
    (scratch / "module.modulemap").write_text("".join(
        f'module {name} {{ header "{header}" export * }}\n' for name, header in headers))
    target = scratch / "engine.o"
    done = subprocess.run(
        [swiftc, "-target", "aarch64-none-none-elf", *EMBEDDED, "-I", scratch, "-c", "-o", target,
         *sorted((root / ENGINE_SOURCES).rglob("*.swift")), root / "Tests/Arm/Engine.swift"],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise Unable(f"swiftc:\n{done.stderr}")
    return target


def build(compiler, root, program, more=("-static",)):
    folders = [root / "Sources" / name for name in CHECKED]
    folders += [root / "Tests" / name for name in CHECKS]
    files = [f for folder in folders for f in sorted(folder.glob("*.c"))]
    compiler.run(*(f"-I{folder}/include" for folder in folders), "-o", program, *more, *files,
                 root / "Tests" / "Arm" / "checks.c")


def answers(program, cases):
    done = subprocess.run([QEMU, program], input=b"".join(cases.stream), capture_output=True,
                          timeout=RUN_SECONDS)
    if done.returncode != 0:
        raise Different(f"the program failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def run_checks(swiftc):
    start = time.monotonic()
    clang = swiftc and swiftc.parent / "clang"
    with tempfile.TemporaryDirectory() as name:
        scratch, programs = Path(name), []
        headers = library_headers(scratch)
        print(f"compiled for 64-bit Arm, with {' '.join(WARNINGS)}:")
        for compiler in compilers(clang):
            said = compile_all(compiler, headers, scratch)
            programs.append((compiler, scratch / compiler.name))
            build(compiler, ROOT, programs[-1][1])
            print(f"  {compiler.version}: {said}", flush=True)
        engine = swiftc and compile_swift(swiftc, ROOT, scratch)
        if engine:
            build(programs[0][0], ROOT, scratch / "engine", (*WITH_SWIFT, engine))
            print("  AssayCurves, as Embedded Swift that is not optimised; no other Swift")
        else:
            print("  skipped: clang and AssayCurves, without a swiftc with Embedded Swift for Arm")
        cases = all_cases(*WHOLE)
        print(f"executed by {output(QEMU, '--version').splitlines()[0]}:")
        for compiler, program in programs:
            compare(cases, program, f"by {compiler.name}")
        counts = dict(cases.counts)
        if engine:
            of_engine = cases_of_engine(ENGINE)
            compare(of_engine, scratch / "engine", "as Embedded Swift, with C")
            counts |= of_engine.counts
    print(f"expected by Python's integers and {openssl.version(0).decode()}:")
    for counted, count in counts.items():
        print(f"  {count:6} {counted}")
    print(f"nothing was measured; {time.monotonic() - start:.0f} s")


def compare(cases, program, compiled):
    cases.compare(answers(program, cases))
    print(f"  compiled {compiled}: all {len(cases.checks)} answers are right", flush=True)


# Mutants

def load_script():
    """script/mutants, whose lists have the same form."""
    loader = SourceFileLoader("script_mutants", str(ROOT / "script" / "mutants"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def read_mutants():
    script = load_script()

    class ArmMutant(script.Mutant):
        def check(self):
            missing = {"file", "breaks"} - self.fields.keys()
            if missing or self.before is None or self.after is None:
                raise script.ListError(f"{self.place}: {self.name} lacks {sorted(missing)}")

    try:
        return script.read_mutants(LISTS, ArmMutant)
    except script.ListError as error:
        raise Unable(error) from None


class Attempts:
    """Breaks copies of the sources."""

    def __init__(self, swiftc, scratch):
        self.swiftc, self.scratch, self.compiler = swiftc, scratch, next(compilers(None))
        self.cases, self.of_engine = all_cases(*QUICK), cases_of_engine(ENGINE_QUICK)

    def attempt(self, mutant):
        """What a mutant changes, or None."""
        root, file = self.scratch / mutant.name, Path(mutant.fields["file"])
        folders = [f"Sources/{n}" for n in CHECKED] + [f"Tests/{n}" for n in (*CHECKS, "Arm")]
        for folder in (*folders, ENGINE_SOURCES):
            shutil.copytree(ROOT / folder, root / folder)
        (root / file).write_text(mutant.applied((root / file).read_text()))
        cases, linked = self.cases, ("-static",)
        if ENGINE_SOURCES in file.parents:
            engine = self.swiftc and compile_swift(self.swiftc, root, self.scratch)
            if not engine:
                return "skipped, without a swiftc with Embedded Swift for Arm"
            cases, linked = self.of_engine, (*WITH_SWIFT, engine)
        build(self.compiler, root, root / "checks", linked)
        try:
            cases.compare(answers(root / "checks", cases))
        except (Different, subprocess.TimeoutExpired) as problem:
            return str(problem)
        return None


def run_mutants(swiftc, names):
    mutants = read_mutants()
    unknown = set(names) - {mutant.name for mutant in mutants}
    if unknown:
        raise Unable(f"unknown mutant: {', '.join(sorted(unknown))}")
    chosen = [m for m in mutants if not names or m.name in names]
    survivors = []
    with tempfile.TemporaryDirectory() as scratch:
        attempts = Attempts(swiftc, Path(scratch))
        for mutant in chosen:
            caught = attempts.attempt(mutant)
            print(f"{mutant.name}: {caught[:100] if caught else 'SURVIVED'}", flush=True)
            survivors += [] if caught else [mutant.name]
    print(f"{len(survivors)} of {len(chosen)} mutants survived")
    if survivors:
        raise Different(f"survived: {', '.join(survivors)}")


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--swiftc", type=Path)
    arguments = parser.parse_args()
    if arguments.list:
        for mutant in read_mutants():
            print(f"{mutant.name:24} {mutant.fields['breaks']}")
        return
    missing = [PACKAGES[tool] for tool in (GCC, QEMU) if shutil.which(tool) is None]
    if missing:
        raise Unable(f"the tools are missing: apt-get install {' '.join(missing)}")
    if arguments.mutants:
        run_mutants(arguments.swiftc, arguments.names)
    else:
        run_checks(arguments.swiftc)


if __name__ == "__main__":
    try:
        main()
    except Different as problem:
        print(f"arm: DIFFERENT: {problem}", file=sys.stderr)
        sys.exit(1)
    except (OSError, Unable, subprocess.SubprocessError) as problem:
        print(f"arm: {problem}", file=sys.stderr)
        sys.exit(2)
