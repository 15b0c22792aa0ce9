import Assay
import AssayModels
package import AssayTelemetry
import AssayWire

/// Owns the count of bytes that a worker holds for all its connections, by purpose. Its limit is
/// what is free of the server's: it borrows from there what it holds.
///
/// Received bytes count as the memory that they keep alive, an arriving receipt as the state of
/// its verification, and an answer from the moment it is encoded. Expected answers count
/// separately, as due: they hold no memory yet, but memory is reserved for them.
package final class Budget {
    /// Everything that is held and due.
    private var memory: BorrowedBytes
    /// Parts of it: answers that the system has not taken, receipts that are arriving, and bodies
    /// of HTTP requests.
    private var answers: BorrowedBytes
    private var receiptMemory: BorrowedBytes
    private var bodies: BorrowedBytes
    /// Memory of received bytes, as counted by the loop: an upper bound for evidence and frames,
    /// because a small request can keep a whole slab alive.
    private let receivedBytes: () -> Int

    /// Evidence that was accepted and is unanswered.
    private(set) var evidence = 0
    /// The part of `evidence` that is not received bytes: the requests themselves, and receipts
    /// that were read as they arrived.
    private var state = 0
    /// Memory of receipts that are arriving.
    private(set) var receipts = 0
    /// Received bytes of frames that are incomplete or not taken yet.
    var buffered = 0
    /// The part of `buffered` that is bodies of HTTP requests.
    var collected = 0
    /// Bodies of HTTP requests that wait to be parsed, or are parsed.
    private(set) var parsing = 0
    /// What these bodies become: reserved before they are parsed.
    private(set) var parsed = 0
    /// Answers that the system has not taken yet.
    var unwritten = 0
    /// Memory of streams that have begun, apart from what they hold. It has the limit of answers,
    /// which are due on them.
    private(set) var open = 0
    /// Connections themselves, and what engines hold for them: TLS, and those of protocols.
    private(set) var engines = 0
    /// Expected bytes of answers to accepted requests that are not encoded yet.
    private(set) var due = 0

    package init(sharing shared: SharedBudget, receivedBytes: @escaping () -> Int = { 0 }) {
        memory = BorrowedBytes(of: shared.memory)
        answers = BorrowedBytes(of: shared.answers)
        receiptMemory = BorrowedBytes(of: shared.receipts)
        bodies = BorrowedBytes(of: shared.bodies)
        self.receivedBytes = receivedBytes
    }

    // MARK: The server's budget

    /// What this worker can hold: all that the others have not borrowed.
    var limit: Int { memory.limit }

    /// Borrows what has arrived, or was encoded, without being asked for.
    private func borrowHeld() {
        memory.cover(held + due)
        answers.cover(unwritten + open)
        bodies.cover(collected + parsing)
    }

    /// Gives back what is far more than this worker holds. Called at the end of each turn: until
    /// then, another worker refuses what would fit.
    package func giveBackSurplus() {
        memory.giveBackSurplus(over: held + due)
        answers.giveBackSurplus(over: unwritten + open)
        receiptMemory.giveBackSurplus(over: receipts)
        bodies.giveBackSurplus(over: collected + parsing)
    }

    /// Gives back what was borrowed and is not needed. Called several times a second.
    package func giveBackUnused() {
        memory.giveBack(keeping: held + due)
        answers.giveBack(keeping: unwritten + open)
        receiptMemory.giveBack(keeping: receipts)
        bodies.giveBack(keeping: collected + parsing)
    }

    // MARK: What is held

    /// Adds what is held to what the server reports.
    package func add(to resources: inout HeldResources) {
        resources.evidenceBytes += evidence + parsed + receipts
        resources.bufferedBytes += buffered + parsing
        resources.heldBytes += held
    }

    /// Counts what a connection holds, apart from its requests.
    ///
    /// - Parameter former: what was counted of it before.
    func count(_ held: HeldBytes, insteadOf former: HeldBytes) {
        buffered += held.unread - former.unread
        unwritten += held.unwritten - former.unwritten
        collected += held.body - former.body
        open += held.open - former.open
        engines += held.engine - former.engine
        borrowHeld()
    }

    var held: Int {
        let received = max(evidence - state + buffered + parsing, receivedBytes())
        return received + state + parsed + receipts + unwritten + open + engines
    }

    /// Whether the limit is exceeded, so that no more is accepted until memory is freed.
    var isFull: Bool { held > limit }

    /// Whether a client that has this much has used up its part.
    func isFull(for own: Int) -> Bool {
        let (held, limit) = (held, limit)
        return held > limit || !PeerPart.allows(own, leaving: limit - held)
    }

    /// Whether memory is so low that silent connections are closed.
    ///
    /// - Parameter freed: bytes that will be free soon.
    package func isMemoryLow(without freed: Int = 0) -> Bool { memory.isLow(with: held - freed) }

    /// Whether memory is so low that slow receipts and bodies are rejected.
    package var isLow: Bool {
        isMemoryLow() || receiptMemory.isLow(with: receipts)
            || bodies.isLow(with: collected + parsing)
    }

    /// Whether memory is free for a client.
    ///
    /// - Parameter own: what the client has already.
    func admits(_ bytes: Int, for own: Int = 0) -> Bool {
        let wanted = held + due + bytes
        return PeerPart.allows(own, leaving: memory.limit - wanted)
            && memory.borrow(for: wanted)
    }

    /// Whether a receipt of this size is admitted. All receipts together get half of the limit:
    /// slow receipts hold their memory for long, and other requests need the rest.
    func admits(receipt bytes: Int, for own: PeerBytes = PeerBytes()) -> Bool {
        PeerPart.allows(own.receipts, leaving: receiptMemory.limit - receipts - bytes)
            && admits(bytes, for: own.memory)
    }

    /// Whether a receipt of this size can ever be received: its answer can be equally long.
    func canFit(receipt bytes: Int) -> Bool { bytes <= memory.limitOfAll / 8 * 3 }

    /// Whether these bytes can ever be held.
    func canFit(_ bytes: Int) -> Bool { bytes <= memory.limitOfAll }

    // MARK: Bodies of HTTP requests

    /// A body up to this size is collected while larger ones use up their part: it holds what a
    /// read of the socket holds anyway.
    private static let smallBody = 64 << 10

    /// Whether a body that is read whole can grow further.
    ///
    /// - Parameter held: the bytes that it holds.
    func admits(bodyOf held: Int, for own: PeerBytes = PeerBytes()) -> Bool {
        guard !isFull(for: own.memory) else { return false }
        return held <= Self.smallBody
            || PeerPart.allows(own.bodies, leaving: bodies.limit - collected - parsing)
    }

    func give(body bytes: Int) {
        parsing += bytes
        borrowHeld()
    }

    func takeBack(body bytes: Int) {
        parsing -= bytes
        precondition(parsing >= 0, "more memory was released than reserved")
    }

    func give(parsed bytes: Int) {
        parsed += bytes
        borrowHeld()
    }

    func takeBack(parsed bytes: Int) {
        parsed -= bytes
        precondition(parsed >= 0, "more memory was released than reserved")
    }

    // MARK: Answers

    /// Whether an answer without reserved memory is admitted.
    func admits(answer bytes: Int, for own: PeerBytes = PeerBytes()) -> Bool {
        PeerPart.allows(own.answers, leaving: answers.limit - unwritten - open - bytes)
            && PeerPart.allows(own.memory, leaving: limit - held - bytes)
    }

    /// Whether a connection with these numbers of unread and due answer bytes can have further
    /// answers made. A connection that reads everything always can have a few due, even when
    /// memory is low.
    ///
    /// One connection can have a sixteenth of what is free. That part shrinks as other connections
    /// take theirs, so memory stays free for a connection that reads, however many do not.
    func canAnswer(unread: Int, due: Int, for own: PeerBytes = PeerBytes()) -> Bool {
        if unread == 0, due < Self.leastDue { return true }
        let free = answers.limit - unwritten - open - self.due
        return unread + due <= free / 16 && PeerPart.allows(own.answers, leaving: free)
    }

    /// The answers of about 16 tokens; 10,000 connections together stay below the limit.
    private static let leastDue = 16 << 10

    // MARK: Changes

    func give(_ cost: RequestCost) {
        evidence += cost.bytes
        state += cost.state
        due += cost.answer
        memory.cover(held + due)
    }

    func takeBack(_ cost: RequestCost) {
        evidence -= cost.bytes
        state -= cost.state
        due -= cost.answer
        precondition(
            evidence >= 0 && state >= 0 && due >= 0, "more memory was released than reserved")
    }

    func give(receipt bytes: Int) {
        receipts += bytes
        receiptMemory.cover(receipts)
        memory.cover(held + due)
    }

    func takeBack(receipt bytes: Int) {
        receipts -= bytes
        precondition(receipts >= 0, "more memory was released than reserved")
    }
}

