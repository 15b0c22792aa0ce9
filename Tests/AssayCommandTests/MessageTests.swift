import ArgumentParser
import AssayCommandLine
import Foundation
import TestSupport
import Testing

@testable import AssayCommand

/// Tests the tool's messages after a typo, a timeout or hostile input.
@Suite("Messages of the tool")
struct MessageTests {
    private let folder = TemporaryFolder()

    /// The escape character, and the control sequence introducer as one character.
    private static let red = "\u{1b}[31mred\u{9b}0m"
    private static let escapedRed = "\\u{1b}[31mred\\u{9b}0m"

    @Test(
        "A misspelt command gets a suggestion and status 2",
        arguments: [
            (["verfiy"], "unknown command \"verfiy\": did you mean \"verify\"?"),
            (["hlep"], "did you mean \"help\"?"), (["help", "verfiy"], "did you mean \"verify\"?"),
            (["help", "foo"], "unknown command \"foo\": write one of verify, "),
            (["mint", "transation"], "did you mean \"transaction\"?"),
            (["help", "mint", "recipt"], "did you mean \"receipt\"?"),
            (["help", "version", "foo"], "\"version\" has no subcommands"),
        ] as [([String], String)])
    func commands(arguments: [String], message: String) throws {
        let answer = try Tool.run(arguments)
        #expect(answer.status == 2 && answer.output.isEmpty)
        #expect(answer.error.hasPrefix(Tool.prefix(of: arguments)), "\(answer.error)")
        #expect(answer.error.contains(message), "\(answer.error)")
    }

    @Test(
        "help lists the existing commands",
        arguments: [["help"], ["help", "mint"], ["help", "mint", "ca"], [], ["mint", "--help"]])
    func help(arguments: [String]) throws {
        let answer = try Tool.run(arguments)
        #expect(answer.status == 0 && answer.error.isEmpty)
        #expect(answer.output.contains("EXAMPLES"))
    }

    @Test(
        "A misspelt value gets a suggestion and status 2",
        arguments: [
            (["verify", "--kind", "transaktion", "x"], "\"transaction\""),
            (["verify", "--kind", "Notification", "x"], "\"notification\""),
            (
                ["verify", "--kind", "transaction", "--environment", "production", "x"],
                "\"Production\""
            ),
            (["verify", "--kind", "transaction", "--format", "jsno", "x"], "\"json\""),
            (["mint", "transaction", "--ca", "ca", "--environment", "sandbox"], "\"Sandbox\""),
            (["mint", "receipt", "--ca", "ca", "--base64", "lnie"], "\"line\""),
            (["load", "unix:/x", "--ca", "ca", "--mix", "transaktion=1"], "\"transaction\""),
            (["load", "unix:/x", "--file", "transaktion=x"], "\"transaction\""),
            (["load", "unix:/x", "--ca", "ca", "--arrivals", "poison"], "\"poisson\""),
        ] as [([String], String)])
    func values(arguments: [String], meant: String) throws {
        let answer = try Tool.run(arguments)
        #expect(answer.status == 2 && answer.output.isEmpty)
        #expect(answer.error.hasPrefix(Tool.prefix(of: arguments)), "\(answer.error)")
        #expect(answer.error.contains("did you mean \(meant)?"), "\(answer.error)")
    }

    // MARK: Timeouts

