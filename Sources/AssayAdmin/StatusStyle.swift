import AssayHTML

/// The style sheet of the status page, light and dark.
enum StatusStyle {
    static let css = """
        \(Plot.css)\(HTML.barCSS)
        :root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b1f27;--soft:#626b7a;\
        --line:#e3e6ec;--a:#2563c9;--b:#d9582b;--s0:var(--a);--s1:var(--b);\
        --good:#16794c;--warn:#96650a;--bad:#b3261e}
        @media(prefers-color-scheme:dark){:root{--bg:#101318;--card:#191d24;--ink:#e6e9ef;\
        --soft:#98a2b3;--line:#2b313c;--a:#6ea8ff;--b:#ff9163;--good:#4ccb8f;--warn:#e2b04a;\
        --bad:#ff8b80}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--bg);color:var(--ink);\
        font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
        header,main,footer{max-width:1180px;margin:0 auto;padding:0 20px}
        header{padding-top:24px;display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px}
        h1{font-size:26px;margin:0;letter-spacing:-.01em}
        header p{flex-basis:100%;margin:2px 0 0;color:var(--soft)}
        .pill{font-size:13px;font-weight:600;padding:3px 12px;border-radius:99px;\
        border:1.5px solid currentColor}
        .pill::before{content:"";display:inline-block;width:8px;height:8px;margin-right:7px;\
        border-radius:50%;background:currentColor}
        .good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}
        code{font:12.5px/1.4 ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace}
        h2{font-size:15px;margin:0}
        .tiles{display:grid;grid-template-columns:repeat(6,1fr);gap:12px;margin:20px 0 12px}
        .tiles div,.card,figure{background:var(--card);border:1px solid var(--line);\
        border-radius:10px;padding:14px 16px;margin:0}
        .tiles h2{font-size:13px;font-weight:500;color:var(--soft)}
        .tiles b{display:block;font-size:24px;font-weight:650;letter-spacing:-.02em;\
        font-variant-numeric:tabular-nums;white-space:nowrap}
        small,.unit,.card p,footer{color:var(--soft);font-size:13px}
        .tiles small{display:block;font-size:12px;line-height:1.3}
        .charts{display:grid;grid-template-columns:1fr 1fr;gap:12px;margin-bottom:12px}
        .charts .plot{margin:0}.frame svg{height:170px}
        .a{--c:var(--a)}.b{--c:var(--b)}
        .columns{columns:2;column-gap:12px}
        .card{break-inside:avoid;margin-bottom:12px}
        .card p{margin:1px 0 8px}
        .card p.empty{margin:6px 0 2px;color:var(--ink);opacity:.75}
        .scroll{overflow-x:auto}
        table{border-collapse:collapse;width:100%}
        td,th{text-align:left;padding:5px 12px 5px 0;border-top:1px solid var(--line);\
        vertical-align:middle}
        th{font-size:12px;font-weight:500;color:var(--soft);border-top:0}
        td:last-child,th:last-child{text-align:right;padding-right:0;white-space:nowrap;\
        font-variant-numeric:tabular-nums}
        td:has(.bar){width:32%}
        footer{padding-top:6px;padding-bottom:28px}
        a{color:var(--a)}
        @media(max-width:900px){.tiles{grid-template-columns:repeat(3,1fr)}\
        .charts{grid-template-columns:1fr}.columns{columns:1}}
        @media(max-width:520px){td{overflow-wrap:anywhere}\
        table.wide,.wide tbody{display:block}.wide .head{display:none}\
        .wide tr{display:block;border-top:1px solid var(--line);padding:6px 0}\
        .wide td,.wide td:last-child{display:flex;justify-content:space-between;gap:12px;\
        border:0;padding:1px 0;text-align:right;white-space:normal}\
        .wide td::before{content:attr(data-label);color:var(--soft);font-size:13px;\
        white-space:nowrap}
        .tiles b{white-space:normal}}
        @media(max-width:520px){header,main,footer{padding-left:12px;padding-right:12px}\
        .tiles{grid-template-columns:1fr 1fr;gap:8px}.tiles div,.card,figure{padding:11px 12px}\
        .tiles b{font-size:21px}td:has(.bar){width:26%}.bar{min-width:44px}}
        """
}