/// The memory that an admitted request counts for until it is answered.
package struct RequestCost: Equatable, Sendable {
    static let none = RequestCost(bytes: 0, state: 0, answer: 0)

    /// Bytes of evidence and state.
    var bytes: Int
    /// The part of `bytes` that is not received bytes.
    var state: Int
    /// The largest expected size of the answer; it counts as due.
    var answer: Int

    /// The cost of evidence that was received whole.
    static func whole(_ body: Int, _ call: VerifyCall) -> Self {
        let state = requestBytes + call.expectedProductBytes
        // The payload of a token is less than half of it: the certificates take most. The unsigned
        // members of an answer are echoed whole.
        let payload = call.kind == .serverAnswer ? body : body / 2
        return RequestCost(
            bytes: body + state, state: state,
            answer: plainAnswerBytes + (call.returnsPayload ? payload : 0))
    }

    /// The cost of a receipt that was read as it arrived.
    static func receipt(_ held: Int, _ call: VerifyCall) -> Self {
        let state = held + requestBytes + call.expectedProductBytes
        return RequestCost(
            bytes: state, state: state,
            answer: plainAnswerBytes + (call.returnsPayload ? held : 0))
    }

    /// The cost of one item of a Resolve.
    static func item(_ bytes: Int, of call: ResolveCall) -> Self {
        let returnsPayload = call.returnsTypedPayloads || call.returnsPayloadJSON
        // A large item is a receipt or an answer: it names purchases by the thousand.
        let purchases = bytes > Limits.jwsBytes ? bytes / 2 : 0
        return RequestCost(
            bytes: bytes + itemBytes, state: itemBytes,
            answer: plainAnswerBytes + purchases + (returnsPayload ? bytes / 2 : 0))
    }

    /// The cost of a Resolve without its items: what it expects, and its durations.
    static func call(_ call: ResolveCall) -> Self {
        let bytes =
            memory(of: call.expectations.productIds, each: MemoryLayout<String>.stride)
            + memory(of: call.policy.durations.keys, each: 2 * MemoryLayout<(String, Int64)>.stride)
        return RequestCost(bytes: bytes, state: bytes, answer: 0)
    }

    /// The cost of all items of a Resolve, once they have arrived.
    static func whole(_ call: ResolveCall) -> Self {
        var cost = RequestCost.call(call)
        for item in call.items { cost.add(.item(Int(item.length), of: call)) }
        return cost
    }

    mutating func add(_ other: RequestCost) {
        bytes += other.bytes
        state += other.state
        answer += other.answer
    }

    /// An item of a Resolve: its entries in the request, in queues and in the result.
    static let itemBytes = 1 << 10
    /// A request itself, with its call and its entries in queues.
    static let requestBytes = MemoryLayout<VerifyCall>.size + 256
    /// A verdict with its reason and the names of its certificates.
    static let plainAnswerBytes = 512
}

extension VerifyCall {
    fileprivate var returnsPayload: Bool {
        returnsTypedPayload || returnsPayloadJSON || returnsVerifyReceiptJSON
    }
}

extension VerifyCall {
    /// Memory of the expected product ids, whose number the caller decides.
    fileprivate var expectedProductBytes: Int {
        memory(of: expectations.productIds, each: MemoryLayout<String>.stride)
    }
}

/// Memory of a collection of strings.
///
/// - Parameter each: bytes of an element without what its string holds.
private func memory(of strings: some Collection<String>, each: Int) -> Int {
    // Strings of up to 15 bytes are stored inline.
    strings.reduce(strings.count * each) {
        $0 + ($1.utf8.count > 15 ? $1.utf8.count + 32 : 0)
    }
}
