import Foundation
import TestSupport
import Testing

/// The command names what is in a file at every size.
@Suite("Forms of evidence on the command line")
struct LargeFormCommandTests {
    private let folder: TemporaryFolder
    /// The name of each form's file, in order, and what its refusal says.
    private let says: [String]

    init() throws {
        let folder = TemporaryFolder()
        try MintedAuthority.write(to: folder)
        let minted = try Tool.run(
            "mint", "receipt", "--ca", folder("ca"), "--size", "100KB", "--base64", "none",
            "--output", folder("receipt"))
        try #require(minted.status == 0, "\(minted.error)")
        let receipt = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder("receipt"))))
        try FileManager.default.createDirectory(
            atPath: folder("forms"), withIntermediateDirectories: false)
        // The limit of one explanation.
        let cases = FormCase.ofReceipt(receipt).prefix(32)
        for (index, item) in cases.enumerated() {
            try Data(item.bytes).write(
                to: URL(fileURLWithPath: folder("forms/\(100 + index)")))
        }
        self.folder = folder
        says = cases.map(\.says)
    }

    private func object(_ text: some StringProtocol) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(object as? [String: Any])
    }

    @Test("verify, by detection and as a receipt")
    func verify() throws {
        for kind in ["auto", "app-receipt", "transaction"] {
            let answer = try Tool.run("verify", "--kind", kind, folder("forms"))
            #expect(answer.status == 1)
            let lines = answer.output.split(separator: "\n")
            #expect(lines.count == says.count, "\(answer.error)")
            for (line, says) in zip(lines, says) {
                let detail = try object(line)["detail"] as? String ?? ""
                #expect(detail.contains(says), "\(kind): \(detail)")
            }
        }
    }

    @Test("explain and entitlements")
    func others() throws {
        let explained = try object(
            try Tool.run("explain", "--format", "json", folder("forms")).output)
        let items = try #require(explained["items"] as? [[String: Any]])
        #expect(items.count == says.count)
        for (item, says) in zip(items, says) {
            let detail = (item["explanation"] as? [String: Any])?["detail"] as? String ?? ""
            #expect(detail.contains(says), "\(detail)")
        }
        let owned = try object(try Tool.run("entitlements", folder("forms")).output)
        let refused = try #require(owned["items"] as? [[String: Any]])
        #expect(refused.count == says.count)
        for (item, says) in zip(refused, says) {
            let detail = item["detail"] as? String ?? ""
            #expect(detail.contains(says), "\(detail)")
        }
    }
}
