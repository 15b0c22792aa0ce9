import Foundation
import TestSupport
import Testing

/// Checks that the repository uses the field's words, not words of its own.
@Suite("Tidy glossary")
struct TidyGlossaryTests {
    /// Words that have a better one, compared with each word of a text or identifier.
    private static let words = [
        "room": "space, memory, module", "rooms": "modules",
        "tell": "report, return, log", "tells": "reports, returns, logs",
        "told": "reported, returned, logged", "untold": "unreported",
        "door": "entry point", "doors": "entry points",
        "stranger": "foreign, unknown", "strangers": "foreign, unknown",
        "unseen": "unknown", "lane": "queue", "lanes": "queues",
        "settle": "verify, commit, flush, update", "settles": "verifies, commits",
        "settled": "verified, committed", "piece": "item, slice, chunk, part",
        "pieces": "items, slices, chunks, parts", "whoever": "the client, the peer",
        "landing": "ReadArena", "unsealed": "decrypted", "crowd": "many connections, flood",
        "crowds": "many connections, floods", "crowded": "full",
    ]
    private static let phrases = [
        "put aside": "deferred", "as many as": "the limit", "so many": "this number of",
        "is told": "gets, receives", "are told": "get, receive",
        "turn share": "quota", "at a glance": "from the first bytes, without decoding",
    ]
    /// Words that are no names of a variable, parameter or function.
    private static let declarations = [
        "place": "index, offset, position, slot, location",
        "places": "indices, offsets, positions, slots, locations",
        "front": "head, beginning, what it is", "patient": "mayWait, longTimeout",
        "side": "environment, peer, edge, what it is",
    ]
    private static let declaring: Set = ["let", "var", "func", "for", "case", "_"]
    /// Names that were replaced.
    private static let identifiers = [
        "AssayLoop", "EvidenceFacts", "Exchange", "FuzzDoors", "HTTPFormat", "HTTPFront",
        "HTTPPlan", "HTTPQuestion", "JSONPlaces", "KeptPage", "KeyTablePlace", "LastWords",
        "LoadPlan", "LoopShare", "Pressure", "ReadingRest", "ResolvePlace", "StoreSide", "TLSSide",
        "TOMLTrap", "TurnShare", "UnseenChain", "UnseenChains", "breakSeal",
        "isReady()", "isReloading()", "isStopping()", "waitsForTurn", "workerIsIdle",
    ]

    private struct Exception {
        /// The line contains this text.
        let text: String
        let word: String
    }

    private static let exceptions = [
        // Command-line options and configuration keys do not change.
        Exception(text: "--unseen", word: "unseen"),
        Exception(text: ".customLong(\"unseen\")", word: "unseen"),
        Exception(text: "unseen-chains-", word: "unseen"),
    ]

    private static let folders = [
        "Sources", "Tests", "bench", "docs", "script", "proto", "packaging", "docker",
        "conformance", "clients",
    ]
    private static let pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Package.swift"]
    private static let endings = [
        ".swift", ".md", ".py", ".txt", ".proto", ".service", ".socket", ".yaml", ".c", ".h",
    ]
    /// This file lists the words.
    private static let own = "Tests/TidyTests/GlossaryTests.swift"

    private static func paths() -> [String] {
        let root = Vectors.packageRoot + "/"
        return pages
            + folders.flatMap { folder -> [String] in
                let names =
                    FileManager.default.enumerator(atPath: root + folder)?
                    .compactMap { $0 as? String } ?? []
                return names.sorted().map { folder + "/" + $0 }
            }.filter { path in
                let name = path.split(separator: "/").last ?? ""
                let isText = endings.contains { path.hasSuffix($0) } || !name.contains(".")
                return isText && path != own && !path.contains(".build/")
                    && !path.contains("/results/") && !path.contains("/node_modules/")
            }
    }

    /// Splits a line into lower-case words: `hasRoom_for` is has, room, for.
    private static func split(_ line: Substring) -> [String] {
        var words: [String] = []
        var word = ""
        var before: Character = " "
        for character in line {
            let isLetter = character.isASCII && character.isLetter
            if !isLetter || character.isUppercase && before.isLowercase {
                if !word.isEmpty { words.append(word) }
                word = ""
            }
            if isLetter { word.append(contentsOf: character.lowercased()) }
            before = character
        }
        return word.isEmpty ? words : words + [word]
    }

    /// Returns the words of a line that the glossary replaces.
    private static func findings(in line: Substring) -> [String] {
        let parts = split(line)
        let text = parts.joined(separator: " ")
        let names = line.split { !$0.isLetter && !$0.isNumber && !"_()".contains($0) }
        let tokens = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
        let isComment = line.drop { $0 == " " }.hasPrefix("//")
        let declared = zip(tokens, tokens.dropFirst()).filter { keyword, name in
            !isComment && declaring.contains(keyword) && declarations[name] != nil
        }
        return parts.filter { words[$0] != nil } + declared.map(\.1)
            + phrases.keys.filter { " \(text) ".contains(" \($0) ") }
            + identifiers.filter { names.contains(Substring($0)) }
    }

    @Test("the repository uses the words of the glossary")
    func glossary() throws {
        var count = 0
        for path in Self.paths() {
            guard let bytes = Vectors.bytes(Vectors.packageRoot + "/" + path) else { continue }
            count += 1
            let lines = String(decoding: bytes, as: UTF8.self)
                .split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() {
                let found = Self.findings(in: line).filter { word in
                    !Self.exceptions.contains { $0.word == word && line.contains($0.text) }
                }
                for word in found {
                    let better =
                        Self.words[word] ?? Self.phrases[word] ?? Self.declarations[word]
                        ?? "its new name"
                    Issue.record("\(path):\(index + 1): \"\(word)\"; write \(better)")
                }
            }
        }
        #expect(count > 300)
    }

    @Test(
        "findings in comments, strings and identifiers",
        arguments: [
            ("var hasRoom = true", ["room"]), ("/// Told of a drain.", ["told"]),
            ("\"a lane\"", ["lane"]), ("func didSettle()", ["settle"]),
            ("// as many as fit", ["as many as"]), ("struct Exchange {", ["Exchange"]),
            ("func isReady() {", ["isReady()"]), ("let wasTold_x = UNSEEN", ["told", "unseen"]),
            ("for (place, digit) in digits {", ["place"]), ("func side() {", ["side"]),
            ("case .member(let places):", ["places"]), ("_ front: Int", ["front"]),
            ("decided at a glance", ["at a glance"]), ("a crowd", ["crowd"]),
            // Neighbours.
            ("let isInPlace = true, takesPlace = 1", []), ("/// let place", []),
            ("\"the place\": at one side, in front", []),
            ("mushroom, plane, indoors, masterpiece, untellable", []),
            ("func exchange()", []), ("let isReady = manager.isReady", []),
            ("as many assets, so manyfold", []),
        ])
    func findings(line: String, expected: [String]) {
        #expect(Self.findings(in: Substring(line)) == expected)
    }

    @Test("each exception is in use")
    func exceptions() {
        let lines = Self.paths().compactMap { Vectors.bytes(Vectors.packageRoot + "/" + $0) }
            .flatMap { String(decoding: $0, as: UTF8.self).split(separator: "\n") }
        for exception in Self.exceptions {
            let isUsed = lines.contains {
                $0.contains(exception.text) && Self.findings(in: $0).contains(exception.word)
            }
            #expect(isUsed, "\(exception.text)")
        }
    }
}
