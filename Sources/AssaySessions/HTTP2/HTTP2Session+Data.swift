import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// Takes the data of requests, and opens the windows as it is used.
extension HTTP2Session {
    /// Takes data of a request. Returns false if it waits.
    func take(_ range: Range<Int>, _ number: Int32, _ connection: Connection) -> Bool {
        guard let stream = streams[number], let bytes = received else {
            next += 1
            engine.didUse(range.count, of: number)
            return true
        }
        stream.pace.didReceive(at: connection.now)
        guard
            let used = take(
                bytes.extracting(range), of: stream, isLast: isLastData(of: number), connection)
        else { return false }
        engine.didUse(used, of: number)
        // The window opens.
        touch(connection, answers: 0)
        if used < range.count {
            events[next] = .data(stream: number, range.lowerBound + used..<range.upperBound)
        } else {
            next += 1
        }
        return true
    }

    /// Whether the body of a stream ends with the next event.
    private func isLastData(of number: Int32) -> Bool {
        guard next + 1 < events.count, case .end(number) = events[next + 1] else { return false }
        return true
    }

    func didEndReceipt(
        _ receipt: ArrivingReceipt, of stream: HTTP2Stream, _ connection: Connection
    ) {
        // Without messages its answer waits for the end of the stream.
        guard stream.messages != nil else { return }
        endReceipt(stream, skipped: 0)
        connection.inlet.pay(for: .requests(1))
        connection.context.service.complete(receipt, from: connection.flow)
    }
}
