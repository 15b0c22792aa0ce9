import Assay
import AssayBytes

/// The style sheet of the page, light and dark.
enum StoreStyle {
    /// The source of a Content-Security-Policy that admits this style sheet alone.
    static let source: String = {
        let text = Array(css.utf8)
        let digest = SHA256.digest(text.span).octets
        let encoded = Base64.encode(digest.span)
        return "'sha256-" + String(decoding: encoded, as: UTF8.self) + "'"
    }()

    static let css = """
        :root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b1f27;--soft:#626b7a;\
        --line:#e3e6ec;--a:#2563c9;--on:#fff;--good:#16794c;--warn:#96650a;--bad:#b3261e}
        @media(prefers-color-scheme:dark){:root{--bg:#101318;--card:#191d24;--ink:#e6e9ef;\
        --soft:#98a2b3;--line:#2b313c;--a:#6ea8ff;--on:#101318;--good:#4ccb8f;--warn:#e2b04a;\
        --bad:#ff8b80}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--bg);color:var(--ink);\
        font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
        header,main,footer{max-width:1180px;margin:0 auto;padding:0 20px}
        header{padding-top:24px;display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px}
        h1{font-size:26px;margin:0;letter-spacing:-.01em}
        h2{font-size:15px;margin:0}
        header p{flex-basis:100%;margin:2px 0 16px;color:var(--soft);overflow-wrap:anywhere}
        .pill{font-size:13px;font-weight:600;padding:3px 12px;border-radius:99px;\
        border:1.5px solid currentColor}
        .tag{font-size:12px;font-weight:500;color:var(--soft);border:1px solid var(--line);\
        border-radius:99px;padding:1px 9px;margin-left:4px}
        .good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}
        .soft,small,.card p,footer{color:var(--soft);font-size:13px}
        code{font:12.5px/1.4 ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace}
        .card{background:var(--card);border:1px solid var(--line);border-radius:10px;\
        padding:14px 16px;margin:0 0 12px;min-width:0}
        .card p{margin:1px 0 8px}.card p.ids{margin:10px 0 0;overflow-wrap:anywhere}
        .customers{display:grid;grid-template-columns:1fr 1fr;gap:0 12px;align-items:start}
        .clock{display:flex;flex-wrap:wrap;justify-content:space-between;gap:10px 24px}
        .clock b{font-size:24px;font-weight:650;font-variant-numeric:tabular-nums;\
        letter-spacing:-.02em}
        .clock small{display:block}.clock p{flex-basis:100%;margin:0}
        .moves{display:grid;gap:8px;justify-items:start}
        button,select{font:inherit;font-size:14px;color:var(--ink);background:var(--bg);\
        border:1px solid var(--line);border-radius:8px;padding:6px 12px;margin:0 6px 0 0;\
        max-width:100%}
        button{cursor:pointer}button:hover{border-color:var(--a)}
        button.main{background:var(--a);border-color:var(--a);color:var(--on);font-weight:600}
        button:focus-visible,select:focus-visible,a:focus-visible{outline:2px solid var(--a);\
        outline-offset:2px}
        .row{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:end;margin-top:8px}
        .row label{display:grid;gap:2px;font-size:13px;color:var(--soft)}
        .line{list-style:none;margin:8px 0 12px;padding:0 0 0 16px;\
        border-left:2px solid var(--line)}
        .line li{position:relative;padding:2px 0}
        .line li::before{content:"";position:absolute;left:-22px;top:8px;width:10px;height:10px;\
        border-radius:50%;background:var(--card);border:2px solid var(--a)}
        .line .past::before{background:var(--a)}
        .line .future{color:var(--soft)}.line .future::before{border-color:var(--soft)}
        .line .sent{padding-left:14px;font-size:13px}
        .line .sent::before{content:none}
        time{font-variant-numeric:tabular-nums;color:var(--soft);margin-right:4px}
        table{border-collapse:collapse;width:100%}
        td,th{text-align:left;padding:5px 12px 5px 0;border-top:1px solid var(--line);\
        vertical-align:top;overflow-wrap:break-word}
        .scroll{overflow-x:auto}.day{white-space:nowrap}td code{overflow-wrap:anywhere}
        .scroll code{white-space:nowrap}
        td{font-size:14px;font-variant-numeric:tabular-nums}
        th{font-size:12px;font-weight:500;color:var(--soft);border-top:0}
        td:last-child,th:last-child{padding-right:0}
        footer{padding-top:6px;padding-bottom:28px}
        a{color:var(--a)}
        .empty{margin:6px 0 2px}
        @media(max-width:1120px){.customers{grid-template-columns:1fr}}
        @media(max-width:520px){header,main,footer{padding-left:12px;padding-right:12px}\
        .card{padding:11px 12px}.moves button{margin-bottom:6px}\
        table.wide,.wide tbody{display:block}.wide .head{display:none}\
        .wide tr{display:block;border-top:1px solid var(--line);padding:6px 0}\
        .wide td,.wide td:last-child{display:flex;justify-content:space-between;gap:12px;\
        border:0;padding:1px 0;text-align:right}.wide td:empty{display:none}\
        .wide td::before{content:attr(data-label);color:var(--soft);font-size:13px;\
        white-space:nowrap}}
        """
}
