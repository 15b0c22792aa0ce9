package import Glibc

/// A value protected by a mutex.
///
/// Every build uses the POSIX mutex, so the tested lock is the shipped one. ThreadSanitizer
/// understands it. It does not understand `Synchronization.Mutex`: on Linux the kernel hands that
/// mutex over when threads contend for it, and ThreadSanitizer reports false races.
@safe
package final class Locked<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Stored outside of the object: the mutex guards it, so Swift need not check the exclusivity
    /// of each access.
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ value: Value) {
        unsafe mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe self.value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe self.value.initialize(to: value)
        let code = unsafe pthread_mutex_init(mutex, nil)
        precondition(code == 0, "pthread_mutex_init failed")
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
        #if DEBUG
            LockCount.didLock()
        #endif
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value.pointee)
    }
}
