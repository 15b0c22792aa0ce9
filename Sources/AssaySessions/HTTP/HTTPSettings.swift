/// The settings of the HTTP listeners.
public struct HTTPSettings: Equatable, Sendable {
    /// The origins whose pages can use the listeners, such as `https://tools.example.com`. Requests
    /// of other pages are refused.
    public var allowedOrigins: Set<String> = []
    /// The names in `Host` that are served. Empty: any name, but at a loopback address only
    /// `localhost` and loopback addresses, so that no page can reach it under a name of its own.
    public var hosts: Set<String> = []

    /// Creates the default settings.
    public init() {}
}
