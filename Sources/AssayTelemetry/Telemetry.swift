package import AssayIO
package import AssayWire

/// Counts and logs what happens in a server. Owns its metrics, the rate at which faults of clients
/// are logged, and the lines of the audit log and the spans that were not handed over. Belongs to
/// the loop's thread.
///
/// Each answered request is counted here, whatever its protocol: so its line and its span are
/// written here.
package final class Telemetry {
    package let log: Log
    private var counts = ServerMetrics()
    private var faults = FaultLog()
    private let loop: EventLoop
    /// Nil where the audit log is off.
    private var batch: AuditBatch?
    /// Nil where spans are not exported.
    private var spanBatch: SpanBatch?

    package init(_ log: Log, _ loop: EventLoop) {
        self.log = log
        self.loop = loop
    }

    package func logFault(_ reason: StaticString) {
        counts.didFail(reason)
        faults.write("\(reason)", to: log, now: loop.now)
    }

    /// The reason contains text of this process and of OpenSSL only.
    package func logFault(_ error: TLSError) {
        counts.didFail("TLS failed")
        faults.write(error.description, to: log, now: loop.now)
    }

    /// Logs why the answer in the form of verifyReceipt has a status other than 0.
    package func logRefusedReceipt(_ detail: String) {
        log.write(.debug, "verify_receipt_refused", ["detail": .text(detail)])
    }

    /// Logs the number of faults that were suppressed.
    package func flushFaults() { faults.flush(to: log) }

    // MARK: The audit log

    /// The audit log; nil where it is off.
    package var audit: AuditLog? {
        get { batch?.log }
        set {
            guard newValue !== batch?.log else { return }
            batch?.flush()
            batch = newValue.map { AuditBatch($0) }
        }
    }

    /// Hands the lines of the audit log and the spans over that were written since the last time.
    package func flushRecords() {
        batch?.flush()
        spanBatch?.flush()
    }

    /// Writes the line of an answer with a result.
    package func audit(
        _ line: AuditLine?, connection: UInt64, request: UInt64, _ trace: RequestTrace?
    ) {
        guard let batch, let line else { return }
        batch.add(line, connection: connection, request: request, trace?.context)
    }

    /// Writes the line of an answer without a result.
    private func audit(
        _ call: CallLabel, _ subject: RequestSubject?, _ answer: ResponseHead, count: Int = 1,
        connection: UInt64? = nil, _ trace: RequestTrace?
    ) {
        // A request that could not be read is one of the unknown call.
        guard let batch, call.isAudited || call == .unknown && answer.status != .ok else { return }
        let line = AuditLine(call, subject, answer, count: count, at: log.clock())
        batch.add(line, connection: connection, request: answer.id, trace?.context)
    }

    // MARK: Spans

    /// Takes the spans; nil where they are not exported.
    package var spans: RecordQueue? {
        get { spanBatch?.queue }
        set {
            guard newValue !== spanBatch?.queue else { return }
            spanBatch?.flush()
            spanBatch = newValue.map { SpanBatch($0) }
        }
    }

    /// Writes the span of a request that has ended, if its client records its trace.
    ///
    /// - Parameters:
    ///   - arrived: when its last bytes could have been read, by the monotonic clock.
    ///   - now: nil to read it.
    private func endSpan(
        of trace: RequestTrace?, _ call: CallLabel, _ status: Status = .ok,
        arrived: UInt64, now: UInt64? = nil, _ details: (inout ServerSpan) -> Void
    ) -> SpanId? {
        guard let trace, trace.context.isSampled, let spanBatch else { return nil }
        let now = now ?? loop.nanoseconds
        // No clock of a server shows a time before 1970.
        let end = UInt64(clamping: log.clock().milliseconds) &* 1_000_000
        let elapsed = min(now > arrived ? now - arrived : 0, end)
        var span = ServerSpan(
            id: .random, trace: trace, call: call, status: status, start: end - elapsed, end: end)
        details(&span)
        spanBatch.add(span)
        return span.id
    }

    // MARK: Counting

    /// What was counted so far.
    package var metrics: ServerMetrics { counts }

    /// Counts verdicts of these apps from now on, and of no others.
    package func follow(_ apps: some Sequence<String>) { counts.follow(apps) }

    package func didAcceptConnection() { counts.connectionsAccepted &+= 1 }
    package func didRefuseConnection() { counts.connectionsRefused &+= 1 }

    /// Counts requests that were read.
    package func didReceive(_ requests: Int = 1) { counts.requestsReceived &+= UInt64(requests) }

    /// Counts answers that were passed to the system.
    package func didSend(_ answers: Int) { counts.answersSent &+= UInt64(answers) }

    package func didValidate(chains: Int) { counts.validatedChains &+= UInt64(chains) }
    package func didReload(_ isApplied: Bool) { counts.didReload(isApplied) }
    package func didStart(_ call: CallLabel) { counts.didStart(call) }

    /// Counts requests that got the same answer when they were read.
    package func didAnswerAtOnce(
        _ call: CallLabel, _ answer: ResponseHead, count: Int = 1, of trace: RequestTrace?,
        arrived: @autoclosure () -> UInt64
    ) {
        counts.didAnswerAtOnce(call, answer, count: count)
        audit(call, nil, answer, count: count, trace)
        guard trace != nil else { return }
        _ = endSpan(of: trace, call, answer.status, arrived: arrived()) { _ in }
    }

    package func didRefuse(_ answer: ResponseHead) { counts.didRefuse(answer) }

    /// Counts an accepted request that ended without a result.
    ///
    /// - Parameter subject: asked where the audit log is on, or spans are exported.
    package func didDrop(
        _ call: CallLabel, _ answer: ResponseHead?, connection: UInt64, _ trace: RequestTrace?,
        arrived: UInt64, of subject: @autoclosure () -> RequestSubject?
    ) {
        counts.didDrop(call, answer)
        _ = endSpan(of: trace, call, answer?.status ?? .cancelled, arrived: arrived) { span in
            let known = subject()
            (span.app, span.kind) = (known?.app, known?.kind)
        }
        guard batch != nil, let answer else { return }
        audit(call, subject(), answer, connection: connection, trace)
    }

    package func didVerify(batchOf count: Int) { counts.didVerify(batchOf: count) }

    package func didAnswer(
        _ outcome: Outcome, arrived: UInt64, began: UInt64, now: UInt64, _ trace: RequestTrace?
    ) {
        let span = endSpan(of: trace, .verify, arrived: arrived, now: now) { span in
            (span.app, span.kind, span.verdict) = (outcome.app, outcome.kind, outcome.verdict)
        }
        counts.didAnswer(
            outcome, arrived: arrived, began: began, now: now, exemplar(of: trace, span))
    }

    package func didVerifyItem(_ outcome: Outcome, arrived: UInt64, began: UInt64) {
        counts.didVerifyItem(outcome, arrived: arrived, began: began)
    }

    package func didResolve(
        _ outcome: ResolveOutcome, arrived: UInt64, now: UInt64, _ trace: RequestTrace?,
        of subject: @autoclosure () -> RequestSubject?
    ) {
        let span = endSpan(of: trace, .resolve, arrived: arrived, now: now) { span in
            (span.app, span.outcome) = (subject()?.app, outcome)
        }
        counts.didResolve(outcome, arrived: arrived, now: now, exemplar(of: trace, span))
    }

    package func didFetch(
        arrived: UInt64, now: UInt64, _ trace: RequestTrace?,
        of subject: @autoclosure () -> RequestSubject?
    ) {
        let span = endSpan(of: trace, .fetch, arrived: arrived, now: now) {
            $0.app = subject()?.app
        }
        counts.didFetch(arrived: arrived, now: now, exemplar(of: trace, span))
    }

    /// The exemplar of a request that its client records: others can't be looked up.
    private func exemplar(of trace: RequestTrace?, _ span: SpanId?) -> Exemplar? {
        guard let trace, trace.context.isSampled else { return nil }
        return Exemplar(trace: trace.context, span: span, time: log.clock())
    }
}
