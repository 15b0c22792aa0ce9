import AssayIO

/// `[tls]`: the certificates of the TLS listeners, and the clients that they accept.
struct TLSSettings {
    var settings: TLSServerSettings
    /// Made at startup, so that mistakes show then.
    var context: TLSContext

    /// Reads the table; returns nil and notes the problems when something is wrong.
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
            table.note(
                "minimum-version", "\"\(version)\" is not supported", "write \"1.3\" or \"1.2\"")
        }
        if let names, authority == nil || names.isEmpty {
            table.note(
                "client-names", names.isEmpty ? "empty" : "without client-ca",
                names.isEmpty
                    ? "name at least one, or leave the key out"
                    : "add client-ca: clients without a certificate have no name")
        }
        for (index, name) in (names ?? []).enumerated() where name.hasPrefix("*.") {
            table.note(
                "client-names", "\"\(name)\" is a wildcard", "list each name",
                element: index + 1)
        }
        for (name, value) in [("certificate", certificate), ("key", key)]
        where value == nil && !table.has(name) {
            table.note(
                name, "missing",
                "name a PEM file; relative paths start at the folder of the configuration")
        }
        let named = [("certificate", certificate), ("key", key), ("client-ca", authority)]
        let unreadable = named.filter { !Self.isReadable($1, $0, table) }
        guard let certificate, let key, unreadable.isEmpty else { return nil }
        settings = TLSServerSettings(
            certificate: certificate, key: key, clientAuthority: authority,
            clientNames: names ?? [], allowsTLS12: version == "1.2")
        do throws(TLSError) {
            context = try TLSContext(server: settings)
        } catch {
            let name = Self.key(of: error, settings)
            table.note(name, error.description, Self.remedy(name))
            return nil
        }
    }

    /// Notes every unreadable file, not only the first.
    private static func isReadable(
        _ file: String?, _ name: String, _ table: ConfigurationTable
    ) -> Bool {
        guard let file else { return true }
        do throws(TLSError) {
            try TLSContext.checkReadable(file)
            return true
        } catch {
            table.note(name, error.description, remedy(name))
            return false
        }
    }

    private static func remedy(_ key: String) -> String {
        switch key {
        case "key": "name a PEM file with the certificate's private key, without a passphrase"
        case "client-ca": "name a PEM file with the authorities that sign client certificates"
        default: "name a PEM file with the certificate and then its intermediates"
        }
    }

    /// The table's key that an error belongs to.
    private static func key(of error: TLSError, _ settings: TLSServerSettings) -> String {
        switch error.reason {
        case .noCertificate where error.file == settings.clientAuthority: "client-ca"
        case .noKey, .keyMismatch: "key"
        default: "certificate"
        }
    }
}