    @Test("health ends before a container probe times out; --timeout is respected")
    func timeouts() throws {
        // Leaves 250 ms for the client itself and 200 ms for the start of the process.
        let probe = Duration.seconds(1) - .milliseconds(250) - .milliseconds(200)
        let health = try HealthCommand.parse(["unix:/x"])
        #expect(health.answerTimeout < probe && health.answerTimeout > .milliseconds(250))
        let slow = try HealthCommand.parse(["unix:/x", "--timeout", "2.5"])
        #expect(slow.answerTimeout == .milliseconds(2500))
        let arguments = ["--kind", "transaction", "--server", "unix:/x", "x"]
        #expect(try VerifyCommand.parse(arguments).remote.answerTimeout == .seconds(5))
        let quick = try VerifyCommand.parse(arguments + ["--timeout", "0.25"])
        #expect(quick.remote.answerTimeout == .milliseconds(250))
        for text in ["0", "-1", "31", "nan", "inf", "1e300", "soon"] {
            let answer = try Tool.run("health", "unix:/x", "--timeout=\(text)")
            #expect(answer.status == 2 && answer.error.contains("write seconds"), "\(text)")
        }
        let local = try Tool.run("verify", "--kind", "transaction", "--timeout", "1", "x")
        #expect(local.status == 2 && local.error.contains("add --server"))
    }

    @Test("a server that does not answer causes a timeout")
    func silentServer() throws {
        let server = try ScriptedServer(at: folder("silent"), answer: [])
        defer { server.stop() }
        let health = try Tool.run("health", server.address)
        #expect(health.status == 2 && health.error.hasPrefix("assay: unix:"))
        let token = folder.write("token", "a.b.c")
        let verify = try Tool.run(
            "verify", "--kind", "transaction", "--server", server.address, "--timeout", "0.2",
            token)
        #expect(verify.status == 2 && verify.output.isEmpty)
    }

    // MARK: Escapes

    @Test("line 89: text from a server, a file name or an address is escaped")
    func escapes() throws {
        // ResponseHead: id 1, status RESOURCE_EXHAUSTED, message.
        let message = Array((Self.red + "\nassay: done").utf8)
        let refusal: [UInt8] = [8, 1, 16, 8, 26, UInt8(message.count)] + message
        let refusing = try ScriptedServer(at: folder("refusing"), answer: refusal)
        defer { refusing.stop() }
        let token = folder.write("token", "a.b.c")
        let missing = folder(Self.red)
        for arguments in [
            ["verify", "--kind", "transaction", "--server", refusing.address, token],
            ["verify", "--kind", "transaction", missing],
            ["verify", "--kind", "transaction", "--root", missing, token],
            ["verify", "--kind", Self.red, token], ["health", "unix:" + missing],
            ["health", Self.red], [Self.red], ["serve", "--config", missing],
        ] {
            let answer = try Tool.run(arguments)
            #expect(answer.status == 2, "\(arguments)")
            #expect(answer.error.contains(Self.escapedRed), "\(arguments): \(answer.error)")
            #expect(!Self.hasControls(answer.error + answer.output), "\(arguments)")
            #expect(!answer.error.contains("\nassay: done"))
        }
    }

    @Test("line 89: a verdict's detail is escaped in every format, and the same in JSON")
    func escapedDetail() throws {
        // ResponseHead: id 1, status OK, verification of MALFORMED and a detail.
        let detail = Array((Self.red + "\n").utf8)
        let verification: [UInt8] = [8, 2, 18, UInt8(detail.count)] + detail
        let head: [UInt8] = [8, 1, 16, 0, 42, UInt8(verification.count)] + verification
        let server = try ScriptedServer(at: folder("server"), answer: head)
        defer { server.stop() }
        let token = folder.write("token", "a.b.c")
        let options = ["verify", "--kind", "transaction", "--server", server.address, token]
        let json = try Tool.run(options)
        #expect(json.status == 1 && !Self.hasControls(json.output))
        #expect(try json.json["detail"] as? String == Self.red + "\n")
        let text = try Tool.run(options + ["--format", "text"])
        #expect(text.status == 1 && !Self.hasControls(text.output))
        #expect(text.output.hasPrefix("MALFORMED: \(Self.escapedRed)\\u{a}\n"), "\(text.output)")
    }

