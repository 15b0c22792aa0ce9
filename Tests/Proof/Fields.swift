@_silgen_name("prove_add") func proveAdd(_ a: UInt64, _ b: UInt64) -> UInt64
@_silgen_name("prove_subtract") func proveSubtract(_ a: UInt64, _ b: UInt64) -> UInt64
@_silgen_name("prove_multiply") func proveMultiply(_ a: UInt64, _ b: UInt64) -> UInt64
@_silgen_name("prove_invert") func proveInvert(_ a: UInt64) -> UInt64
@_silgen_name("prove_is_zero") func proveIsZero(_ a: UInt64) -> UInt64
@_silgen_name("prove_element") func proveElement(_ field: Int, _ words: UnsafeRawPointer) -> UInt64
@_silgen_name("prove_number") func proveNumber(_ a: UInt64, _ words: UnsafeMutableRawPointer)

protocol ProvenField: PrimeField {
    static var tag: Int { get }
    var id: UInt64 { get }
    init(id: UInt64)
}

extension ProvenField {
    package init(_ number: Words) {
        self.init(id: unsafe withUnsafePointer(to: number) { unsafe proveElement(Self.tag, $0) })
    }
    package var number: Words {
        var words = Words.zero
        unsafe withUnsafeMutablePointer(to: &words) { unsafe proveNumber(id, $0) }
        return words
    }
    package static func + (a: Self, b: Self) -> Self { Self(id: proveAdd(a.id, b.id)) }
    package static func - (a: Self, b: Self) -> Self { Self(id: proveSubtract(a.id, b.id)) }
    package static func * (a: Self, b: Self) -> Self { Self(id: proveMultiply(a.id, b.id)) }
    package static prefix func - (a: Self) -> Self { zero - a }
    package static func == (a: Self, b: Self) -> Bool { (a - b).isZero }
    package var isZero: Bool { proveIsZero(id) != 0 }
    package func squared() -> Self { self * self }
    package func inverted() -> Self { Self(id: proveInvert(id)) }
}

package struct P256Field: ProvenField {
    package typealias Words = Words4
    let id: UInt64
    private let w1: UInt64 = 0, w2: UInt64 = 0, w3: UInt64 = 0
    init(id: UInt64) { self.id = id }
    static var tag: Int { 0 }
    package static var modulus: Words4 {
        Words4(.max, 0xFFFF_FFFF, 0, 0xFFFF_FFFF_0000_0001)
    }
    package static var zero: Self { Self(.zero) }
    package static var one: Self { Self(Words4(1, 0, 0, 0)) }
}
package struct P256Order: ProvenField {
    package typealias Words = Words4
    let id: UInt64
    private let w1: UInt64 = 0, w2: UInt64 = 0, w3: UInt64 = 0
    init(id: UInt64) { self.id = id }
    static var tag: Int { 1 }
    package static var modulus: Words4 {
        Words4(
            0xF3B9_CAC2_FC63_2551, 0xBCE6_FAAD_A717_9E84, .max, 0xFFFF_FFFF_0000_0000)
    }
    package static var zero: Self { Self(.zero) }
    package static var one: Self { Self(Words4(1, 0, 0, 0)) }
}
package struct P384Field: ProvenField {
    package typealias Words = Words6
    let id: UInt64
    private let w1: UInt64 = 0, w2: UInt64 = 0, w3: UInt64 = 0, w4: UInt64 = 0, w5: UInt64 = 0
    init(id: UInt64) { self.id = id }
    static var tag: Int { 2 }
    package static var modulus: Words6 {
        Words6(0xFFFF_FFFF, 0xFFFF_FFFF_0000_0000, .max - 1, .max, .max, .max)
    }
    package static var zero: Self { Self(.zero) }
    package static var one: Self { Self(Words6(1, 0, 0, 0, 0, 0)) }
}
package struct P384Order: ProvenField {
    package typealias Words = Words6
    let id: UInt64
    private let w1: UInt64 = 0, w2: UInt64 = 0, w3: UInt64 = 0, w4: UInt64 = 0, w5: UInt64 = 0
    init(id: UInt64) { self.id = id }
    static var tag: Int { 3 }
    package static var modulus: Words6 {
        Words6(
            0xECEC_196A_CCC5_2973, 0x581A_0DB2_48B0_A77A, 0xC763_4D81_F437_2DDF, .max, .max,
            .max)
    }
    package static var zero: Self { Self(.zero) }
    package static var one: Self { Self(Words6(1, 0, 0, 0, 0, 0)) }
}
