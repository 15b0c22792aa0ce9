"""Reads the case list. Its form:

    case NAME
    server KIND [as SCHEME]: SCRIPT | SCRIPT ...
    call CALL [MEMBER=VALUE ...] [xCOUNT]
    expect OUTCOME [MEMBER=VALUE ...] [xCOUNT]
    saw FACT

Calls in consecutive lines are started together; `then`, `sleep MS` and `close` separate steps. The
lines `expect` are in the order of the calls, or in any order after the line `unordered`.
servers.py has the kinds of servers, compare.py the outcomes and facts.
"""
import os
import re
import shlex
from dataclasses import dataclass, field


@dataclass
class Case:
    name: str
    group: str
    servers: list = field(default_factory=list)  # (kind, scheme or None, script)
    steps: list = field(default_factory=list)
    expected: list = field(default_factory=list)  # (outcome, words)
    facts: list = field(default_factory=list)
    options: dict = field(default_factory=dict)
    tls: dict = None
    environment: bool = False
    unordered: bool = False


def read_cases(folder):
    cases = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    read_line(line.strip(), cases, name.removesuffix(".txt"))
                except (ValueError, IndexError, KeyError) as error:
                    raise SystemExit(f"{name}:{number}: {error}: {line.strip()}")
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"conformance: two cases have the name {twice.pop()}")
    for case in cases:
        if not case.expected:
            raise SystemExit(f"conformance: the case {case.name} expects nothing")
    return cases


def read_line(line, cases, group):
    if not line or line.startswith("#"):
        return
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if word == "case":
        cases.append(Case(rest, group))
        return
    case = cases[-1]
    if word == "server":
        head, _, script = rest.partition(":") if not rest.startswith("address") else (rest, "", "")
        kind, _, scheme = head.partition(" as ")
        case.servers.append((kind.strip(), scheme.strip() or None, script.strip()))
    elif word == "call":
        if not case.steps or "calls" not in case.steps[-1]:
            case.steps.append({"calls": []})
        case.steps[-1]["calls"].append(read_call(rest))
    elif word == "then":
        case.steps.append({"sleepMs": 0})
    elif word == "sleep":
        case.steps.append({"sleepMs": int(rest)})
    elif word == "close":
        case.steps.append({"close": True})
    elif word == "expect":
        words, count = split(rest)
        case.expected += [words] * count
    elif word == "saw":
        case.facts.append(rest.split())
    elif word == "options":
        case.options.update(members(rest.split()))
    elif word == "tls":
        case.tls = dict(pair.split("=") for pair in rest.split())
    elif word == "environment":
        case.environment = True
    elif word == "unordered":
        case.unordered = True
    else:
        raise ValueError(f"unknown word {word}")


def split(text):
    """Returns the words without a count such as x3, and the count."""
    words = shlex.split(text)
    if re.fullmatch(r"x\d+", words[-1]):
        return words[:-1], int(words[-1][1:])
    return words, 1


def read_call(text):
    words, count = split(text)
    call = {"call": words[0], **members(words[1:])}
    if count > 1:
        call["count"] = count
    return call


TEXTS = {"at", "notOlderThan", "appAppleId", "maxAgeMs", "billingRetryLeniencyMs", "app",
         "transactionId", "renewalLeniencyMs", "knownAt"}


def members(words):
    """Reads MEMBER=VALUE; a dot in a member is an object's member. `item=[KIND@]EVIDENCE[#LABEL]` is
    an item of a Resolve, `evidence=file:NAME | text:TEXT | zeros:N`. LONG is a text of 70,000 letters."""
    found = {}
    for word in words:
        name, _, value = word.partition("=")
        target = found
        *path, name = name.split(".")
        for step in path:
            target = target.setdefault(step, {})
        if name == "item":
            kind, evidence, label = read_item(value)
            item = {"evidence": read_evidence(evidence)}
            item.update({"kind": kind} if kind else {}, **({"label": label} if label else {}))
            target.setdefault("items", []).append(item)
        elif name == "evidence":
            target[name] = read_evidence(value)
        elif name in ("environments", "productIds", "lists", "stackedProducts"):
            target[name] = value.split(",") if value else []
        elif value in ("true", "false"):
            target[name] = value == "true"
        elif re.fullmatch(r"\d+", value) and name not in TEXTS and path[-1:] != ["durations"]:
            target[name] = int(value)
        else:
            target[name] = value.replace("LONG", "x" * 70000)
    return found


def read_item(value):
    kind, _, rest = value.rpartition("@")
    evidence, _, label = rest.partition("#")
    return kind, evidence, label


def read_evidence(value):
    form, _, rest = value.partition(":")
    return {form: int(rest) if form == "zeros" else rest}
