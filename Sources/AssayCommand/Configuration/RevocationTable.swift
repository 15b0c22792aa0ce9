import Assay
import AssayCommandLine
import AssayServer
import AssayStore

/// `[revocation]`: what revocation statuses decide, and where they come from.
struct RevocationTable {
    var policy = RevocationPolicy.off
    var settings = RevocationSettings()
    /// The proxy of requests to hosts; nil for that of the environment variables.
    var proxy: String?

    var isOff: Bool { policy == .off }

    init() {}

    /// Reads the table; notes problems in it.
    init(_ table: ConfigurationTable?, folder: String) {
        guard let table else { return }
        let mode = Self.mode(table)
        let hours = table.int("max-age-hours", in: 1...87_600)
        if hours != nil, mode != .hard {
            table.note("max-age-hours", "without mode = \"hard\"", "leave it out, or change mode")
        }
        policy = mode.policy(maximumAge: hours.map { .seconds($0 * 3600) })
        let age = mode == .hard ? Int64(hours ?? RevocationChoice.defaultHours) : nil
        settings.maximumAge = age.map { $0 * 3_600_000 }
        settings.files = (table.strings("files") ?? []).map { FetchSettings.path($0, folder) }
        settings.hosts = Self.hosts(table)
        settings.state = table.string("state").map { FetchSettings.path($0, folder) }
        proxy = table.string("proxy")
        if mode == .off {
            for key in ["files", "hosts", "state"] where table.has(key) {
                table.note(
                    key, "without a mode that uses it",
                    "add mode = \"soft\" or mode = \"hard\", or leave it out")
            }
        } else if settings.files.isEmpty, settings.hosts.isEmpty {
            table.note(
                "files", "missing, and hosts as well",
                "name files of statuses, or hosts = [\"ocsp.apple.com\", \"crl.apple.com\"]")
        }
        table.finish()
    }

    private static func mode(_ table: ConfigurationTable) -> RevocationChoice {
        guard let name = table.string("mode") else { return .off }
        if let mode = RevocationChoice(rawValue: name) { return mode }
        table.note(
            "mode", "\"\(name)\" is not a mode",
            Suggestion.remedy(for: name, among: RevocationChoice.allCases.map(\.rawValue)))
        return .off
    }

    private static func hosts(_ table: ConfigurationTable) -> [String] {
        let hosts = table.strings("hosts") ?? []
        for (index, host) in hosts.enumerated() where !RevocationSettings.isHost(host) {
            table.note(
                "hosts", "\"\(host)\" is not a host",
                "write a name or an IPv4 address, with a port if it is not 80",
                element: index + 1)
        }
        return hosts
    }

    /// Keeps the statuses, by these settings: an earlier service goes on.
    ///
    /// - Returns: nil where statuses decide nothing.
    func service(
        reusing earlier: RevocationService?, _ sink: any LogSink
    ) throws(Failure) -> RevocationService? {
        guard !isOff else { return nil }
        if !settings.hosts.isEmpty, !PlainTransport.isAvailable {
            throw Failure(
                "revocation: hosts need libcurl: install it, or fetch statuses yourself and name "
                    + "their files")
        }
        let transport =
            settings.hosts.isEmpty ? nil : try CurlRevocationTransport(proxy: proxy)
        do throws(ServerError) {
            let service = if let earlier { earlier } else { try RevocationService(log: sink) }
            try service.apply(settings, askingBy: transport)
            return service
        } catch {
            throw Failure("revocation: \(error)")
        }
    }

    /// What `serve --check` says about it.
    var summary: [String] {
        switch policy {
        case .off: return ["off"]
        case .soft: return ["soft: revoked certificates refuse"] + sources
        case .hard(let age):
            let hours = age.components.seconds / 3600
            return ["hard: a good status of the last \(hours) h is required"] + sources
        }
    }

    private var sources: [String] {
        settings.files.map { "statuses in \($0)" } + settings.hosts.map { "asks \($0)" }
            + (settings.state.map { ["keeps answers in \($0)"] } ?? [])
    }
}
