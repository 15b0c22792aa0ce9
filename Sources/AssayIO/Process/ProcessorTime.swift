import CLibuv
import Glibc

/// Processor time used so far by processes and threads, in nanoseconds.
package enum ProcessorTime {
    /// User and system time of this process.
    package static var own: UInt64 {
        var usage = uv_rusage_t()
        // Fails only for a null pointer.
        unsafe uv_getrusage(&usage)
        let microseconds =
            (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
            + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return UInt64(microseconds) * 1000
    }

    /// User and system time of the calling thread.
    package static var ofThread: UInt64 {
        var time = timespec()
        // Fails only for a clock that the system does not have.
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// User and system time of another process, to a hundredth of a second; nil if there is no
    /// such process.
    package static func of(process: Int32) -> UInt64? {
        // utime and stime are fields 14 and 15; the array begins with field 3.
        guard let fields = ProcessFacts.stat(of: "\(process)"), fields.count > 12,
            let user = UInt64(fields[11]), let system = UInt64(fields[12])
        else { return nil }
        return (user + system) * 1_000_000_000 / UInt64(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resident memory of a process in bytes; nil if there is no such process.
    package static func residentBytes(of process: Int32) -> Int? {
        guard let statm = try? SystemFile.read("/proc/\(process)/statm", limit: 4096) else {
            return nil
        }
        let fields = String(decoding: statm, as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
