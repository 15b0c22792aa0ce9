import Assay
import AssayMint
import AssayModels
import AssayServer
import TestSupport
import Testing

/// Roots other than Apple's that can validate Production evidence.
@Suite struct ForeignRootTests {
    private static let event = "\"event\":\"foreign_production_root\""

    private static func app(
        development: Bool, _ environments: Set<StoreEnvironment>
    ) throws -> AppEntry {
        let root = try Minted.authority.get().rootCertificate
        return AppEntry(
            verifier: Verifier(trust: try .apple.pinning(root, development: development)),
            policy: Policy(bundleId: Minted.bundleId, environments: environments))
    }

    @Test(
        arguments: [
            (false, [StoreEnvironment.production, .sandbox], 1), (false, [.unspecified], 1),
            (false, [.sandbox], 0), (true, [.production], 0),
        ] as [(Bool, Set<StoreEnvironment>, Int)])
    func areWarnedOfAndCounted(
        development: Bool, environments: Set<StoreEnvironment>, count: Int
    ) throws {
        let app = try Self.app(development: development, environments)
        let test = try SimulatedAdminTest { $0.apps = ["game": app] }
        defer { test.end() }
        #expect(test.test.log.count(of: Self.event) == count)
        try test.eventually {
            try test.metrics()["assay_foreign_production_roots"] == Double(count)
        }
        let mark = test.get("/status").body.contains("not Apple's, valid for Production")
        #expect(mark == (count > 0))
    }

    @Test("line 89: names in the log are escaped, with all control characters")
    func namesInTheLog() throws {
        let app = try Self.app(development: false, [.production])
        let test = try SimulatedAdminTest {
            $0.apps = ["game": app, "a\u{9b}1m\u{1b}\u{202e}\u{7f}ü": app]
        }
        defer { test.end() }
        let escaped = "\"app\":\"a\\u009b1m\\u001b\\u202e\\u007fü\""
        #expect(test.test.log.count(of: escaped) == 1)
        #expect(test.test.log.count(of: "\u{9b}") == 0)
    }
}
