import Foundation

/// The `openssl` command: a second implementation to check minted evidence with.
public struct OpenSSLTool {
    private let executable: URL
    /// The temporary folder of this value.
    private let folder: URL

    /// Returns nil and prints a note when the command is missing.
    public init?() throws {
        let candidates = ["/usr/bin/openssl", "/usr/local/bin/openssl"]
        guard let path = candidates.first(where: FileManager.default.isExecutableFile) else {
            print("note: no openssl command here, its second opinion is left out")
            return nil
        }
        executable = URL(fileURLWithPath: path)
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("assay-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Removes the folder.
    public func cleanUp() { try? FileManager.default.removeItem(at: folder) }

    /// Writes a file and returns its path.
    public func file(_ name: String, _ contents: [UInt8]) throws -> String {
        let url = folder.appendingPathComponent(name)
        try Data(contents).write(to: url)
        return url.path
    }

    /// Returns the content of a file that the command wrote.
    public static func contents(of path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Runs the command; returns its exit code and output.
    public func run(_ arguments: String...) throws -> (status: Int32, output: String) {
        let pipe = Pipe()
        let process = try ChildProcess(
            executable.path, arguments, output: .pipe(pipe), error: .pipe(pipe))
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        return (process.wait(), String(decoding: data, as: UTF8.self))
    }
}
