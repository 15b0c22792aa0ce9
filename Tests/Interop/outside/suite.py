"""The results of suites, and the list of what differs on purpose."""
import fnmatch
import pathlib
import time

KNOWN = pathlib.Path(__file__).parent / "differences"


class Skipped(Exception):
    """The suite can't run here; the text says what is missing and where it is to be had."""


def known():
    """The lines of the list: suite, pattern of cases, reason."""
    lines = []
    for number, line in enumerate(KNOWN.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        words = [word.strip() for word in line.split(" | ")]
        if len(words) != 3 or not all(words):
            raise SystemExit(f"{KNOWN}:{number}: a line is SUITE | CASE | REASON")
        lines.append(tuple(words))
    return lines


class Suite:
    """What the cases of a suite came to."""

    def __init__(self, name):
        self.name, self.version = name, ""
        # The failure of each case in words; None for one that passed.
        self.results = {}
        self.began = time.monotonic()

    def record(self, case, failure=None):
        """Records a case. A case that is recorded twice has failed if it failed once."""
        case = " ".join(case.split())
        self.results[case] = self.results.get(case) or failure

    def check(self, case, found, expected):
        """Records a case that passes if what was found is what was expected."""
        self.record(case, None if found == expected else f"{found} instead of {expected}")

    def under(self, prefix):
        """This suite, with a prefix before the names of cases."""
        return Part(self, prefix)

    def report(self):
        """Prints the failures and a line of counts. Returns whether all failures are listed."""
        lines = [(case, reason) for suite, case, reason in known()
                 if fnmatch.fnmatchcase(self.name, suite)]
        used, new, listed = set(), 0, 0
        for case, failure in self.results.items():
            if not failure:
                continue
            found = next((line for line in lines if fnmatch.fnmatchcase(case, line[0])), None)
            if found:
                used.add(found)
                listed += 1
                print(f"differs: {self.name}: {case}: {found[1]}")
            else:
                new += 1
                print(f"FAILED: {self.name}: {case}: {failure}")
        # Another version of a tool can have other cases, so this is no failure.
        for case, _ in sorted(set(lines) - used):
            print(f"did not differ: {self.name}: {case}")
        passed = len(self.results) - new - listed
        seconds = time.monotonic() - self.began
        print(f"{'FAILED' if new else 'passed'}: {self.name}{self.version and ' ' + self.version}: "
              f"{len(self.results)} cases, {passed} passed, {listed} differ on purpose, "
              f"{new} failed, {seconds:.0f} s", flush=True)
        return not new


class Part:
    """A suite whose cases have a prefix."""

    def __init__(self, suite, prefix):
        self.suite, self.prefix = suite, prefix

    def record(self, case, failure=None):
        self.suite.record(f"{self.prefix}: {case}", failure)

    def check(self, case, found, expected):
        self.suite.check(f"{self.prefix}: {case}", found, expected)
