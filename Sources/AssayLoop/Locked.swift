import CLibuv

/// A value that one thread at a time may touch.
///
/// The system's mutex, and not `Synchronization.Mutex`: on Linux that one is handed over by the
/// kernel when threads contend for it, which ThreadSanitizer can't see, so that it reports races
/// where there are none.
@safe
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<uv_mutex_t>
    private var value: Value

    package init(_ value: Value) {
        unsafe mutex = UnsafeMutablePointer<uv_mutex_t>.allocate(capacity: 1)
        self.value = value
        let code = unsafe uv_mutex_init(mutex)
        precondition(code == 0, "a mutex needs nothing that could be short")
    }

    deinit {
        unsafe uv_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        unsafe uv_mutex_lock(mutex)
        defer { unsafe uv_mutex_unlock(mutex) }
        return try body(&value)
    }
}
