import CLibuv

/// The machine's clocks.
package enum SystemClock {
    /// Nanoseconds since an arbitrary moment in the past; never steps back.
    package static var monotonicNanoseconds: UInt64 { uv_hrtime() }

    /// Milliseconds since 1970-01-01T00:00:00Z by the machine's clock.
    package static var wallMilliseconds: Int64 {
        var time = uv_timeval64_t()
        // Fails only for a null pointer.
        unsafe uv_gettimeofday(&time)
        return time.tv_sec * 1000 + Int64(time.tv_usec) / 1000
    }

    /// The number of threads that the process can run at once: the processors of the machine or of
    /// the CPU set, and no more than a quota of processor time keeps busy, rounded up.
    package static var availableParallelism: Int {
        parallelism(of: Int(uv_available_parallelism()), quota: ProcessorQuota.processors())
    }

    package static func parallelism(of processors: Int, quota: Double?) -> Int {
        guard let quota, quota < Double(processors) else { return processors }
        return max(Int(quota.rounded(.up)), 1)
    }
}
