import CLibuv
import Glibc

/// The process's file descriptors.
package enum Descriptors {
    /// How many it can have open at once.
    package static var limit: Int {
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0 else { return .max }
        return Int(clamping: limits.rlim_cur)
    }

    /// Raises the limit to the most that the system allows without asking anybody.
    package static func raiseLimit() {
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0 else { return }
        limits.rlim_cur = limits.rlim_max
        _ = unsafe setrlimit(resource, &limits)
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}

extension Stream {
    /// The number of its descriptor. The system gives the lowest that is free: so all below it were
    /// in use when it was opened.
    package var descriptorNumber: Int {
        var number: Int32 = -1
        _ = unsafe uv_fileno(memory, &number)
        return Int(number)
    }

    /// Whether its peer writes no more, or has gone, and there is nothing left to read: what a
    /// stream that is read from is told.
    package var hasPeerLeft: Bool {
        var byte: UInt8 = 0
        let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
        let count = unsafe recv(Int32(descriptorNumber), &byte, 1, flags)
        return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    }
}
