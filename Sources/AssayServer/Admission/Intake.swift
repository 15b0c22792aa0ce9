import Assay
import AssayIO
import AssayModels
import AssayWire

/// Takes the requests that sessions read: has each admitted, and then verified, decided or fetched,
/// or answers it. Belongs to the loop's thread.
final class Intake {
    private let admission: Admission
    private let scheduler: Scheduler
    private let resolver: Resolver
    private let turns: Turns

    init(_ admission: Admission, _ scheduler: Scheduler, _ turns: Turns) {
        self.admission = admission
        self.scheduler = scheduler
        resolver = scheduler.resolver
        self.turns = turns
    }

    // MARK: Requests

    /// What becomes of a request whose body is arriving.
    enum Beginning {
        /// It is refused, and answered.
        case refused
        /// The receipt is verified as it arrives.
        case receipt(ArrivingReceipt)
        /// Its items are verified as they arrive.
        case resolve(AcceptedResolve)
        /// It is taken when it is whole, and decided then: the queue and the memory will have
        /// changed.
        case whole
    }

    /// Decides what happens to a request whose body is arriving.
    ///
    /// - Parameters:
    ///   - bodyBytes: by which it is admitted.
    ///   - size: the size of a receipt in its envelope; 0 if it is not known.
    ///   - detectsKind: whether the kind is an estimate.
    ///   - began: when its first byte arrived; nil for that of the request at the front.
    func begin(
        _ head: RequestHead, bodyBytes: Int, size: Int, in envelope: ReceiptEnvelope? = nil,
        detectsKind: Bool = false, from connection: Connection, began: UInt64? = nil
    ) -> Beginning {
        switch admission.admit(
            head, bodyBytes: bodyBytes, isWhole: false, from: connection, began: began)
        {
        case .refused(let refusal):
            connection.answerAtOnce(CallLabel(head.call), refusal)
            return .refused
        case .verify(let admitted):
            guard admitted.isStreamed else { return .whole }
            connection.inFlight.insert(head.id)
            return .receipt(
                ArrivingReceipt(
                    admitted, size: size, in: envelope, detectsKind: detectsKind,
                    at: connection.now))
        case .resolve(let admitted):
            return .resolve(resolver.begin(admitted, from: connection))
        case .answer: return .whole
        case .fetch: return .whole
        case .identify: return .whole
        }
    }

    /// Takes a request that has arrived whole.
    ///
    /// - Parameter began: when its first byte arrived; nil for that of the request at the front.
    func take(
        _ head: RequestHead, _ body: SlabBytes, from connection: Connection, began: UInt64? = nil
    ) {
        switch admission.admit(
            head, bodyBytes: body.count, isWhole: true, from: connection, began: began)
        {
        case .refused(let refusal): connection.answerAtOnce(CallLabel(head.call), refusal)
        case .answer(let response): connection.answerAtOnce(CallLabel(head.call), response)
        case .verify(let admitted): scheduler.verify(admitted, body, from: connection)
        case .resolve(let admitted): take(admitted, body, from: connection)
        case .fetch(let admitted): scheduler.fetches.start(admitted, from: connection)
        case .identify:
            identify(head, by: body, from: connection, began: began ?? connection.requestBegan)
        }
    }

    /// Finds the transaction that the evidence of a Fetch names, and takes the request again. What
    /// the App Store answers about it is verified; the evidence is not.
    private func identify(
        _ head: RequestHead, by evidence: SlabBytes, from connection: Connection, began: UInt64?
    ) {
        guard evidence.count > ServerLimits.bytesParsedInPlace else {
            connection.reading.use(ServerLimits.frameCost(ofJSON: evidence.span))
            return take(
                head, of: Inspection.transactionId(of: evidence.span), evidence, from: connection,
                began: began)
        }
        let none = evidence.extracting(0..<0)
        let mine = LoopBound(
            { id in self.take(head, of: id, none, from: connection, began: began) },
            to: connection.stream.loop)
        parse(
            ParseJob(connection: connection, id: head.id, bytes: evidence.count) {
                let id = Inspection.transactionId(of: evidence.span)
                return { mine.value(id) }
            })
    }

    /// Takes a Fetch whose transaction was found; nil if the evidence names none.
    private func take(
        _ head: RequestHead, of transactionId: String?, _ body: SlabBytes,
        from connection: Connection, began: UInt64?
    ) {
        guard case .fetch(var call) = head.call, let transactionId else {
            return connection.answerAtOnce(.fetch, .noTransactionInEvidence(head.id))
        }
        call.transactionId = transactionId
        var head = head
        head.call = .fetch(call)
        take(head, body.extracting(0..<0), from: connection, began: began)
    }

