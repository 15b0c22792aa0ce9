import AssayIO

/// Counts and logs what happens in a server. Owns its metrics, and the rate at which faults of
/// clients are logged. Belongs to the loop's thread.
final class Telemetry {
    let log: Log
    var metrics = ServerMetrics()
    private var faults = FaultLog()
    private let loop: EventLoop

    init(_ log: Log, _ loop: EventLoop) {
        self.log = log
        self.loop = loop
    }

    func logFault(_ reason: StaticString) {
        metrics.didFail(reason)
        faults.write("\(reason)", to: log, now: loop.now)
    }

    /// The reason contains text of this process and of OpenSSL only.
    func logFault(_ error: TLSError) {
        metrics.didFail("TLS failed")
        faults.write(error.description, to: log, now: loop.now)
    }

    /// Logs why the answer in the form of verifyReceipt has a status other than 0.
    func logRefusedReceipt(_ detail: String) {
        log.write(.debug, "verify_receipt_refused", ["detail": .text(detail)])
    }

    /// Logs the number of faults that were suppressed.
    func flushFaults() { faults.flush(to: log) }
}
