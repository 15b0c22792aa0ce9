import CLibuv
import Glibc

/// A lock between processes: a file that exists while a process holds the lock.
struct FileLock {
    private let path: String
    private let descriptor: Int32

    /// The holder only binds a socket, which takes less than a millisecond.
    private static let attempts = 500
    private static let attemptMicroseconds: UInt32 = 10_000

    /// Acquires the lock. Waits up to five seconds.
    /// - Throws: `addressInUse` if another process keeps the lock.
    init(_ path: String) throws(LoopError) {
        for _ in 0..<Self.attempts {
            let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
            let descriptor = unsafe open(path, flags, 0o600)
            guard descriptor >= 0 else { throw LoopError(code: -errno) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isCurrent(descriptor, path) {
                self.path = path
                self.descriptor = descriptor
                return
            }
            _ = close(descriptor)
            usleep(Self.attemptMicroseconds)
        }
        throw .addressInUse
    }

    /// Whether the path still names the locked file: its last holder removes the file.
    private static func isCurrent(_ descriptor: Int32, _ path: String) -> Bool {
        var (locked, named) = (stat(), stat())
        return unsafe fstat(descriptor, &locked) == 0 && lstat(path, &named) == 0
            && locked.st_dev == named.st_dev && locked.st_ino == named.st_ino
    }

    func release() {
        _ = unsafe unlink(path)
        _ = close(descriptor)
    }
}
