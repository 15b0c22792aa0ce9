/// The streams of a connection by their numbers. Most look-ups are for the one that began last.
struct HTTP2Streams {
    private var all: [Int32: HTTP2Stream] = [:]
    private var latest: HTTP2Stream?

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }
    var values: some Collection<HTTP2Stream> { all.values }

    subscript(number: Int32) -> HTTP2Stream? {
        if let latest, latest.number == number { return latest }
        return all[number]
    }

    mutating func add(_ stream: HTTP2Stream) {
        all[stream.number] = stream
        latest = stream
    }

    mutating func remove(_ number: Int32) -> HTTP2Stream? {
        if latest?.number == number { latest = nil }
        return all.removeValue(forKey: number)
    }
}
