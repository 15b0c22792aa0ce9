import Foundation

/// Tests that wait for time to pass, or that measure it: they need a quiet machine.
///
/// `script/check` leaves them out; `script/test timed` runs them, one after the other.
package enum TimedTests {
    package static let areEnabled = ProcessInfo.processInfo.environment["ASSAY_TIMED_TESTS"] == "1"
}
