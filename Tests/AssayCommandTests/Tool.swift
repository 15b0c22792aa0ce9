import Foundation
import TestSupport
import Testing

/// The built `assay`, run as its users run it.
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

    /// Beside the test runner, where the package manager puts it.
    static let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("assay").path

    static func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) throws -> Result {
        try run(arguments, input: input, environment: environment)
    }

    static func run(
        _ arguments: [String], input: String = "", environment: [String: String] = [:]
    ) throws -> Result {
        let folder = TemporaryFolder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = environment
        // Files instead of pipes: nothing to drain while the tool runs.
        process.standardInput = try FileHandle(
            forReadingFrom: URL(fileURLWithPath: folder.write("in", input)))
        let (output, error) = (folder.write("out", ""), folder.write("err", ""))
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: error))
        try process.run()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus,
            output: try String(contentsOfFile: output, encoding: .utf8),
            error: try String(contentsOfFile: error, encoding: .utf8))
    }
}

/// A folder that is gone with its owner.
final class TemporaryFolder {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "assay-" + UUID().uuidString
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a name in the folder.
    func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Writes a file; its path.
    @discardableResult
    func write(_ name: String, _ content: String) -> String {
        _ = FileManager.default.createFile(atPath: self(name), contents: Data(content.utf8))
        return self(name)
    }
}
