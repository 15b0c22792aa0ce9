/// The style of the page `/explain`, beside that of the status page.
enum ExplainStyle {
    static let css = """
        main{padding-top:16px}main>.card,main>details{margin:0 0 12px}
        h2.item{font-size:19px;margin:22px 0 6px;overflow-wrap:anywhere}
        form{display:grid;gap:12px}
        label{display:grid;gap:4px;font-size:13px;color:var(--soft)}
        .choices{display:grid;grid-template-columns:repeat(3,1fr);gap:12px}
        textarea,select,input,button{font:inherit;color:var(--ink);\
        background:var(--bg);border:1px solid var(--line);border-radius:8px;padding:8px 10px;\
        width:100%;min-width:0}
        textarea{min-height:150px;font:12.5px/1.4 ui-monospace,Menlo,"DejaVu Sans Mono",monospace;\
        overflow-wrap:anywhere}
        button{background:var(--a);border-color:var(--a);color:var(--bg);font-weight:600;\
        cursor:pointer;max-width:220px}
        summary{cursor:pointer;color:var(--a)}
        details.all>summary{padding:8px 0;overflow-wrap:anywhere}
        .card ul{margin:4px 0 0;padding-left:20px}.card li{overflow-wrap:anywhere}
        .card h3{font-size:14px;margin:10px 0 2px;overflow-wrap:anywhere}
        .card h2{margin-bottom:6px}
        .verdict{display:flex;flex-wrap:wrap;gap:8px 12px;align-items:center}
        .verdict p{flex-basis:100%;margin:2px 0 0;color:var(--ink);font-size:15px;\
        overflow-wrap:anywhere}
        .card{padding:14px 16px}.card p.bad{color:var(--bad)}.card p{overflow-wrap:anywhere}
        ol.checks{list-style:none;margin:6px 0 0;padding:0}
        ol.checks li{display:grid;grid-template-columns:22px minmax(0,1fr);\
        gap:2px 8px;padding:6px 0;border-top:1px solid var(--line)}
        ol.checks li::before{font-weight:700;text-align:center}
        li.passed b,li.notreached b{font-weight:500}
        li.passed::before{content:"✓";color:var(--good)}
        li.failed::before{content:"✗";color:var(--bad)}
        li.notreached::before{content:"·";color:var(--soft)}
        li.notreached{color:var(--soft)}
        li.failed b{color:var(--bad)}
        li dl{grid-column:2;display:grid;grid-template-columns:max-content minmax(0,1fr);\
        gap:0 10px;margin:0;font-size:13px;color:var(--soft)}
        dl dd{margin:0;overflow-wrap:anywhere}
        .columns.explain{columns:auto;display:grid;grid-template-columns:minmax(0,1fr);gap:12px}
        .explain h2{margin:10px 0 6px}.explain h2:first-child{margin-top:0}
        .mark{display:inline-block;font-size:12px;font-weight:700;letter-spacing:.04em;\
        padding:2px 9px;border-radius:5px;border:1.5px solid currentColor;margin-left:8px}
        .unverified{border:1.5px dashed var(--bad)}
        td{overflow-wrap:anywhere}td.name{width:235px;color:var(--soft)}
        table.fields td:last-child,table.fields th:last-child{text-align:left;white-space:normal}
        td small{display:block}
        .timeline svg{display:block;width:100%;height:9px}
        .timeline p{margin:8px 0 3px;font-size:13px;color:var(--soft)}
        .timeline .ends{display:flex;justify-content:space-between;margin:4px 0 12px;font-size:12px}
        .timeline .period{fill:var(--a)}.timeline .refund{fill:var(--b)}
        .timeline .axis{fill:var(--line)}
        @media(min-width:521px){.records td{font-size:13px;white-space:nowrap}\
        .records td:first-child,.records td:last-child{white-space:normal}}
        @media(max-width:520px){.wide td:empty{display:none}\
        .choices{grid-template-columns:1fr}table.fields,.fields tbody{display:block}\
        .fields tr{display:block;border-top:1px solid var(--line);padding:5px 0}\
        .fields td,.fields td.name{display:block;width:auto;border:0;padding:1px 0}}
        """
}
