import Assay
import AssayBytes
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer

extension ServerSettings {
    /// A readable summary of what the server would serve and trust.
    func summary(now: Timestamp) -> String {
        var lines: [String] = []
        func add(_ name: String, _ value: String) {
            lines.append("\(name.padded(to: 10)) \(TerminalText.escaped(value))")
        }
        add("configured", configuration ?? "no file")
        for endpoint in listen { add("listen", endpoint.checkText) }
        for socket in inherited { add("listen", "inherited: \"\(socket.name)\"") }
        if isDefaultListen {
            add("", "(default; a service of systemd has the sockets of its socket unit instead:")
            add("", "systemctl show assay.socket --property=Listen)")
        }
        for endpoint in listen where endpoint.isOpenToOthers {
            add(
                "warning",
                "other machines can reach \(endpoint), without TLS: others on the network can read "
                    + "evidence and change verdicts")
        }
        if let endpoint = admin.endpoint { add("admin", endpoint.description) }
        for origin in http.allowedOrigins.sorted() { add("http", "pages of \(origin)") }
        for host in http.hosts.sorted() { add("http", "the name \(host)") }
        if let tls { for line in tls.summary(now: now) { add("tls", line) } }
        add("workers", workers.map { String($0) } ?? "one for each processor")
        for (index, line) in revocation.summary.enumerated() {
            add(index == 0 ? "revocation" : "", line)
        }
        for (name, value) in written { add(name, value) }
        add("denied", "\(deniedCount) certificates or keys")
        for (index, limit) in LimitSettings.all.enumerated() {
            let value = limit.get(limits)
            let isChanged = value != limit.get(LimitSettings())
            add(
                index == 0 ? "limits" : "",
                limit.key.padded(to: 25) + "\(value)" + (isChanged ? " (changed)" : ""))
        }
        for app in apps {
            lines.append("")
            let isDefault = app.name == defaultApp?.name
            add(
                "app",
                app.name.isEmpty
                    ? "any, in the default entry" : app.name + (isDefault ? " (default)" : ""))
            add("bundle", app.bundleId ?? "any: reported, not checked")
            add("app id", app.appAppleId.map { String($0) } ?? "not checked")
            add("accepts", app.acceptedText)
            if !app.secrets.apiKeys.isEmpty {
                add("api keys", "\(app.secrets.apiKeys.count), for /v1/purchase/verify")
            }
            for (name, text) in app.otherStores { add(name, text) }
            if let store = app.store { add("store", store.summary) }
            if let keys = app.keys { add("keys", keys.summary) }
            if !app.secrets.fetchKeys.isEmpty {
                add("api keys", "\(app.secrets.fetchKeys.count), for /v1/fetch")
            }
            if app.secrets.sharedSecret != nil { add("secret", "compared with passwords") }
            let acceptsProduction = app.environments.map {
                $0.contains(.production) || $0.contains(.unspecified)
            }
            for anchor in app.trust.anchors {
                add(
                    "trusts",
                    anchor.summary(now: now, acceptsProduction: acceptsProduction ?? true))
            }
        }
        if apps.count > 1, defaultApp == nil {
            lines.append("")
            lines.append("no entry is the default: every request must name its app")
        }
        return lines.joined(separator: "\n")
    }

    /// What threads of their own write about requests.
    private var written: [(String, String)] {
        [("audit", audit.summary), ("trace", trace.summary)]
    }
}

extension Endpoint {
    /// The address, and what of it is known only at the start.
    fileprivate var checkText: String {
        switch self {
        case .inherited: "\(self), at the address of its socket unit"
        case .tcp(_, 0), .tls(_, 0), .http(_, 0), .https(_, 0): "\(self), at a free port"
        case .tcp, .tls, .http, .https, .unix, .unixHTTP: description
        }
    }

    /// Whether it is plain TCP that other machines can reach.
    fileprivate var isOpenToOthers: Bool {
        switch self {
        case .tcp, .http: !isLocal
        case .tls, .https, .unix, .unixHTTP, .inherited: false
        }
    }
}

extension TLSSettings {
    fileprivate func summary(now: Timestamp) -> [String] {
        var lines = [settings.certificate]
        if let end = context.notAfter {
            let date = Timestamp(milliseconds: end * 1000)
            lines[0] +=
                date < now
                ? ", EXPIRED on \(date.rfc3339)"
                : ", until \(date.rfc3339), \((end - now.seconds) / 86_400) days"
        }
        lines[0] += settings.allowsTLS12 ? ", TLS 1.2 and 1.3" : ", TLS 1.3"
        guard let authority = settings.clientAuthority else { return lines + ["any client"] }
        let names = settings.clientNames.sorted().joined(separator: ", ")
        return lines + ["clients of \(authority)" + (names.isEmpty ? "" : " named " + names)]
    }
}

extension AppSettings {
    /// What the entry accepts of other stores.
    fileprivate var otherStores: [(name: String, text: String)] {
        let push: [(name: String, text: String)]? = googlePush.keys.map { keys in
            [
                (
                    "google",
                    "pushes to \(googlePush.audiences.joined(separator: ", ")) of "
                        + "\(googlePush.serviceAccounts.joined(separator: ", ")) by keys "
                        + keys.names.map { String($0.prefix(8)) }.joined(separator: ", ")
                )
            ]
        }
        let keys = [("google", google), ("huawei", huawei)].filter { !$0.1.keys.isEmpty }
        let apps =
            harmonyApplicationIds.isEmpty
            ? "the request's app" : harmonyApplicationIds.joined(separator: ", ")
        return keys.map { ($0, $1.summary) } + (push ?? [])
            + trust.harmonyAnchors.map {
                ("harmony", "\($0.name), \($0.fingerprint), for \(apps)")
            }
    }
}

extension PurchasePolicy {
    /// The beginnings of the keys' SHA-256 fingerprints, and the packages.
    fileprivate var summary: String {
        let names = keys.map { "\($0.fingerprint.prefix(8)) (RSA-\($0.bits))" }
        let packages = packageNames.isEmpty ? "the bundle" : packageNames.joined(separator: ", ")
        return "purchases of \(packages) by key \(names.joined(separator: ", "))"
    }
}

extension AppSettings {
    fileprivate var acceptedText: String {
        guard let environments else { return "those that the request names, by default Production" }
        return environments.map(\.rawValue).joined(separator: ", ")
    }
}

extension TrustAnchor {
    func daysLeft(now: Timestamp) -> Int64 {
        (notAfter.seconds - now.seconds) / 86_400
    }

    fileprivate func summary(now: Timestamp, acceptsProduction: Bool) -> String {
        let state =
            notAfter < now
            ? "EXPIRED on \(notAfter.rfc3339)"
            : "until \(notAfter.rfc3339), \(daysLeft(now: now)) days"
        let isForeign = !isApple && acceptsProduction
        let use =
            development
            ? ", development only" : isForeign ? ", NOT APPLE'S and valid for Production" : ""
        return "\(name), \(state)\(use), sha256 \(fingerprint)"
    }
}
