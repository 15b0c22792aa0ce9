import Foundation

/// A temporary folder, removed with the object.
package final class ScratchFolder: Sendable {
    package let path: String

    package init() throws {
        let all = FileManager.default.temporaryDirectory
        let url = all.appendingPathComponent("assay-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Writes a file; replaces an existing one.
    package func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: self(name)))
    }
}
