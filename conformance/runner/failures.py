"""The table of docs/clients.md: the cases that a client is known to fail."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "clients.md")
BEGIN, END = "<!-- conformance/run --write writes these lines -->\n", "<!-- end -->\n"


def read():
    """Returns the page's text before, within and after the table's marks."""
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, table, after


def text(cases, known):
    """Returns the lines of the page. KNOWN is a set of pairs (client, case)."""
    names = [case.name for case in cases]
    if not known:
        return "Each client passes all cases.\n"
    lines = ["Each client passes all cases, except these:", "",
             "| case | fails in |", "|---|---|"]
    for name in names:
        clients = sorted(client for client, case in known if case == name)
        if clients:
            lines.append(f"| {name} | {', '.join(clients)} |")
    return "\n".join(lines) + "\n"


def write(cases, known):
    before, _, after = read()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + text(cases, known) + END + after)
    print("docs/clients.md: written")


def check(cases, known):
    """Returns 1 if the page has other exceptions."""
    if read()[1] == text(cases, known):
        return 0
    print("conformance: the table of docs/clients.md differs; run conformance/run --write")
    return 1
