import Foundation

/// Test data that is not part of this repository: `../shared/vectors` beside the package.
///
/// A test that needs it is enabled by `Vectors.has`, and so reported as skipped without it.
public enum Vectors {
    /// The folder of the package.
    public static let packageRoot: String = {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { url.deleteLastPathComponent() }
        return url.path
    }()

    /// Whether all these folders below `../shared/vectors` have something in them.
    public static func has(_ folders: String...) -> Bool {
        folders.allSatisfy { !files(in: $0).isEmpty }
    }

    /// The path of a folder below `../shared/vectors`, such as `apple-lib/models`; nil without it.
    public static func folder(_ name: String) -> String? {
        let path = vectors(name).path
        let content = try? FileManager.default.contentsOfDirectory(atPath: path)
        return content == nil ? nil : path
    }

    /// The names of the files in a folder below `../shared/vectors`, sorted; none without it.
    public static func files(in name: String, suffix: String = "") -> [String] {
        guard let path = folder(name),
            let files = try? FileManager.default.contentsOfDirectory(atPath: path)
        else { return [] }
        return files.filter { $0.hasSuffix(suffix) }.sorted()
    }

    /// The content of a file: an absolute path, or one below `../shared/vectors`.
    public static func bytes(_ path: String) -> [UInt8]? {
        let url = path.hasPrefix("/") ? URL(fileURLWithPath: path) : vectors(path)
        return (try? Data(contentsOf: url)).map { [UInt8]($0) }
    }

    /// Prints how many cases ran. A test that found none has checked nothing, and fails.
    public static func report(_ name: String, _ count: Int) throws {
        guard count > 0 else { throw NothingChecked(name: name) }
        print("vectors: \(name): \(count) cases")
    }

    public struct NothingChecked: Error { let name: String }

    /// `ASSAY_VECTORS` names another folder, such as one that is missing.
    private static let root: URL = {
        if let path = ProcessInfo.processInfo.environment["ASSAY_VECTORS"] {
            return URL(fileURLWithPath: path)
        }
        return URL(fileURLWithPath: packageRoot).deletingLastPathComponent()
            .appendingPathComponent("shared/vectors")
    }()

    private static func vectors(_ name: String) -> URL { root.appendingPathComponent(name) }
}
