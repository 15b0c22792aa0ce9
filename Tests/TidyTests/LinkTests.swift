import Foundation
import TestSupport
import Testing

/// Checks that links between pages of the repository lead somewhere.
@Suite("Tidy links")
struct TidyLinkTests {
    private static let folders = [
        "docs", "clients", "conformance", "examples", "bench", "packaging",
    ]
    private static let pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]

    private static func paths() -> [String] {
        pages
            + folders.flatMap { folder -> [String] in
                let names = FileManager.default.enumerator(
                    atPath: Vectors.packageRoot + "/" + folder)
                return (names?.compactMap { $0 as? String } ?? []).sorted().map {
                    folder + "/" + $0
                }
            }.filter {
                $0.hasSuffix(".md") && !$0.contains("node_modules") && !$0.contains("/results/")
            }
    }

    /// Returns the text of a page without its blocks of code.
    private static func prose(_ path: String) -> String {
        let bytes = Vectors.bytes(Vectors.packageRoot + "/" + path) ?? []
        var isCode = false
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        return lines.filter { line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") { isCode.toggle() }
            return !isCode
        }.joined(separator: "\n")
    }

    /// Returns the anchors of a text's headings, as GitHub forms them.
    private static func anchors(_ text: String) -> Set<String> {
        let headings = text.split(separator: "\n").filter { $0.hasPrefix("#") }
        return Set(
            headings.map { heading in
                heading.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
                    .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                    .replacing(" ", with: "-")
            })
    }

    /// Returns the links of a page that lead nowhere, and counts all.
    private static func broken(_ path: String, _ text: String, _ count: inout Int) -> [String] {
        let folder = URL(fileURLWithPath: Vectors.packageRoot + "/" + path)
            .deletingLastPathComponent()
        return text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }.filter { link in
            guard !link.contains("://"), !link.hasPrefix("mailto:") else { return false }
            count += 1
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let target =
                parts[0].isEmpty ? path : relative(folder.appendingPathComponent(String(parts[0])))
            guard FileManager.default.fileExists(atPath: Vectors.packageRoot + "/" + target) else {
                return true
            }
            guard parts.count > 1, target.hasSuffix(".md") else { return false }
            return !anchors(target == path ? text : prose(target)).contains(String(parts[1]))
        }.map { "\(path): \($0)" }
    }

    private static func relative(_ url: URL) -> String {
        String(url.standardizedFileURL.path.dropFirst(Vectors.packageRoot.count + 1))
    }

    @Test("links between pages lead to a file and a heading")
    func links() {
        var count = 0
        let broken = Self.paths().flatMap { Self.broken($0, Self.prose($0), &count) }
        #expect(broken == [])
        #expect(count > 200)
    }

    /// A registry shows the page alone.
    @Test("the pages of packages have no links to files", arguments: ["python", "node"])
    func packages(_ client: String) {
        let links = Self.prose("clients/\(client)/README.md")
            .matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
        #expect(links.filter { !$0.contains("://") && !$0.hasPrefix("#") } == [])
    }

    @Test("a link to a missing file or heading is found")
    func findings() {
        var count = 0
        let text = "# A b: `c`\n[a](#a-b-c) [b](#b) [c](docs/install.md#nowhere) [d](none.md)"
        #expect(
            Self.broken("README.md", text, &count) == [
                "README.md: #b", "README.md: docs/install.md#nowhere", "README.md: none.md",
            ])
        #expect(count == 4)
    }
}
