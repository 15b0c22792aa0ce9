import Foundation
import TestSupport
import Testing

/// Notifications of Huawei, unusable revocation files and unnamed apps at the command line.
@Suite("Neighbours at the command line") struct StoreNeighbourTests {
    private let folder = TemporaryFolder()

    @Test("a minted notification of Huawei verifies, and its order entitles")
    func huaweiNotification() throws {
        let minted = try Tool.run(
            "mint", "huawei-notification", "--ca", folder("ca"), "--product-id", "gold")
        #expect(minted.status == 0, "\(minted.error)")
        let key = folder("ca") + "/huawei-licence-key.txt"
        for kind in ["huawei-notification", "auto"] {
            let answer = try Tool.run(
                "verify", "--kind", kind, "--huawei-key", key, "-", input: minted.output)
            #expect(answer.status == 0 && answer.verdict == "VALID", "\(answer.output)")
            #expect(try answer.json["state"] as? String == "PURCHASED")
            #expect(try answer.json["kind"] as? String == "huawei-notification")
        }
        let other = try Tool.run(
            "verify", "--kind", "huawei-purchase", "--huawei-key", key, "-", input: minted.output)
        #expect(other.status == 1 && other.output.contains("huawei-notification"))
        let text = try Tool.run("entitlements", "--huawei-key", key, "-", input: minted.output)
        #expect(text.status == 0 && text.output.contains("\"gold\""), "\(text.output)")
        let pending = try Tool.run(
            "mint", "huawei-notification", "--ca", folder("ca"), "--pending")
        let answer = try Tool.run(
            "verify", "--kind", "auto", "--huawei-key", key, "-", input: pending.output)
        #expect(answer.verdict == "VALID" && answer.output.contains("PENDING"))
    }

    @Test("a revocation file that can't be used: soft warns and goes on, hard refuses to start")
    func revocationFiles() throws {
        try MintedAuthority.write(to: folder, date: "2025-01-01T00:00:00Z")
        let minted = try Tool.run(
            "mint", "transaction", "--ca", folder("ca"), "--date", "2025-01-02T00:00:00Z")
        #expect(minted.status == 0, "\(minted.error)")
        let bad = folder.write("answer.der", "no")
        for (mode, status) in [(nil, 0), ("soft", 0), ("hard", 2)] as [(String?, Int32)] {
            let answer = try Tool.run(
                [
                    "verify", "--kind", "transaction", "--root", folder("ca") + "/root.pem",
                    "--at", "2025-01-03T00:00:00Z", "--revocation", bad,
                ] + (mode.map { ["--revocation-mode", $0] } ?? []) + ["-"], input: minted.output)
            #expect(answer.status == status, "\(mode ?? "none"): \(answer.error)")
            #expect(answer.error.contains("answer.der can't be used"), "\(answer.error)")
        }
    }
}
