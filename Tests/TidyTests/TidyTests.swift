import Foundation
import TestSupport
import Testing

/// Checks the form of the source, so that reviews need not.
@Suite("Tidy")
struct TidyTests {
    /// Folders of handwritten Swift, relative to the package.
    private static let folders = ["Sources", "Tests", "bench", "conformance", "clients"]
    private static let generated = ["Sources/AssayWire/Message/ModelMessages.swift"]
    /// The places that use a C library, where `unsafe` is therefore allowed.
    private static let borders: [(folder: String, module: String)] = [
        ("Sources/Assay/Crypto/", "COpenSSL"), ("Sources/AssayKeys/", "COpenSSL"),
        ("Sources/AssayBytes/Bytes/", "CAssayBytes"),
        ("Sources/AssayWire/Message/", "CAssayProto"),
        ("Sources/AssayHTTP/HTTP2/", "CNghttp2"), ("Sources/AssayHTTP/Gzip/", "CZlib"),
        ("Sources/AssayWire/Message/", "CProtobufC"), ("Sources/AssayIO/", "CLibuv"),
        ("Sources/AssayStore/Transport/", "CCurl"),
        ("Sources/AssayIO/TLS/", "COpenSSL"),
        ("Sources/AssayMint/Scenario/", "CAssayScenarios"),
    ]
    /// The lock is the C standard library's.
    private static let locks = "Sources/AssayLocks/"
    /// The system's call takes a pointer.
    private static let clock = "Sources/AssayModels/Timestamp+Now.swift"
    /// The arithmetic works in buffers whose bounds its loops keep.
    private static let curves = "Sources/AssayCurves/"

    private struct File {
        let path: String
        let lines: [Substring]
    }

    private static let files: [File] = {
        folders.flatMap { folder -> [File] in
            let names =
                FileManager.default.enumerator(
                    atPath: Vectors.packageRoot + "/" + folder)?.compactMap { $0 as? String } ?? []
            return names.sorted().compactMap { name in
                let path = folder + "/" + name
                guard name.hasSuffix(".swift"), !name.contains(".build/"),
                    !generated.contains(path),
                    let text = try? String(
                        contentsOfFile: Vectors.packageRoot + "/" + path, encoding: .utf8)
                else { return nil }
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                return File(path: path, lines: lines)
            }
        }
    }()

    /// Returns the matching lines outside the allowed files, as `path:line`.
    private static func offences(
        in paths: (String) -> Bool = { _ in true }, _ isOffence: (Substring) -> Bool
    ) -> [String] {
        files.filter { paths($0.path) }.flatMap { file in
            file.lines.enumerated().filter { isOffence($0.element) }
                .map { "\(file.path):\($0.offset + 1)" }
        }
    }

    private static func imports(_ module: String) -> (Substring) -> Bool {
        { line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index + 1 < words.count else {
                return false
            }
            return words[index + 1] == module && !line.drop { $0 == " " }.hasPrefix("//")
        }
    }

    @Test("the tests find the source files")
    func found() { #expect(Self.files.count > 50) }

    @Test("script/check runs the tests of every target")
    func targets() throws {
        let script = try String(
            contentsOfFile: Vectors.packageRoot + "/script/check", encoding: .utf8)
        let run = Set(script.split { !$0.isLetter }.map(String.init))
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Vectors.packageRoot + "/Tests")
        let targets = folders.filter { $0.hasSuffix("Tests") }
        #expect(targets.count > 5)
        #expect(targets.filter { !run.contains($0) } == [])
    }

