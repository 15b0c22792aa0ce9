"""Breaks one line of an engine at a time, and expects the proof to fail."""
import shutil
import tempfile
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from polynomials import NotProven

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(__file__).resolve().parent / "Mutants"

# Files of which all is proven, and the part that reads them first. The mutants of the tests in
# these files are the proof's as well.
PROVEN = {
    "Sources/CAssayP256/formulas.h": "ifma-field", "Sources/CAssayP256/assay_p256.c": "ifma-sums",
    "Sources/CAssayP256/pair_formulas.h": "avx2-field", "Sources/CAssayP256/pairs.c": "avx2-sums",
    "Sources/CAssayP384/field.h": "p384-field", "Sources/CAssayP384/assay_p384.c": "p384-points",
    "Sources/AssayCurves/Point/SignedDigits.swift": "digits",
    "Sources/AssayCurves/Point/FixedBaseTable.swift": "tables",
    "Sources/AssayCurves/Point/NonAdjacentForm.swift": "products",
    "Sources/AssayCurves/Point/SumTrees.swift": "batches",
    "Sources/AssayCurves/Point/VariableBaseProduct.swift": "products",
    "Sources/AssayCurves/P256/P256PairSums.swift": "batches",
    "Sources/AssayCurves/Verification/ECDSANumbers.swift": "reading",
    "Sources/AssayCurves/P384/P384Field.swift": "portable-field",
    "Sources/AssayCurves/P384/P384Order.swift": "portable-field",
}


def load_script():
    """script/mutants, whose lists have the same form."""
    loader = SourceFileLoader("script_mutants", str(ROOT / "script" / "mutants"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


SCRIPT = load_script()


def read_list(parts):
    """The mutants of the proof, and those of the tests in files that the proof reads."""

    class ProofMutant(SCRIPT.Mutant):
        def check(self):
            missing = {"file", "breaks", "part"} - self.fields.keys()
            if missing or self.before is None or self.after is None:
                raise SCRIPT.ListError(f"{self.place}: {self.name} lacks {sorted(missing)}")
            if self.fields["part"] not in parts:
                raise SCRIPT.ListError(f"{self.place}: no part {self.fields['part']}")

    found = SCRIPT.read_mutants(sorted(FOLDER.glob("*.txt")), ProofMutant)
    return found + [m for m in SCRIPT.read_list() if m.fields["file"] in PROVEN]


def attempt_all(prover, chosen, parts):
    """Prints what caught each mutant. Returns those that were not noticed."""
    survivors = []
    for number, mutant in enumerate(chosen, 1):
        start = time.monotonic()
        caught = attempt(prover, mutant, parts)
        if caught is None:
            survivors.append(mutant.name)
        print(f"[{number}/{len(chosen)}] {mutant.name}: {caught or 'SURVIVED'} "
              f"({time.monotonic() - start:.0f} s)", flush=True)
    return survivors


def attempt(prover, mutant, parts):
    """What the proof says of the mutant: of its own part first, then of the others."""
    own = mutant.fields.get("part") or PROVEN[mutant.fields["file"]]
    with tempfile.TemporaryDirectory() as scratch:
        sources = Path(scratch) / "Sources"
        for name in ("CAssayP256", "CAssayP384", "AssayCurves"):
            shutil.copytree(ROOT / "Sources" / name, sources / name)
        path = Path(scratch) / mutant.fields["file"]
        path.write_text(mutant.applied(path.read_text()))
        broken = prover(sources)
        for part in [own] + [part for part in parts if part not in (own, "instructions")]:
            try:
                for _ in broken.part(part):
                    pass
            except NotProven as problem:
                return f"{part}: {problem}"
    return None
