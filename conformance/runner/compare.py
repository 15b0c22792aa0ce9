"""Compares outcomes with what a case expects.

OUTCOME, in a line `expect`:
    pong, serving, not-serving, info, valid, refused VERDICT, resolution, fetch
    connect, tls, lost, deadline, cancelled, protocol, closed, too-large, too-many, argument
    status NAME      retryable if retryAfterMs is expected or the status is UNAVAILABLE
    address          the client could not be made
    not-valid        an error, or a verdict other than VALID
A|B is one or the other. VALUE, of a member: text or a number; LOW..HIGH; ~TEXT is contained, with
underscores for spaces; A,B for a list; none if the member must be absent.

FACT, in a line `saw`, about the scripted servers:
    opens N               connections, in all
    requests N            requests, in all
    on A.C N              requests on connection C of address A; only scripted ones are counted
    order EVENT EVENT ... events that begin so, in this order
    event REGEX           an event that matches
"""
import re

RETRYABLE = {
    "connect": True, "tls": False, "lost": True, "deadline": True, "cancelled": False,
    "protocol": False, "closed": False, "too-large": False, "too-many": True,
    "argument": False,
}
ANSWERS = {
    "pong": {"ok": "pong"}, "serving": {"ok": "health", "serving": "true"},
    "not-serving": {"ok": "health", "serving": "false"}, "info": {"ok": "info"},
    "valid": {"ok": "verification", "valid": "true", "verdict": "VALID"},
    "resolution": {"ok": "resolution"}, "fetch": {"ok": "fetch"},
}


def differences(case, outcome, events):
    """Returns lines that say what differs."""
    found = []
    if outcome.get("name") != case.name:
        found.append(f"the outcome's name is {outcome.get('name')}")
    if case.expected[0][0] == "address":
        wrong = mismatch(case.expected[0], outcome)
        return found + [f"no such address error: {wrong}: {outcome}"] if wrong else found
    outcomes = outcome.get("outcomes")
    if outcomes is None or len(outcomes) != len(case.expected):
        return found + [f"expected {len(case.expected)} outcomes: {outcome}"]
    if case.unordered:
        outcomes = arrange(outcomes, case.expected)
    for number, (words, actual) in enumerate(zip(case.expected, outcomes), 1):
        wrong = mismatch(words, actual)
        if wrong:
            found.append(f"outcome {number}: expected {' '.join(words)}; {wrong}: {actual}")
    for fact in case.facts:
        wrong = check_fact(fact, events)
        if wrong:
            found.append(f"saw {' '.join(fact)}: {wrong}; {' '.join(events)}")
    broken = [event for event in events if event.startswith(("script-error", "broken"))]
    return found + broken


def arrange(outcomes, expected):
    """Returns the outcomes in the order of the expectations that they fulfil, others at the end."""
    rest, ordered = list(outcomes), []
    for words in expected:
        match = next((one for one in rest if not mismatch(words, one)), None)
        if match is not None:
            rest.remove(match)
        ordered.append(match)
    return [one if one is not None else rest.pop(0) for one in ordered]


def mismatch(words, actual):
    """Returns what is wrong; None if nothing is."""
    reasons = [mismatch_one([kind] + words[1:], actual) for kind in words[0].split("|")]
    return None if None in reasons else reasons[0]


def mismatch_one(words, actual):
    kind, rest = words[0], words[1:]
    if kind == "not-valid":
        is_fine = "error" in actual or actual.get("valid") is False
        return None if is_fine else "it is valid"
    members = dict(word.split("=", 1) for word in rest if "=" in word)
    if kind == "refused":
        members = {"ok": "verification", "valid": "false", "verdict": rest[0], **members}
    elif kind == "status":
        members = {"retryAfterMs": "none", "appStoreErrorCode": "none", **members}
        retryable = members["retryAfterMs"] != "none" or rest[0] == "UNAVAILABLE"
        members = {"error": "status", "status": rest[0], "retryable": text(retryable), **members}
    elif kind == "address":
        members = {"error": kind, **members}
    elif kind in RETRYABLE:
        members = {"error": kind, "retryable": text(RETRYABLE[kind]), **members}
    else:
        members = {**ANSWERS[kind], **members}
    for name, value in members.items():
        if not matches(value, actual.get(name)):
            return f"{name} is {text(actual.get(name))}, not {value}"
    return None


def text(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(text(one) for one in value)
    return "none" if value is None else str(value)


def matches(expected, actual):
    limits = re.fullmatch(r"(\d+)\.\.(\d+)", expected)
    if limits:
        return isinstance(actual, (int, float)) and int(limits[1]) <= actual <= int(limits[2])
    if expected.startswith("~"):
        return expected[1:].replace("_", " ") in text(actual)
    return expected == text(actual)


def check_fact(fact, events):
    """Returns what is wrong; None if nothing is."""
    requests = [event for event in events if event.startswith("request:")]
    if fact[0] == "opens":
        count = sum(event.startswith("open:") for event in events)
        return None if count == int(fact[1]) else f"there were {count}"
    if fact[0] == "requests":
        return None if len(requests) == int(fact[1]) else f"there were {len(requests)}"
    if fact[0] == "on":
        count = sum(event.startswith(f"request:{fact[1]}.") for event in requests)
        return None if count == int(fact[2]) else f"there were {count}"
    if fact[0] == "order":
        rest = iter(events)
        missing = [begin for begin in fact[1:] if not any(event.startswith(begin) for event in rest)]
        return f"{missing[0]} is not there, or too early" if missing else None
    if fact[0] == "event":
        return None if any(re.fullmatch(fact[1], event) for event in events) else "no event matches"
    return "an unknown fact"
