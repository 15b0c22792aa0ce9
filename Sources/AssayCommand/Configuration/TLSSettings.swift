import AssayLoop

/// `[tls]`: what the listeners of TLS show, and whom they serve.
struct TLSSettings {
    var settings: TLSServerSettings
    /// Made at the start, so that a mistake is told then.
    var context: TLSContext

    /// Reads the table; nil, and noted there, where something is wrong with it.
    init?(_ table: ConfigurationTable?, folder: String) {
        guard let table else { return nil }
        func path(_ key: String) -> String? {
            table.string(key).map { $0.hasPrefix("/") || folder.isEmpty ? $0 : folder + $0 }
        }
        let (certificate, key) = (path("certificate"), path("key"))
        let authority = path("client-ca")
        let names = table.strings("client-names")
        let version = table.string("minimum-version") ?? "1.3"
        table.finish()
        if !["1.2", "1.3"].contains(version) {
            table.note("minimum-version", "\"\(version)\" is none", "write \"1.3\" or \"1.2\"")
        }
        if let names, authority == nil || names.isEmpty {
            table.note(
                "client-names", names.isEmpty ? "empty" : "without client-ca",
                names.isEmpty
                    ? "name at least one, or leave the key out"
                    : "name the authorities of clients: without them nobody shows a name")
        }
        for (name, value) in [("certificate", certificate), ("key", key)]
        where value == nil && !table.has(name) {
            table.note(
                name, "missing", "name a PEM file; paths begin at the configuration's folder")
        }
        guard let certificate, let key else { return nil }
        settings = TLSServerSettings(
            certificate: certificate, key: key, clientAuthority: authority,
            clientNames: Set(names?.map(Self.comparable) ?? []), allowsTLS12: version == "1.2")
        do throws(TLSError) {
            context = try TLSContext(server: settings)
        } catch {
            table.note(
                Self.key(of: error, settings), error.description,
                "name PEM files: the certificate with its intermediates, its key, the clients' CAs")
            return nil
        }
    }

    /// DNS names are compared without regard to case, URIs and common names as they are.
    private static func comparable(_ name: String) -> String {
        name.contains("://") || name.contains(" ") || !name.contains(".") ? name : name.lowercased()
    }

    /// Which key of the table an error is about.
    private static func key(of error: TLSError, _ settings: TLSServerSettings) -> String {
        switch error {
        case .unreadable(settings.clientAuthority, _), .noCertificate(settings.clientAuthority):
            "client-ca"
        case .unreadable(settings.key, _), .noKey, .keyMismatch: "key"
        default: "certificate"
        }
    }
}
