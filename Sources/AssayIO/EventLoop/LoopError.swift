import CLibuv

/// Why an operation of a loop, stream or listener failed. Replaces libuv's error numbers.
package enum LoopError: Error, Hashable, Sendable {
    /// Another process listens on the address.
    case addressInUse
    /// The address belongs to no interface of this machine, or is not one to connect to.
    case addressNotAvailable
    /// The host is neither a numeric address nor a known name.
    case hostNotFound
    /// The system denied the operation.
    case permissionDenied
    /// The path of a Unix socket is longer than the system's 107 bytes.
    case pathTooLong
    /// No such file, folder or socket.
    case notFound
    /// The path of a Unix socket is another kind of file.
    case notASocket
    /// No process listens on the address.
    case connectionRefused
    /// The peer closed or reset the connection.
    case connectionReset
    /// The peer did not respond in time.
    case timedOut
    /// No route to the host.
    case unreachable
    /// Out of file descriptors.
    case tooManyOpenFiles
    /// Out of memory.
    case outOfMemory
    /// The service manager passed no socket of that name.
    case notPassed
    /// The handle was closed before the operation completed.
    case cancelled
    /// TLS could not start, or failed.
    case tls(TLSError)
    /// Any other error, by its name (`EPROTO`).
    case other(String)

    /// Creates the error for a libuv call's negative result.
    init(code: Int32) {
        self =
            Self.byCode[code]
            ?? .other(unsafe uv_err_name(code).map { name in unsafe String(cString: name) } ?? "?")
    }

    private static let byCode: [Int32: LoopError] = [
        UV_EADDRINUSE.rawValue: .addressInUse,
        UV_EADDRNOTAVAIL.rawValue: .addressNotAvailable,
        UV_EAI_NONAME.rawValue: .hostNotFound,
        UV_EAI_NODATA.rawValue: .hostNotFound,
        UV_EAI_AGAIN.rawValue: .hostNotFound,
        UV_EAI_FAIL.rawValue: .hostNotFound,
        UV_EACCES.rawValue: .permissionDenied,
        UV_EPERM.rawValue: .permissionDenied,
        UV_ENAMETOOLONG.rawValue: .pathTooLong,
        UV_ENOENT.rawValue: .notFound,
        UV_ENOTSOCK.rawValue: .notASocket,
        UV_ECONNREFUSED.rawValue: .connectionRefused,
        UV_ECONNRESET.rawValue: .connectionReset,
        UV_EPIPE.rawValue: .connectionReset,
        UV_ETIMEDOUT.rawValue: .timedOut,
        UV_EHOSTUNREACH.rawValue: .unreachable,
        UV_ENETUNREACH.rawValue: .unreachable,
        UV_EMFILE.rawValue: .tooManyOpenFiles,
        UV_ENFILE.rawValue: .tooManyOpenFiles,
        UV_ENOMEM.rawValue: .outOfMemory,
        UV_ENOBUFS.rawValue: .outOfMemory,
        UV_ECANCELED.rawValue: .cancelled,
    ]

    /// Throws if a libuv call failed.
    @inline(always)
    static func check(_ code: Int32) throws(LoopError) {
        if code < 0 { throw LoopError(code: code) }
    }
}

extension LoopError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .addressInUse: "the address is in use"
        case .addressNotAvailable: "the address is not available on this machine"
        case .hostNotFound: "the host is unknown"
        case .permissionDenied: "permission denied"
        case .pathTooLong: "the path of a Unix socket can have at most \(Endpoint.pathLimit) bytes"
        case .notFound: "no such file or folder"
        case .notASocket: "the file at this path is not a socket"
        case .connectionRefused: "connection refused"
        case .connectionReset: "the peer closed the connection"
        case .timedOut: "timed out"
        case .unreachable: "the host can't be reached"
        case .tooManyOpenFiles: "too many open files"
        case .outOfMemory: "out of memory"
        case .notPassed: "the service manager has passed no such socket"
        case .cancelled: "cancelled"
        case .tls(let error): error.description
        case .other(let name): "system error \(name)"
        }
    }
}
