import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// Takes the data of requests, and opens the windows as it is used.
extension HTTP2Session {
    /// Takes data of a request. Returns false if it waits.
    func take(_ range: Range<Int>, _ number: Int32, _ connection: Connection) -> Bool {
        guard let stream = streams[number], let bytes = arrivals.bytes else {
            arrivals.didTake()
            engine.didUse(range.count, of: number)
            return true
        }
        stream.pace.didReceive(at: connection.now)
        let (data, isLast) = (bytes.extracting(range), arrivals.endsWithCurrent(number))
        if isLast, takesAtOnce(data.count, of: stream, connection) {
            stream.arrived += data.count
            engine.didUse(data.count, of: number)
            touch(connection, answers: 0)
            // The end is the event after it.
            arrivals.didTake(2)
            complete(stream, whole: data, connection)
            return true
        }
        guard let used = take(data, of: stream, isLast: isLast, connection) else { return false }
        engine.didUse(used, of: number)
        // The window opens.
        touch(connection, answers: 0)
        if used < range.count {
            arrivals.replaceCurrent(
                by: .data(stream: number, range.lowerBound + used..<range.upperBound))
        } else {
            arrivals.didTake()
        }
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
