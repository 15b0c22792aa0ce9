import AssayLocks
package import Foundation
import Glibc

/// A process that a test starts. It inherits no descriptor, ignored signal or blocked signal.
///
/// Foundation's `Process` keeps the descriptors of a process whose end nobody awaited in a run
/// loop, and reads past the end of a buffer when some 1,350 are open.
package final class ChildProcess: Sendable {
    package enum Input {
        case none
        case file(String)
        case descriptor(Int32)
        case pipe(Pipe)
    }

    package enum Output {
        case none
        /// The file is created or emptied.
        case file(String)
        case pipe(Pipe)
    }

    package struct NotStarted: Error, CustomStringConvertible {
        let program: String
        let code: Int32
        package var description: String {
            unsafe "\(program) did not start: \(String(cString: strerror(code)))"
        }
    }

    /// More than a test process has open. Swift does not see `addclosefrom_np`, a GNU extension.
    private static let descriptors: Int32 = 2048

    /// The process's identifier.
    package let number: pid_t
    /// The exit status, or the negated signal that ended it; nil until the process is collected.
    private let collected = Locked<Int32?>(nil)

    /// - Parameter environment: nil: that of this process.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil,
        input: Input = .none, output: Output = .none, error: Output = .none
    ) throws {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var ours: [FileHandle] = []
        switch input {
        case .none: unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        case .file(let path):
            unsafe posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
        case .descriptor(let number): unsafe posix_spawn_file_actions_adddup2(&actions, number, 0)
        case .pipe(let pipe):
            let end = pipe.fileHandleForReading
            unsafe posix_spawn_file_actions_adddup2(&actions, end.fileDescriptor, 0)
            ours.append(end)
        }
        for (number, output) in [(Int32(1), output), (2, error)] {
            let creating = O_WRONLY | O_CREAT | O_TRUNC
            switch output {
            case .none:
                unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
            case .file(let path):
                unsafe posix_spawn_file_actions_addopen(&actions, number, path, creating, 0o600)
            case .pipe(let pipe):
                let end = pipe.fileHandleForWriting
                unsafe posix_spawn_file_actions_adddup2(&actions, end.fileDescriptor, number)
                if !ours.contains(where: { $0 === end }) { ours.append(end) }
            }
        }
        for number in 3..<Self.descriptors {
            unsafe posix_spawn_file_actions_addclose(&actions, number)
        }

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let environment = environment ?? ProcessInfo.processInfo.environment
        let variables = environment.map { "\($0.key)=\($0.value)" }
        var texts = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        var settings = unsafe variables.map { unsafe strdup($0) } + [nil]
        defer { unsafe (texts + settings).forEach { unsafe free($0) } }
        var number: pid_t = 0
        let code = unsafe posix_spawn(&number, program, &actions, &attributes, &texts, &settings)
        guard code == 0 else { throw NotStarted(program: program, code: code) }
        self.number = number
        // The reader of a pipe sees its end only when this process does not hold the other side.
        for end in ours { try end.close() }
    }

    package var isRunning: Bool {
        var end = unsafe siginfo_t()
        let options = WEXITED | WNOWAIT | WNOHANG
        return collected.withLock { collected in
            guard collected == nil else { return false }
            let code = unsafe waitid(P_PID, id_t(number), &end, options)
            return unsafe code == 0 && end._sifields._kill.si_pid == 0
        }
    }

    /// Sends a signal, unless the process has been collected and its number may be another's.
    package func signal(_ signal: Int32) {
        collected.withLock { if $0 == nil { kill(number, signal) } }
    }

    /// Waits for the end of the process. Returns its exit status, or the negated signal that ended
    /// it.
    @discardableResult
    package func wait() -> Int32 {
        var end = unsafe siginfo_t()
        // It is not collected here, so that the lock is not held for long.
        while unsafe waitid(P_PID, id_t(number), &end, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        return collected.withLock { collected in
            if let collected { return collected }
            var status: Int32 = 0
            while unsafe waitpid(number, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            let result = signal == 0 ? (status >> 8) & 0xFF : -signal
            collected = result
            return result
        }
    }

    /// Ends the process with its owner, and collects it.
    deinit {
        signal(SIGKILL)
        wait()
    }
}
