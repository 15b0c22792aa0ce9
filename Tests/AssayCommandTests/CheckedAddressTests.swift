import AssayIO
import AssayModels
import Testing

@testable import AssayCommand

@Suite("serve --check: addresses")
struct CheckedAddressTests {
    @Test(
        "--check warns of plain TCP that other machines reach",
        arguments: [
            ("tcp://0.0.0.0:7443", true), ("tcp://[::]:0", true), ("http://10.0.0.1:80", true),
            ("tcp://shop.example:1", true), ("tcp://127.0.0.1:1", false),
            ("http://[::1]:1", false), ("tcp://localhost:1", false), ("unix:/run/a", false),
            ("systemd:assay", false),
        ])
    func checkAddresses(address: String, isOpen: Bool) throws {
        let flags = ServerSettings.Flags(listen: [try Endpoint(address)])
        let text = try ServerSettings(flags: flags, environment: [:]).summary(now: .now)
        let lines = text.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("listen     \(address)") }, "\(text)")
        #expect(
            lines.contains {
                $0.hasPrefix("warning    other machines can reach \(address), without")
            }
                == isOpen, "\(text)")
        #expect(lines.contains { $0.hasPrefix("warning") } == isOpen)
        #expect(!text.contains("systemctl show"))
    }

    @Test("--check names what only a start decides")
    func checkUnknownAddresses() throws {
        let flags = ServerSettings.Flags(
            listen: [.inherited(name: "assay"), .tcp(host: "127.0.0.1", port: 0)])
        let text = try ServerSettings(flags: flags, environment: [:]).summary(now: .now)
        #expect(text.contains("systemd:assay, at the address of its socket unit"))
        #expect(text.contains("tcp://127.0.0.1:0, at a free port"))
        for variables in [["ASSAY_LISTEN": "tcp://127.0.0.1:9"], [:]] {
            let settings = try ServerSettings(flags: .init(), environment: variables)
            #expect(
                settings.summary(now: .now).contains("systemctl show") == variables.isEmpty)
        }
    }
}
