import Glibc

/// What a process says when a defect ends it: one line on standard error, behind whatever else the
/// runtime has to say.
package enum LastWords {
    /// From here on, for the whole process. A signal that somebody handles already is left alone.
    package static func prepare() {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] {
            var action = sigaction()
            guard unsafe sigaction(number, nil, &action) == 0,
                unsafe action.__sigaction_handler.sa_handler == nil
            else { continue }
            unsafe action.__sigaction_handler.sa_handler = { number in
                LastWords.speak(number)
                // The system's own action has been put back: the process ends as it would have.
                raise(number)
            }
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | Int32(SA_NODEFER)
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    /// Calls nothing but `write`: the process may be in any state.
    private static func speak(_ number: Int32) {
        let line: StaticString =
            switch number {
            case SIGILL, SIGTRAP:
                "assay: ended by a failed check (SIGILL); what was in flight has no answer\n"
            case SIGABRT:
                "assay: ended by an abort (SIGABRT); what was in flight has no answer\n"
            case SIGBUS:
                "assay: ended by a memory fault (SIGBUS); what was in flight has no answer\n"
            case SIGFPE:
                "assay: ended by a fault (SIGFPE); what was in flight has no answer\n"
            default: "assay: ended by a memory fault (SIGSEGV); what was in flight has no answer\n"
            }
        write(line)
    }

    private static func write(_ line: StaticString) {
        _ = unsafe Glibc.write(STDERR_FILENO, line.utf8Start, line.utf8CodeUnitCount)
    }
}