    /// Answers a call that has no body.
    func answer(_ head: RequestHead, from connection: Connection) {
        switch admission.admit(head, bodyBytes: 0, isWhole: true, from: connection) {
        case .refused(let refusal): connection.answerAtOnce(CallLabel(head.call), refusal)
        case .answer(let response): connection.answerAtOnce(CallLabel(head.call), response)
        case .verify: break
        case .resolve: break
        case .fetch: break
        case .identify: break
        }
    }

    /// Has a body parsed on a worker, before its request is taken.
    func parse(_ job: ParseJob) { scheduler.parses.add(job) }

    // MARK: Receipts

    /// Passes this turn's share of a receipt's next bytes to its verification, and drops them.
    /// Returns false if there is no memory for it.
    func feed(
        _ receipt: ArrivingReceipt, _ unread: SlabBytes, from connection: Connection
    ) -> Bool {
        let count = min(receipt.remaining, unread.count, turns.receiptSlice)
        let loop = connection.stream.loop
        let began = loop.nanoseconds
        let fits = receipt.receive(unread.extracting(0..<count))
        let spent = loop.nanoseconds - began
        turns.didReadReceipt(count, nanoseconds: spent)
        connection.skip(count)
        return fits
    }

    /// Passes bytes that a session has collected to a receipt's verification. Returns false if
    /// there is no memory for it.
    func feed(
        _ receipt: ArrivingReceipt, collected bytes: SlabBytes, from connection: Connection
    ) -> Bool {
        let loop = connection.stream.loop
        let began = loop.nanoseconds
        let fits = receipt.receive(bytes)
        turns.didReadReceipt(bytes.count, nanoseconds: loop.nanoseconds - began)
        return fits
    }

    /// Has a receipt verified whose last byte was read, or refuses it for lack of memory.
    func complete(_ receipt: ArrivingReceipt, from connection: Connection) {
        guard !scheduler.verify(receipt, from: connection) else { return }
        connection.inFlight.remove(receipt.id)
        connection.answerAtOnce(.verify, .memoryExhausted(receipt.id))
    }

    /// Refuses a receipt for which there is no memory.
    func refuse(_ receipt: ArrivingReceipt, from connection: Connection) {
        let canFit = connection.peer.canFit(receipt: receipt.wanted)
        drop(receipt, from: connection)
        connection.answerAtOnce(.verify, .memoryExhausted(receipt.id, canFit: canFit))
    }

    /// Drops a receipt, whose request is not in flight any more.
    func drop(_ receipt: ArrivingReceipt, from connection: Connection) {
        connection.inFlight.remove(receipt.id)
        receipt.giveBackMemory()
    }

    // MARK: Items of a Resolve

    /// Takes all items of a request that has arrived whole.
    private func take(
        _ admitted: AdmittedResolve, _ body: SlabBytes, from connection: Connection
    ) {
        let resolve = resolver.begin(admitted, from: connection)
        var start = 0
        for (index, item) in admitted.call.items.enumerated() {
            let end = start + Int(item.length)
            guard verify(body.extracting(start..<end), index, of: resolve) else {
                return refuseForMemory(resolve)
            }
            start = end
        }
        // The request itself was counted.
        connection.reading.use(admitted.call.items.count - 1)
    }

    /// Has an item verified. Returns false if there is no memory for it.
    func verify(_ evidence: SlabBytes, _ index: Int, of resolve: AcceptedResolve) -> Bool {
        let evidence = scheduler.forQueue(evidence)
        guard let job = resolver.job(for: evidence, index, of: resolve) else { return false }
        scheduler.verify(job)
        return true
    }

    /// Begins to verify an item, a receipt, as it arrives.
    func beginReceipt(size: Int, of resolve: AcceptedResolve) -> ArrivingReceipt {
        let connection = resolve.port.connection
        return ArrivingReceipt(
            resolve.admitted.receipt(for: connection.peer), size: size, at: connection.now)
    }

    /// Has an item verified, a receipt whose last byte was read. Returns false if there is no
    /// memory for it.
    func complete(_ receipt: ArrivingReceipt, _ index: Int, of resolve: AcceptedResolve) -> Bool {
        guard let job = resolver.job(for: receipt, index, of: resolve) else { return false }
        scheduler.verify(job)
        return true
    }

    /// Ends a request for lack of memory.
    func refuseForMemory(_ resolve: AcceptedResolve) {
        let canFit = resolve.port.connection.peer.canFit(.whole(resolve.admitted.call))
        resolve.refuse(.memoryExhausted(resolve.id, canFit: canFit))
    }
}
