package import Glibc

/// A value that one thread at a time can use.
///
/// The lock is POSIX's mutex in every build. ThreadSanitizer understands it, so what is tested is
/// what is shipped. It does not understand `Synchronization.Mutex`: on Linux the kernel hands that
/// one over when threads contend for it, and ThreadSanitizer reports races where there are none.
@safe
package final class Locked<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Outside of the object: the mutex guards it, so Swift need not check each access again.
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ value: Value) {
        unsafe mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe self.value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe self.value.initialize(to: value)
        let code = unsafe pthread_mutex_init(mutex, nil)
        precondition(code == 0, "a default mutex needs no resource that can be exhausted")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
    }

    /// Waits for the lock, runs the body with the value, and unlocks.
    @inlinable
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value.pointee)
    }
}
