/// The version of this package. Library, server and tool are released together.
public enum AssayVersion {
    /// The version, by Semantic Versioning.
    public static let current = "0.1.0"
}
