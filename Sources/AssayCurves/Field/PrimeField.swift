/// An element of a prime field in Montgomery form: the number a is stored as a·R mod m, with
/// R = 2^(64·`Words.count`), always less than m.
///
/// Every operation accepts and returns fully reduced values, so bounds need no tracking. The
/// operations take the same time for all values only as far as that costs nothing: signatures
/// that are verified are public.
package protocol PrimeField: Sendable, BitwiseCopyable, Equatable {
    associatedtype Words: FixedWords

    static var modulus: Words { get }
    static var zero: Self { get }
    static var one: Self { get }

    /// The element for a number below the modulus.
    init(_ number: Words)
    /// The number that this element stands for, below the modulus.
    var number: Words { get }

    static func + (a: Self, b: Self) -> Self
    static func - (a: Self, b: Self) -> Self
    static func * (a: Self, b: Self) -> Self
    static prefix func - (a: Self) -> Self
    func squared() -> Self
    func doubled() -> Self
    var isZero: Bool { get }
    /// 1 / `self`, or zero for zero.
    func inverted() -> Self
    /// The product with a number below the modulus, as a number below it.
    func product(_ number: Words) -> Words
}

extension PrimeField {
    /// The element for `Words.byteCount` big-endian octets, or nil unless they are a number below
    /// the modulus.
    package init?(bigEndian octets: Span<UInt8>) {
        guard let number = Self.number(bigEndian: octets) else { return nil }
        self.init(number)
    }

    /// The number of `Words.byteCount` big-endian octets, or nil unless it is below the modulus.
    static func number(bigEndian octets: Span<UInt8>) -> Words? {
        guard octets.count == Words.byteCount else { return nil }
        let number = Words(bigEndian: octets)
        return number.isBelow(modulus) ? number : nil
    }

    @inline(__always) package func doubled() -> Self { self + self }

    package func product(_ number: Words) -> Words { (Self(number) * self).number }
}
