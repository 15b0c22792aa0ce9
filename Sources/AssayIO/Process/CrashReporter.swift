import Glibc

/// What a process says when a defect ends it: one line on standard error, behind whatever else the
/// runtime has to say.
package enum CrashReporter {
    /// What handled the signals before, by their numbers.
    private nonisolated(unsafe) static var earlier: [sigaction] = Array(
        repeating: sigaction(), count: 32)

    /// From here on, for the whole process. Who handles a signal already, as the runtime does where
    /// it can write a backtrace, goes first; for want of memory nobody does.
    package static func prepare() {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] {
            var action = sigaction()
            guard unsafe sigaction(number, nil, &action) == 0 else { continue }
            let isTold = action.sa_flags & SA_SIGINFO != 0
            guard unsafe isTold || action.__sigaction_handler.sa_handler == nil else { continue }
            unsafe earlier[Int(number)] = action
            unsafe action.__sigaction_handler.sa_sigaction = { number, fault, context in
                let earlier = unsafe CrashReporter.earlier[Int(number)]
                let isMemoryShort = CrashReporter.isMemoryShort
                // Then it does not matter where, and other threads fail too, meanwhile.
                if earlier.sa_flags & SA_SIGINFO != 0, !isMemoryShort {
                    unsafe earlier.__sigaction_handler.sa_sigaction(number, fault, context)
                }
                CrashReporter.speak(number, isMemoryShort: isMemoryShort)
                // The system's own action has been put back: the process ends as it would have.
                raise(number)
            }
            action.sa_flags |= SA_SIGINFO | Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_NODEFER
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    /// Calls the system and nothing else: the process may be in any state.
    private static func speak(_ number: Int32, isMemoryShort: Bool) {
        let cause: StaticString =
            switch number {
            case SIGILL, SIGTRAP: "assay: ended by a failed check (SIGILL)"
            case SIGABRT: "assay: ended by an abort (SIGABRT)"
            case SIGBUS: "assay: ended by a memory fault (SIGBUS)"
            case SIGFPE: "assay: ended by a fault (SIGFPE)"
            default: "assay: ended by a memory fault (SIGSEGV)"
            }
        let memory: StaticString = isMemoryShort ? ", as the system gives no more memory" : ""
        let line: [3 of iovec] = unsafe [
            piece(cause), piece(memory), piece("; what was in flight has no answer\n"),
        ]
        unsafe line.span.withUnsafeBufferPointer { line in
            // In one go, or a line of another thread could come between.
            _ = unsafe writev(STDERR_FILENO, line.baseAddress, Int32(line.count))
        }
    }

    private static func piece(_ text: StaticString) -> iovec {
        unsafe iovec(
            iov_base: UnsafeMutableRawPointer(mutating: text.utf8Start),
            iov_len: text.utf8CodeUnitCount)
    }

    /// As much as the largest receipts make anything ask for at a time.
    private static let askedBytes = 64 << 20

    /// Whether the system refuses memory: what is not given to Swift ends the process as a defect
    /// would, and what is not given to C may be missed anywhere.
    private static var isMemoryShort: Bool {
        let memory = unsafe mmap(
            nil, askedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard unsafe memory != MAP_FAILED else { return true }
        unsafe munmap(memory, askedBytes)
        return false
    }
}
