import Assay
import AssayClient
import Foundation
import GRDB
import Hummingbird
import Logging
import ServiceLifecycle

@main
struct Main {
    /// Listens at LISTEN. Verifies in this process, or asks the server that ASSAY_ADDRESS names.
    /// ASSAY_ROOT pins a development authority in the place of Apple's, for tests alone.
    static func main() async throws {
        let environment = ProcessInfo.processInfo.environment
        let logger = Logger(label: "backend")
        let addresses = try AssayClient.addresses(in: environment)
        var services: [any Service] = []
        let assay: any Decider
        if addresses.isEmpty {
            var trust = TrustStore.apple
            if let path = environment["ASSAY_ROOT"] {
                let root = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
                trust = try TrustStore.empty.pinning(root, development: false)
            }
            assay = InProcess(
                verifier: Verifier(trust: trust),
                policy: Policy(bundleId: "com.example.game", appAppleId: 1_234_567_890))
        } else {
            var options = ClientOptions()
            options.logger = logger
            let client = try AssayClient(addresses: addresses, options: options)
            // Closed when the server below has answered its last request.
            services.append(client)
            assay = Sidecar(client: client)
        }
        let database = try DatabaseQueue(path: environment["DB"] ?? "backend.sqlite")
        let backend = try Backend(assay, database)
        let listen = (environment["LISTEN"] ?? "127.0.0.1:8083").split(separator: ":")
        guard listen.count == 2, let port = Int(listen[1]) else {
            fatalError("LISTEN is not HOST:PORT")
        }
        let application = Application(
            router: backend.router(),
            configuration: ApplicationConfiguration(
                address: .hostname(String(listen[0]), port: port)),
            services: services, logger: logger)
        try await application.runService()
    }
}
