import Glibc

/// Counts the locks that each thread takes, in debug builds alone: for tests of the paths that take
/// none.
package enum LockCount {
    /// The number is in the place of a pointer, which nobody follows.
    private static let key: pthread_key_t = {
        var key: pthread_key_t = 0
        let code = unsafe pthread_key_create(&key, nil)
        precondition(code == 0, "pthread_key_create failed")
        return key
    }()

    /// Locks that the calling thread has taken; 0 in release builds.
    package static var ofThisThread: Int { unsafe Int(bitPattern: pthread_getspecific(key)) }

    @usableFromInline
    static func didLock() {
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: ofThisThread + 1))
    }
}
