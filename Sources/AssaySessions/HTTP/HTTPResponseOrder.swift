import AssayHTTP

/// The order of the responses of a connection. Requests get ids in the order of their arrival.
/// Answers come in any order, and each waits here until those before it are written.
struct HTTPResponseOrder {
    /// The slots of responses that are not written, in the order of their requests.
    private var slots: [Slot] = []
    /// Index in `slots` of the next response.
    private var next = 0
    /// The id of the next response.
    private var nextId: UInt64 = 1
    /// Bytes of the responses that wait.
    private(set) var waitingBytes = 0

    private struct Slot {
        var style: HTTPResponseStyle
        /// The response, complete before its turn.
        var response: [UInt8]?
        /// Whether the client waits for an interim response before it sends the body.
        var awaitsInterim = false
    }

    /// Reserves the slot of the next request's response.
    mutating func begin(_ style: HTTPResponseStyle) -> UInt64 {
        slots.append(Slot(style: style))
        return nextId + UInt64(slots.count - next) - 1
    }

    private func slot(_ id: UInt64) -> Int {
        precondition(id >= nextId, "a request is answered once")
        return next + Int(id - nextId)
    }

    /// Whether every response is written.
    var isEmpty: Bool { next == slots.count }
    /// Whether a request was ever begun.
    var hasBegun: Bool { nextId > 1 || !isEmpty }

    /// How a response is written.
    subscript(id: UInt64) -> HTTPResponseStyle {
        _read { yield slots[slot(id)].style }
        _modify { yield &slots[slot(id)].style }
    }

    /// Whether the request still needs its response.
    func isOpen(_ id: UInt64) -> Bool { id >= nextId && slots[slot(id)].response == nil }

    /// The ids of the requests that still need their responses.
    var openIds: [UInt64] {
        (next..<slots.count).compactMap { index in
            slots[index].response == nil ? nextId + UInt64(index - next) : nil
        }
    }

    /// Whether the response is the next to be written.
    func isNext(_ id: UInt64) -> Bool { id == nextId }

    /// Keeps a response whose turn has not come.
    mutating func keep(_ response: [UInt8], for id: UInt64) {
        waitingBytes += response.count
        slots[slot(id)].response = response
    }

    /// Records that the next response was written, and appends those that waited for it.
    ///
    /// - Returns: the number of responses written.
    mutating func didWriteNext(into output: inout [UInt8]) -> Int {
        var count = 0
        repeat {
            if count > 0, let response = slots[next].response {
                output += response
                waitingBytes -= response.count
            }
            slots[next].response = nil
            next += 1
            nextId += 1
            count += 1
        } while next < slots.count && slots[next].response != nil
        if next < slots.count, slots[next].awaitsInterim {
            slots[next].awaitsInterim = false
            output += HTTP1Writer.interim
        }
        trim()
        return count
    }

    /// Asks the client to send the body, once the responses before this one are written.
    ///
    /// - Returns: whether that is now.
    mutating func requestBody(of id: UInt64) -> Bool {
        if isNext(id) { return true }
        slots[slot(id)].awaitsInterim = true
        return false
    }

    /// Records that the body has begun without the interim response.
    mutating func bodyHasBegun(of id: UInt64) {
        if isOpen(id) { slots[slot(id)].awaitsInterim = false }
    }

    private mutating func trim() {
        if next == slots.count {
            slots.removeAll(keepingCapacity: slots.count <= Self.keptSlots)
            next = 0
        } else if next >= Self.keptSlots, 2 * next >= slots.count {
            slots.removeFirst(next)
            next = 0
        }
    }

    /// Slots whose memory an idle connection keeps.
    private static let keptSlots = 16
}
