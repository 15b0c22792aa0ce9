import AssayCommandLine
import Foundation
import TestSupport
import Testing

@testable import AssayCommand

/// `assay` runs `assay-dev`, and has none of its code.
@Suite("assay runs assay-dev")
struct DevelopmentToolTests {
    /// `assay` without its neighbours.
    private let alone = TemporaryFolder()
    private let elsewhere = TemporaryFolder()
    private let assay: String

    init() throws {
        assay = alone("assay")
        try FileManager.default.copyItem(atPath: Tool.path, toPath: assay)
    }

    /// Writes a script in the place of `assay-dev`.
    private static func replace(
        in folder: TemporaryFolder, _ script: String, mode: Int = 0o755
    ) throws {
        let path = folder.write("assay-dev", "#!/bin/sh\n" + script)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func run(
        _ arguments: String..., input: String = "", path: String = "/usr/bin:/bin"
    ) throws -> Tool.Result {
        try Tool.run(program: assay, arguments, input: input, environment: ["PATH": path])
    }

    // MARK: The program

    @Test("the program beside assay runs, with the same arguments and its own exit status")
    func beside() throws {
        try Self.replace(in: alone, "printf '<%s>' \"$@\"; echo trouble >&2; exit 7")
        try Self.replace(in: elsewhere, "exit 1")
        let words = ["", "a b", "--", "--help", "-h", "$x", "line\nline", "é", "*"]
        for command in DevelopmentCommand.allCases.map(\.rawValue) {
            for before in [[command], ["help", command], ["---completion", command]] {
                let answer = try Tool.run(
                    program: assay, before + words, environment: ["PATH": elsewhere.path])
                #expect(answer.status == 7 && answer.error == "trouble\n")
                #expect(answer.output == (before + words).map { "<\($0)>" }.joined())
            }
        }
    }

    @Test("an argument that is not UTF-8 arrives unchanged")
    func bytes() throws {
        try Self.replace(in: alone, "printf %s \"$2\" | od -An -tx1")
        let answer = try Tool.run(
            program: "/bin/sh", ["-c", "exec \"$0\" mint \"$(printf 'a\\377\\200')\"", assay],
            environment: ["PATH": "/usr/bin:/bin"])
        #expect(answer.output == " 61 ff 80\n", "\(answer)")
    }

    @Test("it is the same process, with its input and without blocked or ignored signals")
    func process() throws {
        try Self.replace(in: alone, "cat; grep -E '^Sig(Blk|Ign)' /proc/self/status; kill -TERM $$")
        let answer = try run("store", input: "input\n")
        let direct = try Tool.run(program: alone("assay-dev"), [], input: "input\n")
        #expect(answer.output == direct.output && direct.output.contains("SigIgn:"))
        #expect(answer.status == -SIGTERM && direct.status == -SIGTERM)
    }

    @Test("a symbolic link to assay finds the program beside the file itself")
    func link() throws {
        try Self.replace(in: alone, "echo found")
        let link = elsewhere("assay")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: assay)
        #expect(try Tool.run(program: link, ["mint", "ca"]).output == "found\n")
    }

    @Test("the PATH is searched next, and what can't run is passed over")
    func searched() throws {
        try FileManager.default.createDirectory(
            atPath: alone("assay-dev"), withIntermediateDirectories: false)
        try Self.replace(in: elsewhere, "echo found")
        #expect(try run("load", path: "/none::\(elsewhere.path):/bin").output == "found\n")
        try Self.replace(in: elsewhere, "echo found", mode: 0o644)
        #expect(try run("load", path: elsewhere.path).status == 2)
        #expect(DevelopmentTool.searchPath(":.:/a:b/c:/d/e:") == ["/a", "/d/e"])
        #expect(DevelopmentTool.searchPath(nil) == [])
    }

    @Test("a program that can't run is an error")
    func unusable() throws {
        let path = alone.write("assay-dev", "")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let answer = try run("mint", "ca")
        #expect(answer.status == 2 && answer.output.isEmpty)
        #expect(answer.error.hasPrefix("assay: can't run \(path): "), "\(answer.error)")
    }

    @Test(
        "without assay-dev the error says what has it, with status 2",
        arguments: [
            ["mint", "ca", "x"], ["store"], ["load", "--help"], ["help", "mint"], ["mint"],
        ])
    func missing(arguments: [String]) throws {
        let answer = try Tool.run(program: assay, arguments, environment: ["PATH": "/none"])
        #expect(answer.status == 2 && answer.output.isEmpty)
        let lines = answer.error.split(separator: "\n")
        let command = arguments.first { $0 != "help" } ?? ""
        try #require(lines.count == 2, "\(answer.error)")
        #expect(
            lines[0] == "assay: \"\(command)\" is a command of assay-dev, which is neither in "
                + "\(alone.path) nor on the PATH")
        for words in [
            "assay: get assay-dev", "Debian package assay-dev", "bin/assay-dev of the tarball",
            "ASSAY_IMAGE_DEV=1", "swift build --product assay-dev", "docs/install.md",
        ] {
            #expect(lines[1].contains(words), "\(lines[1])")
        }
    }

    // MARK: Help

    @Test("the help of assay lists its commands; the help of a command is that of assay-dev")
    func help() throws {
        // The help breaks its lines.
        let list = try run("--help").output.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        for command in DevelopmentCommand.allCases {
            let words = "\(command.rawValue) \(command.abstract.dropLast()) (assay-dev)."
            #expect(list.contains(words), "\(list)")
        }
        let own = try Tool.run(program: Tool.path + "-dev", ["mint", "scenario", "--help"])
        #expect(own.status == 0 && own.output.contains("EXAMPLES"))
        #expect(try Tool.run("mint", "scenario", "--help").output == own.output)
        #expect(try Tool.run("help", "mint", "scenario").output == own.output)
    }

    @Test("other arguments are those of assay")
    func others() {
        for arguments in [
            [], ["help"], ["mints"], ["verify", "mint"], ["--help", "mint"], ["Mint"],
            ["help", "help", "mint"], ["--", "mint"], ["assay-dev", "mint"],
        ] {
            #expect(DevelopmentTool.command(of: arguments) == nil, "\(arguments)")
        }
    }

    // MARK: The executable

    @Test("assay is linked without the authority, the App Store and the load generator")
    func parts() throws {
        let modules = [
            "$s9AssayMint", "$s15AssayLocalStore", "$s9AssayLoad", "$s15AssayDevCommand",
        ]
        let own = try Data(contentsOf: URL(fileURLWithPath: Tool.path), options: .alwaysMapped)
        let other = try Data(
            contentsOf: URL(fileURLWithPath: Tool.path + "-dev"), options: .alwaysMapped)
        for module in modules {
            #expect(own.range(of: Data(module.utf8)) == nil, "\(module)")
            #expect(other.range(of: Data(module.utf8)) != nil, "\(module)")
        }
        // The search finds what is there.
        #expect(own.range(of: Data("$s11AssayServer".utf8)) != nil)
        #expect(other.range(of: Data("$s11AssayServer".utf8)) == nil)
    }
}
