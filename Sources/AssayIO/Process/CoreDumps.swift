import Glibc

/// Core dumps, which contain all memory of a process.
package enum CoreDumps {
    /// Lets this process leave no core dump, for a process that has a private key in its memory.
    /// It can't be undone.
    ///
    /// A limit of one byte, and not of none: Linux also stops a dump to a program, such as
    /// systemd-coredump, for one byte alone.
    package static func forbid() {
        var limits = rlimit(rlim_cur: 1, rlim_max: 1)
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        if unsafe setrlimit(resource, &limits) == 0 { return }
        // A hard limit of 0 can't be raised, and suffices for files.
        limits = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(resource, &limits)
    }
}
