import Glibc

extension Timestamp {
    /// The current time by the machine's clock.
    public static var now: Timestamp {
        var time = timespec()
        // Fails only for an unknown clock.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
