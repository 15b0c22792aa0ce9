import Assay
import AssayCommandLine
import AssayModels
import Testing

@testable import AssayCommand

@Suite("Reports")
struct ReportTests {
    @Test("text shows each check in the documented order: passed, failed, not reached")
    func order() {
        let names = [
            "shape", "algorithm", "chain", "markers", "revocation", "dates", "signatures", "kind",
            "bundle", "app", "environment", "expectations",
        ]
        let deciding: [(Verdict, String)] = [
            (.malformed, "shape"), (.unsupportedAlgorithm, "algorithm"),
            (.untrustedChain, "chain"), (.invalidChain, "chain"),
            (.wrongCertificatePurpose, "markers"), (.certificateRevoked, "revocation"),
            (.certificateExpired, "dates"), (.invalidDate, "dates"),
            (.invalidSignature, "signatures"), (.wrongKind, "kind"), (.wrongBundle, "bundle"),
            (.wrongApp, "app"), (.wrongEnvironment, "environment"), (.mismatch, "expectations"),
        ]
        #expect(deciding.count == Verdict.allCases.count - 1)
        for (verdict, name) in deciding {
            let report = VerificationReport(Verification(verdict: verdict, detail: "why"))
            let lines = report.text(of: Self.all).split(separator: "\n").dropFirst().map { line in
                line.split(separator: " ").map(String.init)
            }
            #expect(lines.map { $0[1] } == names)
            let failed = names.firstIndex(of: name)!
            let before = verdict == .wrongKind ? "-" : "pass"
            #expect(lines[..<failed].allSatisfy { $0[0] == ($0[1] == "shape" ? "pass" : before) })
            #expect(lines[failed] == ["FAIL", name, "why"])
            #expect(lines[(failed + 1)...].allSatisfy { $0.suffix(2) == ["not", "reached"] })
        }
        let valid = VerificationReport(Verification(verdict: .valid, detail: "good"))
        let text = valid.text(of: Self.all)
        #expect(text.hasPrefix("VALID: good\n"))
        #expect(text.split(separator: "\n").count == names.count + 1)
        #expect(text.split(separator: "\n").dropFirst().allSatisfy { $0.hasPrefix("  pass") })
    }

    private static let all = VerificationReport.Question(
        namesBundle: true, namesApp: true, isRemote: false)

    @Test("text reports only checked checks as passed")
    func notChecked() {
        typealias Question = VerificationReport.Question
        let nothing = Question(namesBundle: false, namesApp: false, isRemote: false)
        let remote = Question(namesBundle: false, namesApp: false, isRemote: true)
        let rows: [(EvidenceKind, Question, bundle: String, app: String)] = [
            (.appTransaction, Self.all, "pass", "pass"),
            (.transaction, Self.all, "pass", "not checked: this kind carries no App Store id"),
            (
                .renewalInfo, Self.all, "not checked: this kind carries no bundle id",
                "not checked: this kind carries no App Store id"
            ),
            (.realtimeRequest, remote, "not checked: this kind carries no bundle id", "pass"),
            (.appReceipt, remote, "pass", "pass"), (.serverAnswer, Self.all, "pass", "pass"),
            (.notification, nothing, "not checked: no --bundle-id", "no --app-apple-id"),
            (.notification, remote, "pass", "pass"),
        ]
        for (kind, question, bundle, app) in rows {
            let answer = Verification(verdict: .valid, detail: "good", kind: kind)
            let lines = VerificationReport(answer).text(of: question).split(separator: "\n")
            for (name, words) in [("bundle", bundle), ("app", app)] {
                let line = lines.first { $0.dropFirst(8).hasPrefix(name + " ") }
                #expect(line?.contains(words) == true, "\(kind) \(name)")
            }
        }
    }

    @Test("unknown members are omitted")
    func absent() throws {
        let report = VerificationReport(
            Verification(verdict: .malformed, detail: "a \"quoted\" reason"))
        #expect(
            String(decoding: report.json, as: UTF8.self)
                == #"{"verdict":"MALFORMED","detail":"a \"quoted\" reason"}"#)
    }

    @Test("the body of a server's answer has the same members")
    func body() throws {
        let body = Array(#"{"payload":{"a":1.50,"b":"x"},"transaction":{"c":[]}}"#.utf8)
        let report = try VerificationReport(
            Verification(verdict: .valid, detail: "d", kind: .notification), body: body)
        #expect(
            String(decoding: report.json, as: UTF8.self)
                == #"{"verdict":"VALID","detail":"d","kind":"notification","#
                + #""payload":{"a":1.50,"b":"x"},"transaction":{"c":[]}}"#)
        let refused = try VerificationReport(
            Verification(verdict: .malformed, detail: "d"), body: body)
        #expect(refused.members.isEmpty)
    }
}

@Suite("Dates of arguments")
struct RFC3339Tests {
    @Test(
        "accepted",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2025-09-05T01:24:32Z", 1_757_035_472_000),
            ("2025-09-05t01:24:32z", 1_757_035_472_000),
            ("2025-09-05T01:24:32.686Z", 1_757_035_472_686),
            ("2025-09-05T01:24:32.6Z", 1_757_035_472_600),
            ("2025-09-05T01:24:32.0659999Z", 1_757_035_472_065),
            ("2025-09-05T03:24:32+02:00", 1_757_035_472_000),
            ("2025-09-04T19:54:32-05:30", 1_757_035_472_000),
            ("2025-09-05T01:24:32-00:00", 1_757_035_472_000),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000), ("1969-12-31T23:59:59.5Z", -500),
            // Leap seconds, in UTC and elsewhere, are read as the second after them.
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2016-12-31T23:59:60.25Z", 1_483_228_800_250),
            ("2017-01-01T05:29:60+05:30", 1_483_228_800_000),
            ("2025-06-30T23:59:60Z", 1_751_328_000_000),
        ] as [(String, Int64)])
    func accepted(text: String, milliseconds: Int64) {
        #expect(RFC3339.timestamp(text)?.milliseconds == milliseconds)
    }

    @Test(
        "refused",
        arguments: [
            "", "2025", "2025-09-05", "2025-09-05T01:24:32", "2025-09-05 01:24:32Z",
            "2025-09-05T01:24Z", "25-09-05T01:24:32Z", "2025-9-5T01:24:32Z",
            "2025-13-05T01:24:32Z", "2025-02-29T01:24:32Z", "2025-09-31T01:24:32Z",
            "2025-09-05T24:00:00Z", "2025-09-05T01:60:00Z", "2025-06-30T23:59:61Z",
            "2025-06-29T23:59:60Z", "2025-06-30T22:59:60Z", "2025-06-30T23:58:60Z",
            "2016-12-31T23:59:60+01:00", "2025-06-30T23:59:99Z",
            "2025-09-05T01:24:32.Z", "2025-09-05T01:24:32,5Z", "2025-09-05T01:24:32+0200",
            "2025-09-05T01:24:32+24:00", "2025-09-05T01:24:32+02", "2025-09-05T01:24:32Z ",
            " 2025-09-05T01:24:32Z", "+2025-09-05T01:24:32Z", "２０25-09-05T01:24:32Z", "now",
        ])
    func refused(text: String) { #expect(RFC3339.timestamp(text) == nil) }
}
