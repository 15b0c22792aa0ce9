import AssayModels
import AssayWire

/// Bytes that the server holds for all of its connections, by what they are.
///
/// Everything is counted as it is held: what was received by the memory that keeps it alive, a
/// receipt that is arriving by what its verification has kept of it, an answer from the moment it
/// is written. An answer that is still to come is counted apart, as due: nothing is held for it
/// yet, and room for it is kept.
struct Budget {
    var limit: Int
    /// Memory of received bytes, as the loop counts it: an upper bound of evidence and frames
    /// where a small request keeps a whole slab alive.
    private let receivedBytes: () -> Int

    /// Evidence that was accepted and is not answered.
    private(set) var evidence = 0
    /// The part of it that is not received bytes: requests themselves, and receipts that were read
    /// as they arrived.
    private var state = 0
    /// What receipts that are arriving hold.
    private(set) var receipts = 0
    /// Received, of frames that are not complete or not taken yet.
    var buffered = 0
    /// Answers that the system has not taken yet.
    var unwritten = 0
    /// Answers of accepted requests that are not made yet.
    private(set) var due = 0

    init(limit: Int, receivedBytes: @escaping () -> Int = { 0 }) {
        self.limit = limit
        self.receivedBytes = receivedBytes
    }

    var held: Int {
        let received = max(evidence - state + buffered, receivedBytes())
        return received + state + receipts + unwritten
    }

    /// Whether no more is taken on until some has been answered.
    var isFull: Bool { held > limit }

    /// Whether receipts that arrive slowly give way.
    var isSingleSignature: Bool { held > limit / 4 * 3 || receipts > receiptsMost / 4 * 3 }

    func admits(_ bytes: Int) -> Bool { held + due + bytes <= limit }

    func admits(_ cost: RequestCost) -> Bool { admits(cost.bytes + cost.answer) }

    /// Receipts that arrive slowly hold their share for long, and must leave the others theirs:
    /// all of them together get half.
    func admits(receipt bytes: Int) -> Bool {
        admits(bytes) && receipts + bytes <= receiptsMost
    }

    private var receiptsMost: Int { limit / 2 }

    /// Whether a receipt that holds so much can ever be received: its answer may be as long.
    func mayFit(receipt bytes: Int) -> Bool { bytes <= limit / 8 * 3 }

    // MARK: Answers

    /// Answers get a quarter of the limit; of a small limit more, or a few requests would use it.
    private var answersMost: Int { max(limit / 4, 1 << 20) }

    /// Whether an answer that nothing was kept for may be made.
    func admits(answer bytes: Int) -> Bool {
        unwritten + bytes <= answersMost && held + bytes <= limit
    }

    /// The answers that one connection may have unread and due. A sixteenth of what is free: so
    /// the share shrinks as others take theirs, some is free however many connections do not read,
    /// and one that reads is served.
    private var answersPerConnection: Int { max(0, answersMost - unwritten - due) / 16 }

    /// Whether a connection that has so many bytes of answers unread and due may have more made.
    /// One that reads all always has some due, however little is free.
    func mayAnswer(unread: Int, due: Int) -> Bool {
        if unread == 0, due < Self.leastDue { return true }
        return unread + due <= answersPerConnection
    }

    /// The answers of some 16 tokens; of 10,000 connections below the limit together.
    private static let leastDue = 16 << 10

    // MARK: Changes

    mutating func give(_ cost: RequestCost) {
        evidence += cost.bytes
        state += cost.state
        due += cost.answer
    }

    mutating func takeBack(_ cost: RequestCost) {
        evidence -= cost.bytes
        state -= cost.state
        due -= cost.answer
        precondition(evidence >= 0 && state >= 0 && due >= 0, "what is taken back was given")
    }

    mutating func give(receipt bytes: Int) { receipts += bytes }

    mutating func takeBack(receipt bytes: Int) {
        receipts -= bytes
        precondition(receipts >= 0, "what is taken back was given")
    }
}

/// What an accepted request counts for until it is answered.
struct RequestCost: Equatable, Sendable {
    /// Evidence and state.
    var bytes: Int
    /// Of these, what is not received bytes.
    var state: Int
    /// The largest answer that is expected; it is due.
    var answer: Int

    /// Evidence that was received whole.
    static func whole(_ body: Int, _ call: VerifyCall) -> Self {
        let state = requestBytes + call.expectations.listBytes
        // The payload of a token is below half of it, as the certificates take most.
        return RequestCost(
            bytes: body + state, state: state,
            answer: plainAnswerBytes + (call.returnsPayload ? body / 2 : 0))
    }

    /// A receipt that was read as it arrived.
    static func receipt(_ held: Int, _ call: VerifyCall) -> Self {
        let state = held + requestBytes + call.expectations.listBytes
        return RequestCost(
            bytes: state, state: state,
            answer: plainAnswerBytes + (call.returnsPayload ? held : 0))
    }

    /// A request itself, with its call and its places in queues.
    static let requestBytes = MemoryLayout<VerifyCall>.size + 256
    /// A verdict with its reason and its certificates' names.
    static let plainAnswerBytes = 512
}

extension VerifyCall {
    fileprivate var returnsPayload: Bool {
        returnsTypedPayload || returnsPayloadJSON || returnsVerifyReceiptJSON
    }
}

extension Expectations {
    /// Memory of its list, which the caller decides.
    fileprivate var listBytes: Int {
        productIds.reduce(productIds.capacity * MemoryLayout<String>.stride) {
            // Shorter ones are in the list itself.
            $0 + ($1.utf8.count > 15 ? $1.utf8.count + 32 : 0)
        }
    }
}
