import Foundation
import TestSupport
import Testing

/// DocC refuses a comment that documents some parameters of a function, and not all.
@Suite("Documented parameters")
struct ParameterTests {
    /// The parameters of the declaration at the start of a text.
    private static func parameters(of declaration: Substring) -> Set<Substring> {
        guard let start = declaration.firstIndex(of: "(") else { return [] }
        var (depth, part, parts): (Int, String, [String]) = (0, "", [])
        scan: for character in declaration[start...] {
            switch character {
            case "(", "[":
                depth += 1
                if depth == 1 { continue }
            case ")", "]":
                depth -= 1
                if depth == 0 { break scan }
            case "," where depth == 1:
                parts.append(part)
                part = ""
                continue
            default: break
            }
            part.append(character)
        }
        let names = (parts + [part]).compactMap { part -> Substring? in
            let words = part.prefix { $0 != ":" }.split(whereSeparator: \.isWhitespace)
            return words.last.map { Substring($0) }
        }
        return Set(names)
    }

    /// The parameters that a comment documents.
    private static func documented(by comment: [Substring]) -> Set<Substring> {
        var (names, isList): (Set<Substring>, Bool) = ([], false)
        for line in comment {
            if let match = line.firstMatch(of: /- Parameter (\w+):/) { names.insert(match.1) }
            if line.contains("- Parameters:") { isList = true }
            if isList, let match = line.firstMatch(of: /^\/\/\/\s+- (\w+):/) {
                if match.1 != "Parameters" { names.insert(match.1) }
            }
            if line.contains("- Returns:") || line.contains("- Throws:") { isList = false }
        }
        return names.subtracting(["Returns", "Throws", "Parameters", "Note"])
    }

    /// The declarations of a text whose comments name only some parameters.
    private static func offences(in text: String) -> [String] {
        var comment: [Substring] = []
        var found: [String] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let trimmed = line.drop(while: \.isWhitespace)
            if trimmed.hasPrefix("///") {
                comment.append(trimmed)
                continue
            }
            if trimmed.hasPrefix("@") { continue }
            defer { comment = [] }
            guard trimmed.contains(/^public (static |mutating |consuming )*(func|init)\b/) else {
                continue
            }
            let names = documented(by: comment)
            let rest = lines[index...].prefix(20).joined(separator: "\n")
            let all = parameters(of: rest[...])
            if !names.isEmpty, names != all { found.append(String(trimmed)) }
        }
        return found
    }

    @Test("a comment that documents a parameter of a public function documents all")
    func all() throws {
        let folder = Vectors.packageRoot + "/Sources"
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }
        for name in (names ?? []).sorted() where name.hasSuffix(".swift") {
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            #expect(Self.offences(in: text) == [], "\(name)")
        }
    }

    @Test(
        "what is an offence",
        arguments: [
            ("/// - Parameter a: x\npublic func f(a: Int) {", true),
            ("/// - Parameter b: x\npublic func f(a b: Int) {", true),
            ("/// - Parameter a: x\npublic func f(a b: Int) {", false),
            (
                "/// - Parameter a: x\npublic static func f(\n    a: [Int], b: (Int, Int)\n) {",
                false
            ),
            (
                "/// - Parameters:\n///   - a: x\n///   - b: y\npublic init(a: Int, _ b: Int) {",
                true
            ),
            ("/// - Parameters:\n///   - a: x\npublic init(a: Int, _ b: Int) {", false),
            ("/// Text.\npublic init(a: Int, _ b: Int) {", true),
            ("/// - Parameter a: x\nfunc f(a: Int, b: Int) {", true),
        ] as [(String, Bool)])
    func offence(_ text: String, isRight: Bool) {
        #expect(Self.offences(in: text).isEmpty == isRight)
    }
}
