/// The version of this package. Library, server and tool are released together.
public enum AssayVersion {
    public static let current = "0.1.0"
}
