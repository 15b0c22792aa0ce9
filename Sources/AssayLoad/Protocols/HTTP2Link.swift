import AssayClient
import AssayHTTP
import AssayIO
import AssayWire

/// A connection of HTTP/2 with a call for each request.
class HTTP2Link: SocketLink {
    private(set) var client = HTTP2Client()
    private var tickets: [Ticket?] = []
    private var closed: [(slot: Int, code: UInt32)] = []

    override func begin() { client = HTTP2Client() }

    override func receive(_ bytes: SlabBytes) {
        do throws(HTTP2Fault) {
            try client.receive(bytes.span)
        } catch {
            let reason = state == .opening ? "it does not speak HTTP/2" : error.description
            return fail(.protocolViolation(reason))
        }
        stream?.received.skip(bytes.count)
        if state == .opening, client.hasSettings {
            didStart()
            didOpen()
        }
        takeAnswers()
        client.takeClosed(into: &closed)
        for (slot, code) in closed { didClose(slot, code) }
        closed.removeAll(keepingCapacity: true)
        if client.isDraining { drain() }
        if client.isOver || state == .draining && client.openStreams == 0 {
            return fail(.connectionLost)
        }
        pump()
        flushLater()
    }

    /// Begins what a connection needs before its first request.
    func didStart() {}
    /// Takes answers of streams that stay open.
    func takeAnswers() {}

    override func collectOutput() {
        do throws(HTTP2Fault) {
            try client.write(into: &output)
        } catch {
            fail(.protocolViolation(error.description))
        }
    }

    override func pump() {
        guard state == .open else { return }
        let limit = min(client.streamLimit, depth)
        while client.openStreams < limit, let ticket = waiting.popFirst() {
            let head = prepared.groups[ticket.group][ticket.item].head
            guard
                let slot = client.begin(
                    prepared.heads[head], prepared.groups[ticket.group][ticket.item].bytes)
            else {
                return owner.take(
                    .error("the connection takes no more requests"), of: ticket, from: self)
            }
            while tickets.count <= slot { tickets.append(nil) }
            tickets[slot] = ticket
            flushLater()
        }
    }

    func didClose(_ slot: Int, _ code: UInt32) {
        defer { client.release(slot) }
        // Without a ticket it was given up.
        guard let ticket = tickets[slot] else { return }
        tickets[slot] = nil
        let expectation = prepared.expectation(of: ticket)
        let outcome = client.withRequest(slot) { answered in
            guard answered.status > 0, code == 0 || answered.grpcStatus != nil else {
                return CallOutcome.error("the stream was reset with the code \(code)")
            }
            let body = answered.answer.span
            if encoding == .grpc {
                return reader.outcome(
                    status: answered.status, grpcStatus: answered.grpcStatus,
                    message: answered.grpcMessage, body, expectation)
            }
            return reader.outcome(
                status: answered.status, body, isConnect: encoding == .connect, expectation)
        }
        owner.take(outcome, of: ticket, from: self)
    }

    override func expireInFlight(at now: UInt64) {
        for slot in tickets.indices {
            guard let ticket = tickets[slot], now >= ticket.deadline else { continue }
            tickets[slot] = nil
            client.reset(slot)
            flushLater()
            owner.take(Self.late, of: ticket, from: self)
        }
    }

    override func takeInFlight() -> [Ticket] {
        defer { tickets = [] }
        return tickets.compactMap(\.self)
    }
}

/// A connection of HTTP/2 with one call of VerifyStream, and a message for each request.
final class RPCStreamLink: HTTP2Link {
    /// The stream's slot in the client.
    private var slot = 0
    /// The requests in flight; the id of a message is its index and one. Nil: given up, or free.
    private var messages: [Ticket?] = []
    private var freeIndexes: [Int] = []
    private var outcomes: [(index: Int, outcome: CallOutcome)] = []

    override func didStart() {
        slot = client.begin(PreparedRequests.streamHead(settings), [], isLast: false) ?? 0
    }

    override func pump() {
        guard state == .open else { return }
        let limit = depth
        while messages.count - freeIndexes.count < limit, let ticket = waiting.popFirst() {
            let index = freeIndexes.popLast() ?? messages.count
            if index == messages.count { messages.append(ticket) } else { messages[index] = ticket }
            let request = prepared.groups[ticket.group][ticket.item]
            client.append(to: slot) { Self.append(request.bytes, id: UInt64(index + 1), to: &$0) }
            flushLater()
        }
    }

    private static func append(_ message: [UInt8], id: UInt64, to body: inout [UInt8]) {
        let start = body.count
        body.append(contentsOf: [0, 0, 0, 0, 0, 1 << 3])
        PreparedRequests.append(varint: id, to: &body)
        let size = body.count - start - AnswerReader.prefixBytes + message.count
        for index in 1..<AnswerReader.prefixBytes {
            body[start + index] = UInt8(truncatingIfNeeded: size >> (32 - 8 * index))
        }
        body += message
    }

    override func takeAnswers() {
        guard state == .open || state == .draining else { return }
        let read = client.withRequest(slot) { answered in
            var next = 0
            while true {
                let unread = answered.answer.span.extracting(droppingFirst: next)
                guard let size = AnswerReader.size(unread), size <= unread.count else {
                    return next
                }
                next += size
                note(unread.extracting(AnswerReader.prefixBytes..<size))
            }
        }
        if read > 0 { client.dropAnswer(of: slot, first: read) }
        // Taking an outcome sends the next request of a closed loop.
        for (index, outcome) in outcomes {
            let ticket = messages[index]
            messages[index] = nil
            freeIndexes.append(index)
            if let ticket { owner.take(outcome, of: ticket, from: self) }
        }
        outcomes.removeAll(keepingCapacity: true)
    }

    private func note(_ message: Span<UInt8>) {
        let id = AnswerReader.id(of: message)
        guard id > 0, id <= UInt64(messages.count) else { return }
        let index = Int(id) - 1
        guard let ticket = messages[index] else { return outcomes.append((index, Self.late)) }
        let expectation = prepared.expectation(of: ticket)
        outcomes.append((index, reader.message(message, expectation)))
    }

    override func didClose(_ slot: Int, _ code: UInt32) {
        let error = client.withRequest(slot) { answered in
            let message = String(decoding: answered.grpcMessage, as: UTF8.self)
            let status = answered.grpcStatus.flatMap { Status(rawValue: Int32($0)) } ?? .unknown
            return ClientError.status(
                status, message: "the stream ended: \(message)", retryAfterMilliseconds: 0)
        }
        fail(error)
    }

    override func expireInFlight(at now: UInt64) {
        for index in messages.indices {
            guard let ticket = messages[index], now >= ticket.deadline else { continue }
            messages[index] = nil
            owner.take(Self.late, of: ticket, from: self)
        }
    }

    override func takeInFlight() -> [Ticket] {
        defer {
            messages = []
            freeIndexes = []
        }
        return messages.compactMap(\.self)
    }
}
