import AssayAdmin
import AssayIO

/// The address of health, metrics and the status page; nil by default.
struct AdminSettings {
    var endpoint: Endpoint?
    /// Whether the address can be one that other machines reach.
    var allowsAnyAddress = false
    /// Whether `/explain` is served.
    var explains = false

    init() {}

    /// Reads `[admin]`; notes problems in the table.
    init(_ table: ConfigurationTable?) {
        guard let table else { return }
        allowsAnyAddress = table.bool("any-address") ?? false
        explains = table.bool("explain") ?? false
        if let text = table.string("listen") {
            do throws(EndpointError) {
                endpoint = try Endpoint(text)
            } catch {
                table.note("listen", "not a usable address", error.description)
            }
        } else if !table.has("listen") {
            table.note("listen", "missing", "write an address, such as \"tcp://127.0.0.1:7444\"")
        }
        if let endpoint { Self.check(endpoint, allowsAnyAddress, table) }
        table.finish()
    }

    private static func check(
        _ endpoint: Endpoint, _ allowsAnyAddress: Bool, _ table: ConfigurationTable
    ) {
        do throws(AdminError) {
            try AdminServer.check(endpoint, allowsAnyAddress: allowsAnyAddress)
        } catch {
            switch error {
            case .notLocal:
                table.note(
                    "listen", "an address that other machines can reach",
                    "choose a loopback address, or add any-address = true")
            case .notLiteral:
                table.note("listen", "a host name", "write a numeric address, or localhost")
            case .notOffered, .listen, .system:
                table.note("listen", "not a usable address", "write tcp://HOST:PORT or unix:PATH")
            }
        }
    }
}
