import AssayModels

/// Fills models field by field.
struct Sample {
    enum Style: CaseIterable {
        /// Every field has a distinct value, so that swapped fields show.
        case full
        /// Every field is present, and is zero, false or empty.
        case zero
        /// Values at the ends of their ranges; text with NUL and beyond ASCII.
        case extreme
    }

    let style: Style
    private var counter = 0

    init(_ style: Style) { self.style = style }

    private mutating func next() -> Int {
        counter += 1
        return counter
    }

    mutating func text() -> String {
        switch style {
        case .full: "text \(next())"
        case .zero: ""
        case .extreme: "a\0b\(next())\0 é 漢 👩‍👩‍👧 \u{0}"
        }
    }

    mutating func number<I: FixedWidthInteger>() -> I {
        switch style {
        case .full: I(next())
        case .zero: 0
        case .extreme: next() % 2 == 0 ? .min : .max
        }
    }

    mutating func flag() -> Bool { style == .full ? next() % 2 == 0 : style == .extreme }
    mutating func time() -> Timestamp { Timestamp(milliseconds: number()) }
    mutating func texts() -> [String] { style == .zero ? [] : [text(), "", text()] }
    mutating func named<V: RawRepresentable<String>>() -> V { V(rawValue: text())! }
    mutating func coded<V: RawRepresentable<Int32>>() -> V { V(rawValue: number())! }
    mutating func object<M: Sampled>() -> M { M(&self) }
    mutating func list<M: Sampled>() -> [M] { style == .zero ? [] : [M(&self), M(&self)] }
}

protocol Sampled: Equatable, Sendable {
    init(_ sample: inout Sample)
}

extension Sampled {
    static func sample(_ style: Sample.Style) -> Self {
        var sample = Sample(style)
        return Self(&sample)
    }
}

extension SigningCertificate: Sampled {
    init(_ sample: inout Sample) {
        self.init(serial: sample.text(), notAfter: sample.time(), expired: sample.flag())
    }
}

extension Expectations: Sampled {
    init(_ sample: inout Sample) {
        self.init(
            bundleId: sample.text(), appAppleId: sample.number(),
            environments: sample.texts().map(StoreEnvironment.init),
            productIds: sample.texts(), appAccountToken: sample.text(),
            transactionId: sample.text(), notOlderThan: sample.time())
    }
}
