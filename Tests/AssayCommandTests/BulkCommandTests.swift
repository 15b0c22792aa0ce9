import Foundation
import Glibc
import TestSupport
import Testing

/// Runs `assay verify` with many items.
@Suite("assay verify of many items")
struct BulkCommandTests {
    private let folder = TemporaryFolder()
    private let root: String
    /// Minted tokens, one on each line.
    private let tokens: [String]

    init() throws {
        try MintedAuthority.write(to: folder)
        root = folder("ca") + "/root.pem"
        let minted = try Tool.run("mint", "transaction", "--ca", folder("ca"), "--count", "600")
        tokens = minted.output.split(separator: "\n").map(String.init)
        try #require(tokens.count == 600)
    }

    private func verify(_ options: String..., input: String = "") throws -> Tool.Result {
        try Tool.run(["verify", "--kind", "transaction", "--root", root] + options, input: input)
    }

    private func records(_ answer: Tool.Result) throws -> [[String: Any]] {
        try answer.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    /// The counts on standard error, without the line of the total.
    private func counts(_ answer: Tool.Result) -> [String] {
        answer.error.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("total ") }
    }

    @Test("lines of a file: each record is the answer for the single item, in order")
    func lines() throws {
        let file = folder.write("tokens", tokens.joined(separator: "\n") + "\n")
        let answer = try verify("--lines", file)
        #expect(answer.status == 0)
        let lines = answer.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 600)
        #expect(counts(answer) == ["VALID 600"])
        #expect(answer.error.contains("total 600 in "))
        for index in [0, 255, 256, 257, 599] {
            let single = try verify("-", input: tokens[index])
            let expected = "{\"line\":\(index + 1)," + single.output.dropFirst().dropLast()
            #expect(lines[index] == expected)
        }
        let piped = try verify("--lines", "-", input: tokens.joined(separator: "\r\n"))
        #expect(piped.output == answer.output && piped.status == 0)
    }

    @Test("lines that are refused, unreadable or empty do not affect the others")
    func refusals() throws {
        let input = [
            tokens[0], "", "x.y.z", " \t", tokens[1].dropLast(4) + "AAAA", " " + tokens[2],
            "a\u{1b}b", tokens[3],
        ].joined(separator: "\n")
        let answer = try verify("--lines", "-", input: input)
        #expect(answer.status == 1)
        let records = try records(answer)
        #expect(records.map { $0["line"] as? Int } == [1, 3, 5, 6, 7, 8])
        #expect(
            records.map { $0["verdict"] as? String } == [
                "VALID", "MALFORMED", "INVALID_SIGNATURE", "MALFORMED", "MALFORMED", "VALID",
            ])
        #expect(records[2]["payload"] == nil && records[5]["payload"] != nil)
        #expect(counts(answer) == ["VALID 2", "MALFORMED 3", "INVALID_SIGNATURE 1"])
        #expect(answer.error.contains("; empty lines skipped: 2\n"))
        // Bytes that are no text.
        let file = folder.write("bytes", "")
        try (Data([0xFF, 0xFE, 0x0A, 0x30, 0x82, 0x0A]) + Data(tokens[0].utf8))
            .write(to: URL(fileURLWithPath: file))
        let bytes = try verify("--lines", file)
        #expect(bytes.status == 1 && counts(bytes) == ["VALID 1", "NOT_UTF8 2"])
    }

    @Test("lines without an item are an error, not a success")
    func noItem() throws {
        let blank = folder.write("blank", "\n \t\r\n\n")
        for (arguments, input, name) in [
            ("-", "", "standard input"), ("-", "\n", "standard input"), (blank, "", blank),
        ] {
            let answer = try verify("--lines", arguments, input: input)
            #expect(answer.status == 2 && answer.output.isEmpty)
            #expect(answer.error.hasPrefix("total 0 in "), "\(answer.error)")
            #expect(answer.error.contains("\(name) has no item to verify"), "\(answer.error)")
        }
        let one = try verify("--lines", "-", input: "\n" + tokens[0])
        #expect(one.status == 0)
    }

    @Test("a line of any length has its record, and does not take its size in memory")
    func longLines() throws {
        // A sparse file of 600 MB without a line break, then a token.
        let file = folder.write("long", "")
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: 600 << 20)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(("\n" + tokens[0] + "\n").utf8))
        try handle.close()
        let answer = try Tool.run(
            program: "/bin/bash",
            ["-c", "ulimit -v 1500000; exec \"$0\" \"$@\""]
                + [Tool.path, "verify", "--kind", "transaction", "--root", root, "--lines", file])
        #expect(answer.status == 1, "\(answer.error)")
        let records = try records(answer)
        #expect(records.map { $0["error"] as? String } == ["LINE_TOO_LONG", nil])
        #expect((records[0]["detail"] as? String)?.contains("33554432") == true)
        #expect(records[1]["line"] as? Int == 2 && records[1]["verdict"] as? String == "VALID")
    }

    @Test("JSON lines: the member has the evidence, and anything else is an error of its line")
    func members() throws {
        let input = """
            {"id":7,"token":"\(tokens[0])"}
            {"id":8}
            {"token":9}
            \(tokens[1])
            {"token":"\(tokens[2])"}
            """
        let answer = try verify("--lines", "-", "--member", "token", input: input)
        #expect(answer.status == 1)
        let records = try records(answer)
        #expect(
            records.map { ($0["verdict"] ?? $0["error"]) as? String } == [
                "VALID", "NO_MEMBER", "MEMBER_NOT_STRING", "NOT_JSON", "VALID",
            ])
        let last = try verify("-", input: tokens[2]).json
        #expect(records[4]["dedupKey"] as? String == last["dedupKey"] as? String)
        #expect(records[4]["dedupKey"] as? String != records[0]["dedupKey"] as? String)
        let counts = counts(answer)
        #expect(counts == ["VALID 2", "MEMBER_NOT_STRING 1", "NOT_JSON 1", "NO_MEMBER 1"])
    }

    @Test("a file that has items on its lines, or in members, is refused with the option for it")
    func hints() throws {
        let row = #"{"id":7,"token":"\#(tokens[0])"}"#
        let member = "; for the evidence in the member \"token\" use --"
        let cases: [(name: String, text: String, hint: (String) -> String)] = [
            (
                "tokens", tokens[0] + "\n\n" + tokens[1] + "\n",
                { "; for one item on each line use --lines \($0)" }
            ),
            ("a row", row, { member + "lines \($0) --member token" }),
            ("rows", row + "\n" + row, { member + "lines \($0) --member token" }),
            (
                "an object on lines", row.replacing(",", with: ",\n"),
                {
                    "; the member \"token\" has evidence: write the object on one line, and use "
                        + "--lines \($0) --member token"
                }
            ),
        ]
        for (name, text, hint) in cases {
            let file = folder.write("file", text)
            let single = try verify(file)
            let detail = try #require(try single.json["detail"] as? String)
            #expect(single.status == 1 && detail.hasSuffix(hint(file)), "\(name): \(detail)")
            let several = try records(try verify(file, file))
            #expect(several.count == 2, "\(name)")
            for record in several {
                #expect((record["detail"] as? String)?.hasSuffix(hint(file)) == true, "\(name)")
            }
        }
        // Neighbours without evidence inside.
        for text in [#"{"id":7,"token":"x"}"#, "x\ny\n", String(tokens[0].dropLast(4)), "", "{"] {
            let answer = try verify(folder.write("file", text))
            #expect(!answer.output.contains("--lines"), "\(text): \(answer.output)")
        }
        for options in [["--lines", "-"], ["--lines", "-", "--member", "receipt"]] {
            let answer = try Tool.run(
                ["verify", "--kind", "auto", "--root", root] + options, input: row)
            let detail = try #require(try records(answer).first?["detail"] as? String)
            #expect(detail.hasSuffix(member + "member token"), "\(detail)")
        }
    }

    @Test("several files and folders: a record each; an unreadable one is status 2")
    func files() throws {
        for (index, name) in ["b", "a", ".hidden"].enumerated() {
            folder.write(name, tokens[index])
        }
        let inner = folder("inner")
        try FileManager.default.createDirectory(
            atPath: inner, withIntermediateDirectories: false)
        for (name, text) in [("2", tokens[3]), ("1", tokens[4] + "\n"), (".x", "")] {
            folder.write("inner/" + name, text)
        }
        let all = try verify(folder("b"), inner, folder("a"))
        #expect(all.status == 0 && counts(all) == ["VALID 4"])
        #expect(
            try records(all).map { $0["file"] as? String } == [
                folder("b"), inner + "/1", inner + "/2", folder("a"),
            ])
        let single = try verify(folder("b"))
        #expect(single.error.isEmpty)
        let line = try #require(all.output.split(separator: "\n").first)
        #expect(line == "{\"file\":\"\(folder("b"))\"," + single.output.dropFirst().dropLast())
        #expect(try verify(inner + "/").output.contains("\"file\":\"\(inner)/1\""))

        let empty = folder.write("empty", " \n")
        let missing = try verify(folder("a"), folder("none"), empty, folder("b"))
        #expect(missing.status == 2)
        #expect(counts(missing) == ["VALID 2", "UNREADABLE 2"])
        let details = try records(missing).map { $0["detail"] as? String ?? "" }
        #expect(details[1].contains("no such file") && details[2].contains("is empty"))
    }

    @Test("the kind of each item is detected; app receipts are lines of base64")
    func kinds() throws {
        let receipt = try Tool.run(
            "mint", "receipt", "--ca", folder("ca"), "--records", "3", "--base64", "line")
        let body = try Tool.run("mint", "notification", "--ca", folder("ca"), "--post-body")
        let input = receipt.output + "\n" + body.output + tokens[0]
        let answer = try Tool.run(
            [
                "verify", "--kind", "auto", "--root", root, "--root",
                folder("ca") + "/receipt-root.pem", "--in-app", "none", "--lines", "-",
            ], input: input)
        let records = try records(answer)
        #expect(
            records.map { $0["kind"] as? String } == [
                "app-receipt", "notification", "transaction",
            ], "\(answer.output)")
        #expect(answer.status == 0, "\(answer.error)")
    }

    @Test("wrong usage is status 2 with the remedy")
    func usage() throws {
        let file = folder.write("file", tokens[0])
        try FileManager.default.createDirectory(
            atPath: folder("bare"), withIntermediateDirectories: false)
        let table: [(arguments: [String], reason: String)] = [
            (["--lines", file, file], "leave out \"\(file)\""),
            (["--member", "x", file], "add --lines FILE"),
            (["--lines", file, "--format", "text"], "leave out --format"),
            ([file, file, "--format", "text"], "leave out --format"),
            ([folder("ca"), "--format", "text"], "leave out --format"),
            ([file, "-"], "--lines -"),
            ([folder("bare")], "has no files"),
            (["--lines", folder("none")], "no such file"),
            (["--lines", folder("ca")], "it is a folder"),
        ]
        for (arguments, reason) in table {
            let answer = try Tool.run(["verify", "--kind", "transaction"] + arguments)
            #expect(answer.status == 2 && answer.output.isEmpty, "\(arguments)")
            #expect(answer.error.contains(reason), "\(arguments): \(answer.error)")
        }
    }

    @Test("a reader that closes the output ends the tool quietly")
    func brokenPipe() throws {
        let file = folder.write("tokens", tokens.joined(separator: "\n"))
        for signals in ["", "trap '' PIPE; "] {
            let answer = try Tool.run(
                program: "/bin/bash",
                [
                    "-c", signals + "\"$0\" \"$@\" | head -n 1; echo ${PIPESTATUS[0]}", Tool.path,
                    "verify", "--kind", "transaction", "--root", root, "--lines", file,
                ])
            #expect(answer.error.isEmpty, "\(answer.error)")
            let lines = answer.output.split(separator: "\n")
            #expect(lines.count == 2 && lines.first?.hasPrefix("{\"line\":1,") == true)
            #expect(lines.last == "141", "\(lines.last ?? "")")
        }
    }

    @Test("lines that arrived are answered while the pipe stays open")
    func slowPipe() throws {
        let output = folder("slow")
        let answer = try Tool.run(
            program: "/bin/bash",
            [
                "-c",
                """
                (echo "$1"; exec sleep 60) > >("$0" verify --kind transaction --root "$2" \\
                    --lines - > "$3" 2> /dev/null) &
                for i in {1..300}; do [ -s "$3" ] && break; sleep 0.1; done
                kill %1
                cat "$3"
                """, Tool.path, tokens[0], root, output,
            ])
        #expect(answer.output.hasPrefix("{\"line\":1,\"verdict\":\"VALID\""), "\(answer.error)")
    }

    @Test("a terminal shows the progress; a file gets the counts alone")
    func progress() throws {
        let file = folder.write("tokens", tokens.joined(separator: "\n"))
        let slow = "(for i in 1 2 3 4 5 6; do cat '\(file)'; echo; sleep 0.1; done)"
        let command =
            "\(slow) | \(Tool.path) verify --kind transaction --root \(root) --lines - > /dev/null"
        let shown = try Tool.run(
            program: "/usr/bin/script", ["-qec", command, "/dev/null"],
            environment: ["SHELL": "/bin/bash"])
        #expect(shown.output.contains(" items, "), "\(shown.output)")
        #expect(shown.output.contains("\r\u{1b}[K"), "\(shown.output)")
        #expect(shown.output.contains("VALID 3600"), "\(shown.output)")
        let quiet = try Tool.run(program: "/bin/bash", ["-c", command])
        #expect(!quiet.error.contains("\u{1b}") && quiet.error.hasPrefix("VALID 3600\ntotal "))
    }
}