    private static func hasControls(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control }
    }

    @Test("escaped text shows the original characters; plain text is unchanged")
    func terminalText() {
        for text in ["", "plain", "Grüße, 購入 🎮", "a\u{300}"] {
            #expect(TerminalText.escaped(text) == text)
        }
        #expect(TerminalText.escaped("a\nb\r\u{7f}") == "a\\u{a}b\\u{d}\\u{7f}")
        #expect(TerminalText.escaped("a\nb\r", keepsLines: true) == "a\nb\\u{d}")
        // Changes of direction, separators, marks without a width, and controls.
        let acting: [ClosedRange<UInt32>] = [
            0...9, 0xB...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x200B...0x200F,
            0x2028...0x202E, 0x2060...0x2064, 0x2066...0x206F, 0xFEFF...0xFEFF,
            0xE0001...0xE0001, 0xE0020...0xE007F,
        ]
        for value in acting.joined() {
            let scalar = Unicode.Scalar(value)!
            let escaped = "\\u{" + String(value, radix: 16) + "}"
            #expect(TerminalText.escaped("a\(scalar)b") == "a\(escaped)b")
            #expect(TerminalText.escaped("a\(scalar)b", keepsLines: true) == "a\(escaped)b")
        }
    }

    // MARK: Failures leave nothing behind

    @Test("a failed mint ca leaves no incomplete authority")
    func noHalfAuthority() throws {
        let there = folder("there")
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let whole = folder("whole")
        #expect(try Tool.run("mint", "ca", whole).status == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: whole).sorted()
        #expect(names.count == 12)
        // Each of the files in turn exists already.
        for name in names {
            folder.write("there/" + name, "mine")
            let answer = try Tool.run("mint", "ca", there)
            #expect(answer.status == 2 && answer.error.contains("already exists"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: there) == [name])
            #expect(try String(contentsOfFile: there + "/" + name, encoding: .utf8) == "mine")
            try FileManager.default.removeItem(atPath: there + "/" + name)
        }
        #expect(try Tool.run("mint", "ca", there).status == 0)
    }

    @Test(
        "mint ca on a full disk leaves no incomplete authority", .enabled(if: Namespace.isAllowed))
    func fullDisk() throws {
        let disk = folder("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
        // Space for the folder and three files, one page each.
        let script = """
            mount -t tmpfs -o size=16k none "$1" || exit 99
            "$0" mint ca "$1/ca" && exit 98
            find "$1" -mindepth 1
            """
        let answer = try Namespace.run(script, Tool.path, disk)
        #expect(answer.status == 0 && answer.output.isEmpty, "\(answer)")
        #expect(answer.error.contains("ENOSPC"), "\(answer.error)")
    }

    // MARK: Without /proc

    @Test("line 90: a process that can't read its arguments ends with an error")
    func noArguments() async {
        await #expect(processExitsWith: .exitCode(2)) { AssayTool.requireArguments([]) }
        await #expect(processExitsWith: .success) { AssayTool.requireArguments(["assay"]) }
    }

    @Test("line 90: without /proc", .enabled(if: Namespace.isAllowed))
    func noProc() throws {
        // Repeats the commands, because an early exit can happen at any moment.
        let commands = ["version", "serve --listen tcp://127.0.0.1:0", "verify x"]
        for arguments in Array(repeating: commands, count: 8).joined() {
            let answer = try Namespace.run(
                "mount -t tmpfs none /proc || exit 99; exec \"$0\" \(arguments)", Tool.path)
            #expect(answer.status == 2 && answer.output.isEmpty, "\(arguments): \(answer)")
            #expect(answer.error == "assay: can't read the arguments: mount /proc\n")
        }
    }
}

/// Runs commands in their own mount namespace.
enum Namespace {
    /// Requires root, or a system that lets users create namespaces.
    static let isAllowed =
        (try? run("mount -t tmpfs none /mnt"))?.status == 0

    static func run(_ script: String, _ arguments: String...) throws -> Tool.Result {
        try Tool.run(
            program: "/usr/bin/unshare",
            ["--mount", "--map-root-user", "/bin/sh", "-c", script] + arguments)
    }
}
