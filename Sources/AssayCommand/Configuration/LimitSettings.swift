import AssayServer

/// The limits that an operator may change; the others are the server's own.
struct LimitSettings {
    var server = ServerLimits()

    /// An hour is longer than anything that sends clients needs to notice.
    static let drainDelay = 0...3600

    init() {}

    /// Reads `[limits]`; what is wrong with it is noted in the table.
    init(_ table: ConfigurationTable?) {
        guard let table else { return }
        if let number = table.int("connections", in: 1...1_000_000) {
            server.connections = number
        }
        if let number = table.int("requests-in-flight", in: 1...65_536) {
            server.requestsInFlight = number
        }
        if let number = table.int("frame-bytes", in: 512 << 10...1 << 30) {
            server.frameBytes = number
        }
        if let number = table.int("evidence-bytes", in: 1 << 20...1 << 40) {
            server.evidenceBytes = number
        }
        if let number = table.int("idle-seconds", in: 1...86_400) {
            server.idleMilliseconds = UInt64(number) * 1000
        }
        if let number = table.int("handshake-seconds", in: 1...300) {
            server.handshakeMilliseconds = UInt64(number) * 1000
        }
        if let number = table.int("timeout-ms", in: 1...30_000) {
            server.defaultTimeoutMilliseconds = UInt32(number)
        }
        if let number = table.int("drain-delay-seconds", in: Self.drainDelay) {
            server.drainDelayMilliseconds = UInt64(number) * 1000
        }
        if let number = table.int("drain-seconds", in: 1...3600) {
            server.drainMilliseconds = UInt64(number) * 1000
        }
        table.finish()
    }
}
