import AssayCommandLine
import AssayIO
import Foundation
import Glibc
import TestSupport
import Testing

/// Runs the built `assay` as its users do.
enum Tool {
    struct Result {
        let status: Int32
        let output: String
        let error: String

        /// The one JSON object that verify prints.
        var json: [String: Any] {
            get throws {
                let object = try JSONSerialization.jsonObject(with: Data(output.utf8))
                return try #require(object as? [String: Any])
            }
        }

        var verdict: String? { try? json["verdict"] as? String }
    }

    /// The tool is next to the test runner, where the package manager puts it.
    static let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("assay").path

    /// The beginning of the messages that these arguments cause: the name of the program that runs.
    static func prefix(of arguments: [String]) -> String {
        let word = arguments.first { $0 != "help" } ?? ""
        return DevelopmentCommand(rawValue: word) == nil ? "assay: " : "assay-dev: "
    }

    static func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) throws -> Result {
        try run(arguments, input: input, environment: environment)
    }

    static func run(
        program: String = path, _ arguments: [String], input: String = "",
        environment: [String: String] = [:]
    ) throws -> Result {
        let folder = TemporaryFolder()
        // Files, unlike pipes, need no draining while the tool runs.
        let (output, error) = (folder("out"), folder("err"))
        let process = try ChildProcess(
            program, arguments, environment: environment,
            input: .file(folder.write("in", input)), output: .file(output), error: .file(error))
        return Result(
            status: process.wait(),
            output: try String(contentsOfFile: output, encoding: .utf8),
            error: try String(contentsOfFile: error, encoding: .utf8))
    }
}

/// Development authorities for tests: `assay mint ca` takes most of a second, so the tests share
/// what it made.
enum MintedAuthority {
    private struct File: Sendable {
        let name: String
        let content: Data
        let permissions: Int
    }

    /// The files of the authority of each date; without a date, of now.
    private static let made = Locked<[String?: [File]]>([:])

    /// Writes an authority to the folder `ca` of a test.
    ///
    /// - Parameter date: the first day of its certificates, in the form of `--date`.
    static func write(to folder: TemporaryFolder, date: String? = nil) throws {
        let files = try made.withLock { made in
            let files = try made[date] ?? mint(date)
            made[date] = files
            return files
        }
        let manager = FileManager.default
        try manager.createDirectory(atPath: folder("ca"), withIntermediateDirectories: false)
        for file in files {
            try #require(
                manager.createFile(
                    atPath: folder("ca/" + file.name), contents: file.content,
                    attributes: [.posixPermissions: file.permissions]))
        }
    }

    private static func mint(_ date: String?) throws -> [File] {
        let folder = TemporaryFolder()
        let options = date.map { ["--date", $0] } ?? []
        let minted = try Tool.run(["mint", "ca", folder("ca")] + options)
        try #require(minted.status == 0, "\(minted.error)")
        let manager = FileManager.default
        return try manager.contentsOfDirectory(atPath: folder("ca")).map { name in
            let path = folder("ca/" + name)
            let permissions = try manager.attributesOfItem(atPath: path)[.posixPermissions]
            return File(
                name: name, content: try Data(contentsOf: URL(fileURLWithPath: path)),
                permissions: try #require(permissions as? Int))
        }
    }
}

/// A server that gives the same answer to every request.
final class ScriptedServer: Sendable {
    let address: String
    private let listener: Int32

    /// - Parameter answer: an encoded ResponseHead. If it is empty, the server never answers.
    init(at path: String, answer: [UInt8]) throws {
        address = "unix:" + path
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        listener = descriptor
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { bytes in
            for (index, byte) in path.utf8.enumerated() { unsafe bytes[index] = byte }
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let bound = unsafe withUnsafePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size)
            }
        }
        try #require(bound == 0 && listen(descriptor, 16) == 0)
        guard !answer.isEmpty else { return }
        var frame: [UInt8] = []
        for number in [4 + answer.count, answer.count] {
            frame += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }
        let bytes = frame + answer
        Thread.detachNewThread {
            while case let peer = accept(descriptor, nil, nil), peer >= 0 {
                var request = [UInt8](repeating: 0, count: 4096)
                _ = unsafe read(peer, &request, request.count)
                _ = unsafe write(peer, bytes, bytes.count)
                // Waits until the client has read the answer and closed.
                while unsafe read(peer, &request, request.count) > 0 {}
                close(peer)
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}

/// A temporary folder. It is removed with its owner.
final class TemporaryFolder {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "assay-" + UUID().uuidString
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Returns the path of a name in the folder.
    func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ name: String, _ content: String) -> String {
        _ = FileManager.default.createFile(atPath: self(name), contents: Data(content.utf8))
        return self(name)
    }
}
