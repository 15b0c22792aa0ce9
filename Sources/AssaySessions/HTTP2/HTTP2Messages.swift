import AssayTelemetry
import AssayWire

/// What a stream of messages holds, beside that of a request: the requests on it, and what is
/// arriving.
struct HTTP2Messages {
    let call: RPCCall
    /// Bytes of a message that is read whole.
    let limit: Int
    /// Looks for evidence in the message that is arriving, to verify it as it arrives.
    var arrival: RPCArrival?
    /// Bytes of a refused message that are dropped.
    var skipped = 0
    /// The client's numbers of the requests that are not answered, by the number in their ids.
    private var open: [UInt64: UInt64] = [:]
    private var last: UInt64 = 0
    /// The service that is watched, and its state when the client was last notified.
    var watched: (service: String, state: RPCHealth)?
    var hasMessage = false

    init(_ call: RPCCall, limit: Int) {
        self.call = call
        self.limit = limit
    }

    /// Whether every request is answered.
    var isEmpty: Bool { open.isEmpty }

    /// When the time of all requests on it ends; nil without a limit.
    func deadline(since began: UInt64) -> UInt64? {
        call.timeout == 0 ? nil : began + UInt64(call.timeout)
    }

    /// Begins a request. Returns the number in its id, which fits in 32 bits.
    mutating func begin() -> UInt64 {
        last = last % UInt64(UInt32.max) + 1
        open[last] = 0
        return last
    }

    func isOpen(_ number: UInt64) -> Bool { open[number] != nil }

    /// The numbers of the requests that are not answered.
    var openNumbers: [UInt64] { Array(open.keys) }

    /// Records the client's number of a request.
    mutating func name(_ number: UInt64, _ item: UInt64) { open[number] = item }

    /// How the answer to a request is written.
    func form(of number: UInt64) -> RPCForm {
        var form = call.form
        form.item = open[number] ?? 0
        return form
    }

    mutating func didAnswer(_ number: UInt64) { open[number] = nil }
}
