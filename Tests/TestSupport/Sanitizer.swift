import AssayIO
import Glibc

/// Detects whether this process, and so the tool beside it, was built with a sanitizer.
package enum Sanitizer {
    /// A sanitizer's shadow memory takes terabytes of address space; other code takes less than
    /// a hundredth of that.
    package static let isOn = AddressSpace.bytes(of: getpid()) ?? 0 > 1 << 40
}

/// The address space of a process.
package enum AddressSpace {
    /// The size of the address space in bytes; nil if there is no such process.
    package static func bytes(of process: Int32) -> Int? { pages(of: process, 0) }

    /// The resident part of the address space in bytes.
    package static func residentBytes(of process: Int32) -> Int? { pages(of: process, 1) }

    private static func pages(of process: Int32, _ field: Int) -> Int? {
        guard let statm = try? SystemFile.read("/proc/\(process)/statm", limit: 4096) else {
            return nil
        }
        let fields = String(decoding: statm, as: UTF8.self).split(separator: " ")
        guard field < fields.count, let count = Int(fields[field]) else { return nil }
        return count * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Limits the address space of a process, as `ulimit -v` does at its start.
    package static func limit(_ process: Int32, to bytes: Int) throws {
        // The C headers declare this function for GNU C only.
        typealias Call =
            @convention(c) (
                pid_t, Int32, UnsafePointer<rlimit>?, UnsafeMutablePointer<rlimit>?
            ) -> Int32
        let symbol = unsafe dlsym(nil, "prlimit")
        let call = unsafe unsafeBitCast(symbol, to: Call.self)
        var limits = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        let resource = Int32(bitPattern: RLIMIT_AS.rawValue)
        guard unsafe call(process, resource, &limits, nil) == 0 else {
            throw BlockingClient.Failure(what: "prlimit: errno \(errno)")
        }
    }
}
