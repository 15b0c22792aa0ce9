import ArgumentParser
import Assay
import AssayBytes
import AssayCommandLine
import AssayModels
import AssayServer
import Testing

@testable import AssayCommand

@Suite struct RevocationConfigurationTests {
    private static func read(_ text: String) throws -> (RevocationTable, [String]) {
        let table = try ConfigurationTable.parse(Array(text.utf8), file: "a.toml")
        let settings = RevocationTable(table.table("revocation"), folder: "/etc/assay/")
        return (settings, table.problems.map(\.description))
    }

    @Test("without the table statuses decide nothing")
    func off() throws {
        for text in ["", "[revocation]\nmode = \"off\"\n"] {
            let (settings, problems) = try Self.read(text)
            #expect(settings.isOff && problems.isEmpty)
            #expect(settings.summary == ["off"])
            #expect(try settings.service(reusing: nil, StandardErrorLog()) == nil)
        }
    }

    @Test func hard() throws {
        let (settings, problems) = try Self.read(
            """
            [revocation]
            mode = "hard"
            files = ["ocsp", "/var/lib/ocsp"]
            hosts = ["ocsp.apple.com", "127.0.0.1:8080"]
            state = "state"
            max-age-hours = 24
            proxy = "http://proxy:3128"
            """)
        #expect(problems.isEmpty)
        #expect(settings.policy == .hard(maximumAge: .seconds(86_400)))
        #expect(
            settings.settings
                == RevocationSettings(
                    files: ["/etc/assay/ocsp", "/var/lib/ocsp"],
                    hosts: ["ocsp.apple.com", "127.0.0.1:8080"], state: "/etc/assay/state",
                    maximumAge: 86_400_000))
        #expect(settings.proxy == "http://proxy:3128")
        #expect(settings.summary.first == "hard: a good status of the last 24 h is required")
        #expect(settings.summary.contains("asks ocsp.apple.com"))
    }

    @Test(
        "mistakes name the key and the remedy",
        arguments: [
            ("mode = \"sof\"", "revocation.mode", "soft"),
            ("mode = \"soft\"", "revocation.files", "ocsp.apple.com"),
            (
                "mode = \"soft\"\nhosts = [\"http://ocsp.apple.com/\"]", "revocation.hosts[1]",
                "a name"
            ),
            ("mode = \"soft\"\nfiles = [\"a\"]\nmax-age-hours = 3", "max-age-hours", "hard"),
            ("mode = \"hard\"\nfiles = [\"a\"]\nmax-age-hours = 0", "max-age-hours", "1 to 87600"),
            ("files = [\"a\"]", "revocation.files", "mode"),
            ("mode = \"soft\"\nfiles = [\"a\"]\nstatus = 1", "revocation.status", "state"),
        ])
    func mistakes(text: String, key: String, remedy: String) throws {
        let (_, problems) = try Self.read("[revocation]\n" + text)
        #expect(problems.count == 1, "\(problems)")
        #expect(problems.first?.contains(key) == true, "\(problems)")
        #expect(problems.first?.contains(remedy) == true, "\(problems)")
    }

    @Test(
        "the options of verify",
        arguments: [
            ([], RevocationPolicy.off),
            (["--revocation", "a"], .soft),
            (
                ["--revocation", "a", "--revocation-mode", "hard"],
                .hard(maximumAge: .seconds(604_800))
            ),
            (["--revocation-mode", "soft"], .soft),
            (
                ["--revocation-mode", "hard", "--revocation-max-age", "2"],
                .hard(maximumAge: .seconds(7200))
            ),
        ])
    func options(arguments: [String], policy: RevocationPolicy) throws {
        let command = try AssayTool.parseAsRoot(
            ["verify", "--kind", "transaction", "token"] + arguments)
        #expect(try #require(command as? VerifyCommand).revocation.policy == policy)
    }

    @Test(
        "options that do not fit together",
        arguments: [
            (["--revocation", "a", "--revocation-mode", "off"], "leave out --revocation"),
            (["--revocation-max-age", "2"], "--revocation-mode hard"),
            (["--revocation-mode", "hard", "--revocation-max-age", "0"], "1 to 87600"),
            (["--revocation", "a", "--server", "tcp://127.0.0.1:1"], "its own configuration"),
        ])
    func wrongOptions(arguments: [String], message: String) {
        do {
            _ = try AssayTool.parseAsRoot(
                ["verify", "--kind", "transaction", "token"] + arguments)
            Issue.record("accepted: \(arguments)")
        } catch {
            let text = AssayTool.fullMessage(for: error)
            #expect(text.replacing("\n", with: " ").contains(message), "\(text)")
        }
    }

    @Test("the text of a report")
    func report() throws {
        let text = """
            {"writtenAt":"2026-01-01T00:00:00Z","documents":2,"certificates":[\
            {"id":"a","position":"leaf","name":"A leaf","serial":"1f","status":"revoked",\
            "revokedAt":"2025-12-01T00:00:00Z","reason":"key compromise",\
            "thisUpdate":"2025-12-31T23:00:00Z","nextUpdate":"2026-01-01T11:00:00Z",\
            "source":"/var/a.ocsp","failures":0,"notAsked":"it is revoked","problems":[]},\
            {"id":"b","position":"intermediate","name":"An issuer","serial":"2a","status":"good",\
            "thisUpdate":"2025-12-20T00:00:00Z","nextUpdate":"2025-12-21T00:00:00Z",\
            "nextRefresh":"2026-01-01T00:05:00Z","failures":3,"problems":["no answer in time"]}],\
            "files":[{"path":"/x","problem":"it is a folder"}],"requests":{}}
            """
        let now = Timestamp(milliseconds: 1_767_225_605_000)
        let report = RevocationStatusText(try JSONDocument.parse(Array(text.utf8)), at: now)
        #expect(report.hasRevoked)
        #expect(
            report.text == """
                written 5 s ago; 2 responses and CRLs loaded
                leaf A leaf, serial 1f
                  revoked since 2025-12-01T00:00:00Z (key compromise), 60 min old, until \
                2026-01-01T11:00:00Z
                  from /var/a.ocsp
                  not asked for: it is revoked
                intermediate An issuer, serial 2a
                  good, 12 days old, STALE since 2025-12-21T00:00:00Z
                  asked for again at 2026-01-01T00:05:00Z
                  3 requests failed in a row
                  problem: no answer in time
                not used: /x: it is a folder
                """)
    }
}
