import Assay
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer

/// A configuration file that is valid as a whole. Absent settings are nil.
struct ConfigurationFile {
    var listen: [Endpoint]?
    var workers: Int?
    var denied: Set<Fingerprint>
    var limits: LimitSettings
    var unix: UnixSettings
    var admin: AdminSettings
    var http: HTTPSettings
    var tls: TLSSettings?
    var revocation: RevocationTable
    var audit: AuditTable
    var trace: TraceTable
    var apps: [AppSettings]

    /// More threads would only share the processors.
    static let workers = 1...256

    /// - Parameter trust: the certificates that all apps trust besides their own roots.
    init(path: String, trust: TrustStore) throws {
        let text = try Input.read(path)
        let table: ConfigurationTable
        do throws(ConfigurationProblem) {
            table = try ConfigurationTable.parse(text, file: path)
        } catch {
            throw ConfigurationProblems([error])
        }
        try self.init(table, path: path, trust: trust)
    }

    private init(
        _ table: ConfigurationTable, path: String, trust: TrustStore
    ) throws {
        listen = Self.endpoints(table)
        workers = table.int("workers", in: Self.workers)
        denied = Self.fingerprints(table)
        limits = LimitSettings(table.table("limits"))
        unix = UnixSettings(table.table("unix"))
        admin = AdminSettings(table.table("admin"))
        http = HTTPSettings(table.table("http"))
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        tls = TLSSettings(table.table("tls"), folder: folder)
        revocation = RevocationTable(table.table("revocation"), folder: folder)
        audit = AuditTable(table.table("audit"), folder: folder)
        trace = TraceTable(table.table("trace"))
        let trust = trust.denying(denied)
        let tables = table.tables("app")
        apps = tables.map { AppSettings($0, folder: folder, trust: trust) }
        Self.checkTogether(apps, tables)
        if tables.isEmpty {
            table.note("app", "missing", "add an [[app]] entry for each app")
        }
        table.finish()
        guard table.problems.isEmpty else { throw ConfigurationProblems(table.problems) }
    }

    private static func endpoints(_ table: ConfigurationTable) -> [Endpoint]? {
        guard let texts = table.strings("listen") else { return nil }
        if texts.isEmpty {
            table.note("listen", "empty", "name an address, or leave the key out")
        }
        return texts.enumerated().compactMap { index, text in
            do throws(EndpointError) {
                return try Endpoint(text)
            } catch {
                table.note(
                    "listen", "not a usable address", error.description, element: index + 1)
                return nil
            }
        }
    }

    private static func fingerprints(_ table: ConfigurationTable) -> Set<Fingerprint> {
        var fingerprints: Set<Fingerprint> = []
        for (index, text) in (table.strings("denied") ?? []).enumerated() {
            guard let fingerprint = Fingerprint(text) else {
                table.note(
                    "denied", "\"\(text)\" is not a fingerprint",
                    "write the SHA-256 of the certificate, or of its public key, as 64 "
                        + "hexadecimal digits", element: index + 1)
                continue
            }
            fingerprints.insert(fingerprint)
        }
        return fingerprints
    }

    private static func checkTogether(_ apps: [AppSettings], _ tables: [ConfigurationTable]) {
        for (index, app) in apps.enumerated() {
            let before = apps[..<index]
            if !app.name.isEmpty, let first = before.firstIndex(where: { $0.name == app.name }) {
                tables[index].note(
                    "name", "app[\(first + 1)] already has the name \"\(app.name)\"",
                    "give each entry a different name")
            }
            let known = Set(before.flatMap(\.secrets.apiKeys))
            if app.secrets.apiKeys.contains(where: known.contains) {
                tables[index].note(
                    "api-keys", "another entry already has one of them",
                    "give each entry keys of its own: a key chooses the entry")
            }
            let fetching = Set(before.flatMap(\.secrets.fetchKeys))
            if app.secrets.fetchKeys.contains(where: fetching.contains) {
                tables[index].note(
                    "store.api-keys", "another entry already has one of them",
                    "give each entry keys of its own: a key chooses the entry")
            }
            if app.isDefault, let first = before.firstIndex(where: \.isDefault) {
                tables[index].note(
                    "default", "app[\(first + 1)] is already the default",
                    "keep default = true in one entry")
            }
        }
    }
}
