import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Calls of the services over HTTP/1.1: Connect and gRPC-Web.
extension HTTPSession {
    // MARK: Arriving messages

    /// Takes data of a message. Returns false if it needs more bytes.
    func takeMessage(
        _ count: Int, _ unread: SlabBytes, _ call: RPCCall, _ limit: Int,
        _ current: HTTPArrivingRequest,
        _ connection: Connection
    ) -> Bool {
        let isWhole = !current.isChunked && count == current.body.announced
        guard var arrival = call.arrival, !isWhole else {
            return takeWhole(count, unread, limit, connection)
        }
        if current.isChunked {
            guard collect(count, unread, limit, connection) else { return true }
        } else {
            guard admitsPart(unread, connection) else { return true }
        }
        guard let bytes = current.isChunked ? collected.bytes : unread.extracting(0..<count) else {
            return false
        }
        do throws(HTTPProblem) {
            var call = call
            switch try arrival.next(in: bytes.span) {
            case .needMore: call.arrival = arrival
            case .evidence(let head, let range):
                let head = try call.requestHead(current.id, head, by: connection.context.codec)
                if begin(head, range, bytes, connection) { return true }
                call.arrival = nil
            case .whole: call.arrival = nil
            }
            if call.arrival == nil, !current.isChunked, current.body.announced > limit {
                throw current.plan.problem(above: limit)
            }
            self.current?.plan = .message(call, limit: limit)
            if !current.isChunked {
                return call.arrival == nil && takeWhole(count, unread, limit, connection)
            }
        } catch {
            dropBody()
            refuse(current.id, error, connection)
            return true
        }
        if self.current?.body.isEnded == true { complete(connection) }
        return true
    }

    /// Decides about a call whose evidence begins to arrive. Returns false if it is read whole.
    ///
    /// - Parameter range: the evidence, in the bytes of the body from the first one on.
    private func begin(
        _ head: RequestHead, _ range: Range<Int>, _ bytes: SlabBytes, _ connection: Connection
    ) -> Bool {
        let service = connection.context.service
        switch service.begin(
            Request(head, as: responses[head.id], began: connection.requestBegan),
            bodyBytes: range.count, size: range.count, from: connection.flow)
        {
        case .refused:
            dropBody()
            return true
        case .whole, .resolve: return false
        case .receipt(let arriving):
            bodyRate = nil
            current?.plan = .receipt(arriving)
            current?.hasSizedReceipt = true
            guard current?.isChunked == true else {
                didTake(range.lowerBound, ofData: true, connection)
                return true
            }
            collected.removeAll()
            feed(arriving, bytes.extracting(range.lowerBound..<bytes.count), connection)
            return true
        }
    }

    /// Passes the start of a receipt, which was collected, to its verification.
    private func feed(_ receipt: ArrivingReceipt, _ start: SlabBytes, _ connection: Connection) {
        guard start.count <= receipt.remaining else {
            return refuseRest(of: receipt, receipt.id, connection)
        }
        if !connection.feed(receipt, collected: start) {
            current?.plan = .skip
            connection.context.service.refuse(receipt, from: connection.flow)
        } else if current?.body.isEnded == true {
            complete(connection)
        }
    }

    /// Refuses a receipt with bytes after it, in a message whose size was not known before.
    func refuseRest(of receipt: ArrivingReceipt, _ id: UInt64, _ connection: Connection) {
        current?.plan = .skip
        connection.context.service.drop(receipt, from: connection.flow)
        refuse(id, .evidenceNotLast, connection)
    }
}

extension HTTPProblem {
    static let evidenceNotLast = HTTPProblem(
        400, .invalidArgument, "the evidence is not the last field of its message")
}
