/// The beginning of all keys of an app, which name its purchases and statements.
package struct KeyPrefix: Equatable, Sendable {
    /// The environment; the store where evidence names none.
    let origin: String
    /// The bundle id.
    let app: String

    package init(_ origin: String, _ app: String?) {
        self.origin = origin
        self.app = app ?? "-"
    }

    package var text: String { key { _ in } }

    /// A key of the app.
    ///
    /// - Parameter append: Appends what follows the prefix.
    package func key(_ append: (inout KeyText) -> Void) -> String {
        var key = KeyText()
        key.append(origin)
        key.append(UInt8(ascii: "/"))
        key.append(app)
        key.append(UInt8(ascii: "/"))
        append(&key)
        return key.finish()
    }

    package func key(of purchase: PurchaseIdentity) -> String {
        key { key in
            key.append(purchase.id)
            guard let lineItem = purchase.lineItem else { return }
            key.append(UInt8(ascii: "/"))
            key.append(lineItem)
        }
    }
}

/// A key while its parts are joined. An answer has two: joined as strings, their parts would take
/// several times as long. Most keys, those of Google's long tokens too, need no memory of their own
/// before they are finished.
package struct KeyText: ~Copyable {
    private var first = [256 of UInt8](repeating: 0)
    private var count = 0
    /// What does not fit `first`.
    private var rest: [UInt8] = []

    package mutating func append(_ byte: UInt8) {
        if count < first.count {
            first[count] = byte
            count &+= 1
        } else {
            rest.append(byte)
        }
    }

    package mutating func append(_ part: String) {
        let utf8 = part.utf8.span
        guard utf8.count <= first.count &- count else {
            for index in utf8.indices { append(utf8[index]) }
            return
        }
        for index in utf8.indices { first[count &+ index] = utf8[index] }
        count &+= utf8.count
    }

    package mutating func append(_ number: Int64) {
        // A date's digits are a string without memory of its own.
        append(number.description)
    }

    fileprivate consuming func finish() -> String {
        if rest.isEmpty, let text = try? UTF8Span(validating: first.span.extracting(0..<count)) {
            return String(copying: text)
        }
        var utf8: [UInt8] = []
        for index in 0..<count { utf8.append(first[index]) }
        return String(decoding: utf8 + rest, as: UTF8.self)
    }
}
