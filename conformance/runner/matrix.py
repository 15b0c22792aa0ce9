"""The table of docs/clients.md: clients and cases."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "clients.md")
BEGIN, END = "<!-- conformance/run --matrix writes these lines -->\n", "<!-- end -->\n"
MARKS = {"pass": "yes", "known": "no", "FAIL": "no"}


def read():
    """Returns the page's text before and after the table, and the table's cells by client."""
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    table, _, after = rest.partition(END)
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()
             if line.startswith("|")]
    cells = {}
    for column, name in enumerate(lines[0][1:] if lines else [], 1):
        cells[name] = {line[0]: line[column] for line in lines[2:]}
    return before, cells, after


def merged(cases, table, cells):
    """Returns the new table. A client that did not run keeps its cells."""
    names = sorted(set(cells) | set(table))
    new = {}
    for name in names:
        old = cells.get(name, {})
        new[name] = {
            case.name: MARKS[table[name][case.name]] if name in table and case.name in table[name]
            else old.get(case.name, "?") for case in cases}
    return new


def text(cases, cells):
    names = list(cells)
    lines = ["| case | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for group in dict.fromkeys(case.group for case in cases):
        for case in (case for case in cases if case.group == group):
            lines.append(f"| {case.name} | " + " | ".join(cells[name][case.name] for name in names) + " |")
    return "\n".join(lines) + "\n"


def write(cases, table):
    before, cells, after = read()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + text(cases, merged(cases, table, cells)) + END + after)
    print("docs/clients.md: written")


def check(cases, table):
    """Returns 1 if the page differs from the outcomes."""
    _, cells, _ = read()
    if text(cases, cells_of(cases, cells)) == text(cases, merged(cases, table, cells)):
        return 0
    print("conformance: the matrix of docs/clients.md differs; run conformance/run --matrix")
    return 1


def cells_of(cases, cells):
    return {name: {case.name: cells[name].get(case.name, "-") for case in cases} for name in sorted(cells)}
