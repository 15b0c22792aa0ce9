"""Cases for checks.c, each with the check of its answer."""
import random
import struct

KINDS = ("pair operation", "pass", "table", "signatures", "P-384 operation", "P-384 points",
         "P-384 product", "base64", "JSON", "engine key", "engine signatures", "engine 384")


class Different(Exception):
    """An answer is not the expected one."""


def expect(holds, text):
    if not holds:
        raise Different(text)


class Cases:
    """Cases in order, with the checks of their answers, and what they are in counts."""

    def __init__(self, seed):
        self.random, self.stream, self.checks, self.counts = random.Random(seed), [], [], {}

    def add(self, kind, case, check, counted, count=1):
        self.stream.append(struct.pack(
            f"<{2 + len(case)}Q", KINDS.index(kind), len(case), *case))
        self.checks.append((counted, check))
        self.counts[counted] = self.counts.get(counted, 0) + count

    def compare(self, output):
        """Raises Different at the first wrong answer."""
        at = 0
        for counted, check in self.checks:
            if at + 8 > len(output):
                raise Different(f"{counted}: the program ended before it")
            (size,) = struct.unpack_from("<Q", output, at)
            answer = struct.unpack_from(f"<{size}Q", output, at + 8)
            at += 8 + 8 * size
            try:
                check(answer)
            except Different as problem:
                raise Different(f"{counted}: {problem}") from None
        expect(at == len(output), "more answers than cases")
