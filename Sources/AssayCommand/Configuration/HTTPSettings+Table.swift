import AssayServer

extension HTTPSettings {
    /// Reads `[http]`; notes problems in the table.
    init(_ table: ConfigurationTable?) {
        self.init()
        guard let table else { return }
        for (index, origin) in (table.strings("allowed-origins") ?? []).enumerated() {
            if Self.isOrigin(origin) {
                allowedOrigins.insert(origin)
            } else {
                table.note(
                    "allowed-origins", "\"\(origin)\" is not an origin",
                    "write scheme and host as a browser sends them, such as "
                        + "\"https://tools.example.com\"",
                    element: index + 1)
            }
        }
        for (index, host) in (table.strings("hosts") ?? []).enumerated() {
            if !host.isEmpty, !host.contains("/"), !host.contains(":") {
                hosts.insert(host.lowercased())
            } else {
                table.note(
                    "hosts", "\"\(host)\" is not a host name",
                    "write the name alone, without scheme and port", element: index + 1)
            }
        }
        table.finish()
    }

    /// Whether a text is an origin: a scheme and a host, and nothing after it.
    private static func isOrigin(_ text: String) -> Bool {
        for scheme in ["https://", "http://"] where text.hasPrefix(scheme) {
            let host = text.dropFirst(scheme.count)
            return !host.isEmpty && !host.contains("/") && !host.contains("*")
                && host.lowercased() == host
        }
        return false
    }
}
