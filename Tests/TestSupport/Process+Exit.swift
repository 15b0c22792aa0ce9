import Foundation
import Glibc

extension Process {
    /// Waits for the end of the process. Returns its exit status, or the negated signal that ended
    /// it.
    ///
    /// Foundation learns of an end by a socket that processes started at the same moment inherit,
    /// so its own wait can last as long as theirs.
    package func waitForExit() -> Int32 {
        var end = unsafe siginfo_t()
        // Foundation collects the process.
        while unsafe waitid(P_PID, id_t(processIdentifier), &end, WEXITED | WNOWAIT) != 0 {
            guard errno == EINTR else {
                waitUntilExit()
                return terminationReason == .exit ? terminationStatus : -terminationStatus
            }
        }
        let status = unsafe end._sifields._sigchld.si_status
        return unsafe end.si_code == Int32(CLD_EXITED) ? status : -status
    }
}
