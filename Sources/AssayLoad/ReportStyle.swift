import AssayHTML

/// The style sheet of reports, light or dark as the reader's system prefers.
package enum ReportStyle {
    package static let css = """
        \(Plot.css)
        :root{color-scheme:light dark;--ink:#1b2430;--soft:#5b6675;--paper:#fff;--shade:#f1f3f6;\
        --line:#dfe4ea;--badpaper:#fdecea;--bad:#c0392b;--good:#15803d;--s0:#2563eb;\
        --s1:#d97706;--s2:#16a34a;--s3:#c0392b;--s4:#7c3aed;--s5:#0891b2;\
        --s6:#64748b;--s7:#be185d;--s8:#a16207}
        @media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa5b4;--paper:#14181e;\
        --shade:#1f252d;--line:#2c343e;--badpaper:#3a1d1b;--bad:#f1857a;--good:#4ade80;\
        --s0:#6ea0ff;--s1:#f5a742;--s2:#4ade80;--s3:#f1857a;--s4:#b197fc;--s5:#4fd1e0;\
        --s6:#94a3b8;--s7:#f472b6;--s8:#eab308}}
        body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;\
        color:var(--ink);background:var(--paper)}h1{font-size:1.45em}\
        h2{font-size:1.15em;margin-top:2em}.big{font-size:1.25em;font-weight:600}\
        .note{color:var(--soft)}.bad{background:var(--badpaper);\
        border-left:4px solid var(--bad);padding:.5em 1em}\
        table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em 1.2em .2em 0;\
        text-align:left;vertical-align:top}tr+tr td{border-top:1px solid var(--line)}\
        td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
        @media(max-width:820px){body{margin:1em auto;padding:0 12px}\
        table.wide,.wide tbody{display:block}.wide .head{display:none}\
        .wide tr{display:block;border:1px solid var(--line);border-radius:8px;\
        padding:.4em .8em;margin:.6em 0}\
        .wide td,.wide td.n{display:flex;justify-content:space-between;gap:1em;padding:.15em 0;\
        border:0!important;text-align:right;white-space:normal}\
        .wide td::before{content:attr(data-label);color:var(--soft);text-align:left}\
        .wide td:first-child{font-weight:600}.wide td:empty{display:none}\
        .wide td[data-label=""]{display:block;text-align:left}}
        code{background:var(--shade);padding:.1em .3em;overflow-wrap:anywhere}
        """

    /// A complete, self-contained page.
    package static func page(title: String, _ body: String, css more: String = "") -> String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title.htmlEscaped)</title>
        <style>\(css)\(more)</style></head><body>
        \(body)
        </body></html>

        """
    }

    /// The most columns that fit a narrow screen. A wider table shows a card for each row there.
    private static let narrowColumns = 3

    /// A table of text cells. Aligns columns of numbers as numbers.
    package static func table(_ head: [String], _ rows: [[String]]) -> String {
        let areNumbers = head.indices.map { column in
            rows.allSatisfy { $0[column].first.map { $0.isNumber || "≤≥-".contains($0) } ?? true }
        }
        let isWide = head.count > narrowColumns
        func row(_ cells: [String], _ tag: String) -> String {
            let cells = cells.indices.map { column in
                let number = areNumbers[column] ? " class=\"n\"" : ""
                let label = isWide ? " data-label=\"\(head[column].htmlEscaped)\"" : ""
                return "<\(tag)\(number)\(label)>\(cells[column].htmlEscaped)</\(tag)>"
            }
            return "<tr\(tag == "th" ? " class=\"head\"" : "")>\(cells.joined())</tr>"
        }
        return "<table\(isWide ? " class=\"wide\"" : "")>" + row(head, "th")
            + "\(rows.map { row($0, "td") }.joined(separator: "\n"))"
            + "</table>"
    }
}