    @Test("lines have at most 100 columns")
    func columns() { #expect(Self.offences { $0.count > 100 } == []) }

    @Test("files have at most 400 lines")
    func length() {
        #expect(Self.files.filter { $0.lines.count > 401 }.map(\.path) == [])
    }

    /// Returns the first lines of functions longer than 70 lines. A function ends at the closing
    /// brace with its indentation, where the formatter puts it.
    private static func longFunctions(_ lines: [Substring]) -> [Int] {
        lines.indices.filter { start in
            let indentation = lines[start].prefix { $0 == " " }
            let words = lines[start].split { $0 == " " || $0 == "(" || $0 == "?" }
            guard !lines[start].dropFirst(indentation.count).hasPrefix("//"),
                words.contains("func") || words.contains("init"), lines[start].last != "}"
            else { return false }
            let end = lines[(start + 1)...].firstIndex { line in
                let text = line.dropFirst(indentation.count)
                // The end of a multi-line signature is not the end of a function.
                return line.hasPrefix(indentation) && text.first != " " && !text.isEmpty
                    && !(text.hasPrefix(")") && text.hasSuffix("{"))
            }
            return end.map { lines[$0].drop { $0 == " " } == "}" && $0 - start >= 70 } ?? false
        }.map { $0 + 1 }
    }

    @Test("functions have at most 70 lines")
    func functions() {
        let offences = Self.files.flatMap { file in
            Self.longFunctions(file.lines).map { "\(file.path):\($0)" }
        }
        #expect(offences == [])
        for (inside, isLong) in [(68, false), (69, true)] {
            for head in ["func f() {", "init?(\n    of number: Int\n) {"] {
                let signature = head.split(separator: "\n")
                let body = [Substring](repeating: "    f()", count: inside + 1 - signature.count)
                let found = Self.longFunctions(["", "let a = 1"] + signature + body + ["}"])
                #expect(found == (isLong ? [3] : []), "\(head) \(inside)")
            }
        }
    }

    @Test("unsafe occurs only where a C library is used")
    func unsafe() {
        let allowed = Self.borders.map(\.folder) + [Self.locks, Self.clock, Self.curves]
        let offences = Self.offences { path in
            path.hasPrefix("Sources/") && !allowed.contains { path.hasPrefix($0) }
        } _: { line in
            // A keyword of Content-Security-Policy.
            let code = line.replacing("'unsafe-inline'", with: "").drop { $0 == " " }
            return !code.hasPrefix("//")
                && code.split { !$0.isLetter && !$0.isNumber }.contains("unsafe")
        }
        #expect(offences == [])
    }

    /// The calls of `Vectors` that read data; not the ones that name a file of the repository.
    private static let readers = ["has(", "files(", "folder(", "cases(", "bytes(\""].map {
        "Vectors" + "." + $0
    }

    @Test("what reads vectors is a suite, which script/check --vectors finds by its calls")
    func vectorSuites() {
        let others = Self.files.filter { file in
            file.path.hasPrefix("Tests/") && !file.path.hasSuffix("Tests.swift")
                && file.lines.contains { line in Self.readers.contains { line.contains($0) } }
        }
        #expect(others.map(\.path) == [])
    }

    @Test("a test that counts vectors is skipped without them, and never returns early")
    func vectors() {
        for file in Self.files where file.path.hasPrefix("Tests/Assay") {
            let text = file.lines.joined(separator: "\n")
            // From one test's attribute to the next.
            for test in text.split(separator: "@" + "Test").dropFirst()
            where test.contains("Vectors" + ".report(") {
                #expect(test.contains(Self.readers[0]), "\(file.path): \(test.prefix(120))")
            }
            #expect(!text.contains("return Vectors" + ".report"), "\(file.path)")
        }
    }

    @Test("the only lock is the one that ThreadSanitizer understands")
    func locks() {
        // The names are split so that this file does not match.
        let others = ["Mut" + "ex", "pthread" + "_mutex_t", "uv" + "_mutex_t", "NS" + "Lock"]
        let offences = Self.offences { path in
            !path.hasPrefix(Self.locks)
        } _: { line in
            let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            return words.contains { others.contains(String($0)) }
        }
        #expect(offences == [])
    }

    @Test("a C library is imported only by its own folder")
    func borders() {
        for module in Set(Self.borders.map(\.module)) {
            let folders = Self.borders.filter { $0.module == module }.map(\.folder)
            let offences = Self.offences(
                in: { path in
                    path.hasPrefix("Sources/") && !folders.contains { path.hasPrefix($0) }
                }, Self.imports(module))
            #expect(offences == [], "\(module)")
        }
    }

    @Test("no library imports Foundation")
    func foundation() {
        for module in ["Foundation", "FoundationEssentials"] {
            let offences = Self.offences(
                in: { $0.hasPrefix("Sources/") && !$0.hasPrefix("Sources/AssayCommand/") },
                Self.imports(module))
            #expect(offences == [])
        }
        let whole = Self.offences(in: { $0.hasPrefix("Sources/") }, Self.imports("Foundation"))
        #expect(whole == [], "the tool does with FoundationEssentials")
    }

    @Test("no comment postpones work")
    func reminders() {
        let words = ["TO" + "DO", "FIX" + "ME"]
        #expect(Self.offences { line in words.contains { line.contains($0) } } == [])
    }

    @Test("lines have no trailing white space")
    func trailing() { #expect(Self.offences { $0.hasSuffix(" ") || $0.hasSuffix("\t") } == []) }

    @Test("the tests named in HOSTILE.md exist")
    func hostile() throws {
        let table = try Self.text("Tests/HOSTILE.md")
        // The types and functions that each file declares.
        let sources = Self.files.filter { $0.path.hasPrefix("Tests/") }.map { file in
            Set(
                file.lines.flatMap { line -> [String] in
                    let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                    return zip(words, words.dropFirst())
                        .filter { $0.0 == "struct" || $0.0 == "func" }.map { "\($0.0) \($0.1)" }
                })
        }
        var names = 0
        for match in table.matches(of: /`(\w+)\/(\w+)`/) where match.1 != "script" {
            let isThere = sources.contains {
                $0.contains("struct \(match.1)") && $0.contains("func \(match.2)")
            }
            #expect(isThere, "\(match.0)")
            names += 1
        }
        #expect(names > 100)
    }

    private static func text(_ path: String) throws -> String {
        let bytes = try #require(Vectors.bytes(Vectors.packageRoot + "/" + path))
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("the container image has every folder that the package names")
    func image() throws {
        let manifest = try Self.text("Package.swift")
        let copies = try Self.text("docker/Dockerfile")
        let kept = try Self.text("docker/Dockerfile.dockerignore")
        let named = manifest.matches(of: /path: "(\w+)/).map { String($0.1) }
        #expect(named.contains("bench"))
        // CAssayProto embeds the contract.
        for folder in Set(named + ["Sources", "proto"]) {
            #expect(copies.contains("\nCOPY \(folder) \(folder)\n"), "\(folder)")
            #expect(kept.contains("\n!\(folder)\n"), "\(folder)")
        }
    }

    @Test(
        "the Python programs in the documents are the tested ones",
        arguments: ["exchange", "owns"])
    func exchange(name: String) throws {
        let program = try Self.text("Tests/Interop/\(name).py")
        #expect(try Self.text("docs/python.md").contains("```python\n" + program + "```"))
    }
}
