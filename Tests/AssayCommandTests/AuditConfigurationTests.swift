import ArgumentParser
import Assay
import AssayCommandLine
import AssayServer
import Testing

@testable import AssayCommand

@Suite struct AuditConfigurationTests {
    private static func read(_ text: String) throws -> (AuditTable, [String]) {
        let table = try ConfigurationTable.parse(Array(text.utf8), file: "a.toml")
        let settings = AuditTable(table.table("audit"), folder: "/etc/assay/")
        return (settings, table.problems.map(\.description))
    }

    @Test("without the table nothing is written")
    func off() throws {
        let (settings, problems) = try Self.read("")
        #expect(problems.isEmpty && settings.summary == "off")
        #expect(try settings.service(reusing: nil, StandardErrorLog()) == nil)
    }

    @Test(
        "the destination is a file or a socket, relative to the configuration",
        arguments: [
            ("audit.jsonl", AuditSettings.Destination.file("/etc/assay/audit.jsonl")),
            ("/var/log/audit.jsonl", .file("/var/log/audit.jsonl")),
            ("unix:audit.sock", .socket("/etc/assay/audit.sock")),
            ("unix:/run/audit.sock", .socket("/run/audit.sock")),
            ("unix:@audit", .socket("@audit")),
        ])
    func destinations(text: String, destination: AuditSettings.Destination) throws {
        let (settings, problems) = try Self.read("[audit]\nto = \"\(text)\"\n")
        #expect(problems.isEmpty && settings.destination == destination)
        #expect(!settings.includesEvidence && settings.summary == destination.description)
    }

    @Test("the evidence is written by option")
    func evidence() throws {
        let (settings, problems) = try Self.read("[audit]\nto = \"/a\"\nevidence = true\n")
        #expect(problems.isEmpty && settings.includesEvidence)
        #expect(settings.summary == "/a, with the evidence")
    }

    @Test(
        "mistakes name the key and the remedy",
        arguments: [
            ("evidence = true", "audit.to", "write the path"),
            ("to = \"\"", "audit.to", "write the path"),
            ("to = \"unix:\"", "audit.to", "write the path"),
            ("to = 3", "audit.to", "a string"),
            ("to = \"/a\"\nevidense = true", "audit.evidense", "evidence"),
        ])
    func mistakes(text: String, key: String, remedy: String) throws {
        let (_, problems) = try Self.read("[audit]\n\(text)\n")
        #expect(problems.count == 1)
        #expect(problems.first?.contains(key) == true && problems.first?.contains(remedy) == true)
    }

    @Test("a flag goes before its variable, and both before the file")
    func flags() throws {
        let none = try ServerSettings(flags: .init(), environment: [:])
        #expect(none.audit.destination == nil)
        let environment = ["ASSAY_AUDIT": "unix:/run/a.sock"]
        let variable = try ServerSettings(flags: .init(), environment: environment)
        #expect(variable.audit.destination == .socket("/run/a.sock"))
        var flags = ServerSettings.Flags()
        (flags.audit, flags.auditEvidence) = ("a.jsonl", true)
        let named = try ServerSettings(flags: flags, environment: environment)
        #expect(named.audit.destination == .file("a.jsonl") && named.audit.includesEvidence)
        flags.audit = "unix:"
        #expect(throws: Failure.self) { try ServerSettings(flags: flags, environment: [:]) }
    }

    @Test("a file that can't be opened is a mistake of the configuration")
    func unusable() throws {
        let folder = TemporaryFolder()
        var table = AuditTable()
        table.destination = .file(folder("missing/audit.jsonl"))
        #expect(throws: Failure.self) { try table.service(reusing: nil, StandardErrorLog()) }
        table.destination = .file(folder("audit.jsonl"))
        let service = try #require(try table.service(reusing: nil, StandardErrorLog()))
        #expect(try table.service(reusing: service, StandardErrorLog()) === service)
        service.stop()
    }
}
