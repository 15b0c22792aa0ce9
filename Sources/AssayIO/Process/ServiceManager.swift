import CLibuv
import Glibc

/// The service manager that started this process, by systemd's sd_notify protocol: a datagram
/// socket that takes lines such as `READY=1`.
package struct ServiceManager: Sendable {
    /// A path, or `@` and an abstract name.
    private let socket: String
    /// The interval for `WATCHDOG=1`; nil if the manager has no watchdog for this process.
    package let watchdogMilliseconds: UInt64?

    /// Returns nil unless `NOTIFY_SOCKET` names a socket.
    package init?(environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"], let first = socket.utf8.first,
            first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
            socket.utf8.count <= Endpoint.pathLimit
        else { return nil }
        self.socket = socket
        let isMine = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = isMine ? environment["WATCHDOG_USEC"].flatMap { UInt64($0) } : nil
        // Half of the manager's timeout, as sd_watchdog_enabled(3) recommends.
        watchdogMilliseconds = microseconds.map { max($0 / 2000, 1) }
    }

    package func notifyReady() { send("READY=1") }

    /// Call `notifyReady` after the reload.
    package func notifyReloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(SystemClock.monotonicNanoseconds / 1000)")
    }

    package func notifyStopping() { send("STOPPING=1") }
    package func notifyWatchdog() { send("WATCHDOG=1") }

    /// Sends the lines. Never blocks if the manager does not read.
    private func send(_ lines: String) {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return }
        defer { _ = Glibc.close(descriptor) }
        let bytes = Array(lines.utf8)
        _ = unsafe UnixSocket.withAddress(socket) { address, length in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe sendto(
                    descriptor, bytes.baseAddress!, bytes.count,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), address, length)
            }
        }
    }
}

/// A listening socket that was passed to the process by systemd's socket activation. It belongs
/// to the service manager: the socket and its queued connections outlive this process.
public struct InheritedSocket: Hashable, Sendable {
    /// The manager's name for the socket; by default the name of its unit.
    public let name: String
    package let descriptor: Int32
    let isUnix: Bool

    /// The first passed descriptor, SD_LISTEN_FDS_START.
    private static let first: Int32 = 3

    /// Returns the sockets passed to this process; none if they are meant for another.
    public static func passed(
        environment: [String: String]
    ) throws(InheritedSocketError) -> [InheritedSocket] {
        guard let process = environment["LISTEN_PID"], process == "\(getpid())",
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0
        else { return [] }
        let names = (environment["LISTEN_FDNAMES"] ?? "")
            .split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
        var sockets: [InheritedSocket] = []
        for index in 0..<count {
            let name = Int(index) < names.count ? names[Int(index)] : ""
            sockets.append(try InheritedSocket(first + index, name: name))
        }
        return sockets
    }

    init(_ descriptor: Int32, name: String) throws(InheritedSocketError) {
        let family = Self.option(SO_DOMAIN, of: descriptor)
        let isStream = Self.option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue)
        guard isStream, Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
            family == AF_UNIX || family == AF_INET || family == AF_INET6
        else { throw .notListening(descriptor, name: name) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.name = name
        self.descriptor = descriptor
        isUnix = family == AF_UNIX
    }

    private static func option(_ option: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &length)
        return code == 0 ? value : nil
    }
}

/// Why a passed descriptor can't be served.
public struct InheritedSocketError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// The descriptor is not a listening stream socket (a unit with `Accept=yes`, or a datagram
        /// socket).
        public static let notListening = Reason("notListening")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String

    private init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

extension InheritedSocketError: CustomStringConvertible {
    public var description: String { message }
}

extension InheritedSocketError {
    static func notListening(_ descriptor: Int32, name: String) -> Self {
        Self(
            .notListening,
            "the inherited descriptor \(descriptor) (\"\(name)\") is not a listening stream "
                + "socket: its unit needs ListenStream and Accept=no")
    }
}
