import CLibuv
import Glibc

/// The process's file descriptors.
package enum Descriptors {
    /// The soft limit of open descriptors.
    package static var limit: Int {
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0 else { return .max }
        return Int(clamping: limits.rlim_cur)
    }

    /// Raises the soft limit to the hard limit.
    package static func raiseLimit() {
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0 else { return }
        limits.rlim_cur = limits.rlim_max
        _ = unsafe setrlimit(resource, &limits)
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
