import AssayIO
import Glibc

/// Whether this process, and so the tool beside it, was built with one.
package enum Sanitizer {
    /// Their shadow memory takes terabytes of addresses; nothing else here takes a hundredth.
    package static let isOn = AddressSpace.bytes(of: getpid()) ?? 0 > 1 << 40
}

/// Addresses that a process uses, or keeps for itself.
package enum AddressSpace {
    /// Nil where there is no such process.
    package static func bytes(of process: Int32) -> Int? { pages(of: process, 0) }

    /// Those of them that are in memory.
    package static func residentBytes(of process: Int32) -> Int? { pages(of: process, 1) }

    private static func pages(of process: Int32, _ field: Int) -> Int? {
        guard let statm = try? SystemFile.read("/proc/\(process)/statm", limit: 4096) else {
            return nil
        }
        let fields = String(decoding: statm, as: UTF8.self).split(separator: " ")
        guard field < fields.count, let count = Int(fields[field]) else { return nil }
        return count * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Leaves the process so many, as `ulimit -v` does at a start.
    package static func limit(_ process: Int32, to bytes: Int) throws {
        // Declared for GNU's dialect of C alone.
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
