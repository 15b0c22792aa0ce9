import Foundation

/// Test data that is not part of this repository: `../shared/vectors` beside the package.
///
/// Used where it is present; every test means something without it.
public enum Vectors {
    /// The folder of the package.
    public static let packageRoot: String = {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { url.deleteLastPathComponent() }
        return url.path
    }()

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

    /// Says how many cases ran, so that a log shows whether the data was there.
    public static func report(_ name: String, _ count: Int) {
        print("vectors: \(name): \(count == 0 ? "not present" : "\(count) cases")")
    }

    private static func vectors(_ name: String) -> URL {
        URL(fileURLWithPath: packageRoot).deletingLastPathComponent()
            .appendingPathComponent("shared/vectors").appendingPathComponent(name)
    }
}
