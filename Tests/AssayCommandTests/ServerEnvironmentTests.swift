import Foundation
import TestSupport
import Testing

/// The environments that a server accepts, and those that a command expects of it.
@Suite("--server and --environment")
struct ServerEnvironmentTests {
    private let folder = TemporaryFolder()

    /// A server whose entry accepts Production and Sandbox, and evidence of both.
    private func withServer(_ body: (_ address: String, _ files: [String]) throws -> Void) throws {
        try MintedAuthority.write(to: folder)
        let files = try ["Production", "Sandbox"].map { environment in
            let minted = try Tool.run(
                "mint", "transaction", "--ca", folder("ca"), "--environment", environment)
            return folder.write(environment, minted.output)
        }
        let address = "unix:" + folder("socket")
        let configuration = folder.write(
            "assay.toml",
            """
            listen = ["\(address)"]
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            environments = ["Production", "Sandbox"]
            roots = ["\(folder("ca"))/root.pem"]
            """)
        let server = try ServerProcess(["--config", configuration])
        try #require(server.ready.hasPrefix("assay ready "), "\(server.log)")
        try body(address, files)
        #expect(server.end() == 0)
    }

    /// Options, and whether Production and Sandbox evidence is valid.
    private static let accepted: [(options: [String], isValid: [Bool])] = [
        ([], [true, true]),
        (["--environment", "Production"], [true, false]),
        (["--environment", "Sandbox"], [false, true]),
        (["--environment", "Sandbox", "--environment", "Production"], [true, true]),
        (["--environment", "Xcode"], [false, false]),
    ]

    @Test("Without --environment a command expects what the server accepts")
    func expectations() throws {
        try withServer { address, files in
            for (options, isValid) in Self.accepted {
                let verdicts = isValid.map { $0 ? "VALID" : "WRONG_ENVIRONMENT" }
                let server = ["--server", address] + options
                for (file, verdict) in zip(files, verdicts) {
                    let one = try Tool.run(["verify", "--kind", "transaction", file] + server)
                    #expect(try one.json["verdict"] as? String == verdict, "\(options)")
                }
                let many = try Tool.run(["verify", "--kind", "transaction"] + server + files)
                let lines = many.output.split(separator: "\n")
                for (line, verdict) in zip(lines, verdicts) {
                    #expect(line.contains("\"verdict\":\"\(verdict)\""), "\(options): \(line)")
                }
                #expect(lines.count == files.count)
                let owned = try Tool.run(["entitlements"] + server + files)
                let items = try #require(try owned.json["items"] as? [[String: Any]])
                #expect(items.map { $0["verdict"] as? String } == verdicts, "\(options)")
            }
        }
    }

    @Test("In process the default is Production")
    func inProcess() throws {
        try MintedAuthority.write(to: folder)
        let minted = try Tool.run(
            "mint", "transaction", "--ca", folder("ca"), "--environment", "Sandbox")
        let file = folder.write("sandbox.jws", minted.output)
        let arguments = ["--root", folder("ca") + "/root.pem", file]
        let verified = try Tool.run(["verify", "--kind", "transaction"] + arguments)
        #expect(try verified.json["verdict"] as? String == "WRONG_ENVIRONMENT")
        let owned = try Tool.run(["entitlements"] + arguments)
        let items = try #require(try owned.json["items"] as? [[String: Any]])
        #expect(items.map { $0["verdict"] as? String } == ["WRONG_ENVIRONMENT"])
    }
}
