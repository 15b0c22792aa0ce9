import Glibc
import Synchronization

/// Reports a crash: writes one line to standard error, after the runtime's own output.
package enum CrashReporter {
    /// The earlier signal handlers, by signal number.
    private nonisolated(unsafe) static var earlier: [sigaction] = Array(
        repeating: sigaction(), count: 32)

    /// The thread that reports, as `pthread_self` names it; 0 before a crash.
    private static let reporter = Atomic<UInt>(0)

    /// Installs the handlers, for the whole process. An earlier `SA_SIGINFO` handler, such as the
    /// runtime's for backtraces, runs first, except when memory is short.
    package static func prepare() {
        // A handler must not be the first to use it.
        _ = reporter.load(ordering: .relaxed)
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] {
            var action = sigaction()
            guard unsafe sigaction(number, nil, &action) == 0 else { continue }
            let hasInfo = action.sa_flags & SA_SIGINFO != 0
            guard unsafe hasInfo || action.__sigaction_handler.sa_handler == nil else { continue }
            unsafe earlier[Int(number)] = action
            unsafe action.__sigaction_handler.sa_sigaction = { number, fault, context in
                CrashReporter.becomeReporter(number)
                let earlier = unsafe CrashReporter.earlier[Int(number)]
                let isMemoryShort = CrashReporter.isMemoryShort
                // When memory is short the place does not matter, and other threads fail
                // meanwhile.
                if earlier.sa_flags & SA_SIGINFO != 0, !isMemoryShort {
                    unsafe earlier.__sigaction_handler.sa_sigaction(number, fault, context)
                }
                CrashReporter.report(number, isMemoryShort: isMemoryShort)
                CrashReporter.end(number)
            }
            action.sa_flags |= SA_SIGINFO | SA_NODEFER
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    /// Returns in the first thread that crashes. Others can crash while it reports, and would end
    /// the process before its line: they wait for that end here.
    private static func becomeReporter(_ number: Int32) {
        let current = pthread_self()
        let (isFirst, first) = reporter.compareExchange(
            expected: 0, desired: current, ordering: .acquiringAndReleasing)
        if isFirst { return }
        // The report itself crashed.
        if first == current { end(number) }
        while true { pause() }
    }

    /// Ends the process as it would have ended.
    private static func end(_ number: Int32) {
        var standard = sigaction()
        _ = unsafe sigaction(number, &standard, nil)
        raise(number)
    }

    /// Writes the line. Makes system calls only: the process can be in any state.
    private static func report(_ number: Int32, isMemoryShort: Bool) {
        let cause: StaticString =
            switch number {
            case SIGILL, SIGTRAP: "assay: ended by a failed check (SIGILL)"
            case SIGABRT: "assay: ended by an abort (SIGABRT)"
            case SIGBUS: "assay: ended by a memory fault (SIGBUS)"
            case SIGFPE: "assay: ended by a fault (SIGFPE)"
            default: "assay: ended by a memory fault (SIGSEGV)"
            }
        let memory: StaticString = isMemoryShort ? " because the system is out of memory" : ""
        let line: [3 of iovec] = unsafe [
            vector(cause), vector(memory), vector("; requests in flight get no answer\n"),
        ]
        unsafe line.span.withUnsafeBufferPointer { line in
            // One call, so that no line of another thread comes between.
            _ = unsafe writev(STDERR_FILENO, line.baseAddress, Int32(line.count))
        }
    }

    private static func vector(_ text: StaticString) -> iovec {
        unsafe iovec(
            iov_base: UnsafeMutableRawPointer(mutating: text.utf8Start),
            iov_len: text.utf8CodeUnitCount)
    }

    /// The most that the largest receipts allocate at a time.
    private static let askedBytes = 64 << 20

    /// Whether the system refuses memory. A failed allocation in Swift ends the process like a
    /// defect, and one in C can go wrong anywhere.
    private static var isMemoryShort: Bool {
        let memory = unsafe mmap(
            nil, askedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard unsafe memory != MAP_FAILED else { return true }
        unsafe munmap(memory, askedBytes)
        return false
    }
}
