import Foundation

/// Test data outside of this repository: `../shared/vectors` beside the package.
///
/// `Vectors.has` enables a test that needs the data, which is otherwise reported as skipped.
public enum Vectors {
    /// The folder of the package.
    public static let packageRoot: String = {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { url.deleteLastPathComponent() }
        return url.path
    }()

    /// Whether all these folders below `../shared/vectors` contain files.
    public static func has(_ folders: String...) -> Bool {
        folders.allSatisfy { !files(in: $0).isEmpty }
    }

    /// Whether a folder below `../shared/cases` has files with this ending.
    public static func has(cases folder: String, suffix: String) -> Bool {
        !cases(folder, suffix: suffix).isEmpty
    }

    /// The sorted paths of files below a folder of `../shared/cases`, small inputs from public
    /// reports; empty if it does not exist.
    public static func cases(_ folder: String, suffix: String) -> [String] {
        let folder = packageRoot + "/../shared/cases/" + folder
        let found = try? FileManager.default.subpathsOfDirectory(atPath: folder)
        return (found ?? []).filter { $0.hasSuffix(suffix) }.sorted().map { folder + "/" + $0 }
    }

    /// The path of a folder below `../shared/vectors`, such as `apple-lib/models`; nil if it
    /// does not exist.
    public static func folder(_ name: String) -> String? {
        let path = vectors(name).path
        let content = try? FileManager.default.contentsOfDirectory(atPath: path)
        return content == nil ? nil : path
    }

    /// The sorted names of the files in a folder below `../shared/vectors`; empty if it does not
    /// exist.
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

    /// Prints the number of cases. Throws for zero cases, since the test has checked nothing.
    public static func report(_ name: String, _ count: Int) throws {
        guard count > 0 else { throw NothingChecked(name: name) }
        print("vectors: \(name): \(count) cases")
    }

    public struct NothingChecked: Error { let name: String }

    /// `ASSAY_VECTORS` sets another folder, such as a missing one.
    private static let root: URL = {
        if let path = ProcessInfo.processInfo.environment["ASSAY_VECTORS"] {
            return URL(fileURLWithPath: path)
        }
        return URL(fileURLWithPath: packageRoot).deletingLastPathComponent()
            .appendingPathComponent("shared/vectors")
    }()

    private static func vectors(_ name: String) -> URL { root.appendingPathComponent(name) }
}
