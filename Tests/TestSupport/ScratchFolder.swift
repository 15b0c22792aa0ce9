import Foundation

/// A folder of its own, below the system's for temporary files; gone with the object.
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

    /// Replaces what is there.
    package func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: self(name)))
    }
}
