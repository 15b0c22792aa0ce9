// Compiled by script/prove together with the generic code of AssayCurves: a field whose operations
// are functions that the proof replaces, so that formulas are executed on polynomials.

@_silgen_name("prove_add") func proveAdd(_ a: UInt64, _ b: UInt64) -> UInt64
@_silgen_name("prove_subtract") func proveSubtract(_ a: UInt64, _ b: UInt64) -> UInt64
@_silgen_name("prove_multiply") func proveMultiply(_ a: UInt64, _ b: UInt64) -> UInt64
@_silgen_name("prove_invert") func proveInvert(_ a: UInt64) -> UInt64
@_silgen_name("prove_number") func proveNumber(
    _ w0: UInt64, _ w1: UInt64, _ w2: UInt64, _ w3: UInt64
) -> UInt64
@_silgen_name("prove_is_zero") func proveIsZero(_ a: UInt64) -> UInt64

package struct ProvenField: PrimeField {
    let word: UInt64

    init(word: UInt64) { self.word = word }
    package init(_ number: Words4) {
        word = proveNumber(number.w0, number.w1, number.w2, number.w3)
    }
    package var number: Words4 { Words4(word, 0, 0, 0) }

    package static var modulus: Words4 { P256Field.modulus }
    package static var zero: Self { Self(.zero) }
    package static var one: Self { Self(Words4(1, 0, 0, 0)) }
    package var isZero: Bool { proveIsZero(word) != 0 }

    package static func + (a: Self, b: Self) -> Self { Self(word: proveAdd(a.word, b.word)) }
    package static func - (a: Self, b: Self) -> Self { Self(word: proveSubtract(a.word, b.word)) }
    package static func * (a: Self, b: Self) -> Self { Self(word: proveMultiply(a.word, b.word)) }
    package static prefix func - (a: Self) -> Self { zero - a }
    package static func == (a: Self, b: Self) -> Bool { (a - b).isZero }
    package func squared() -> Self { self * self }
    package func inverted() -> Self { Self(word: proveInvert(word)) }
}

package enum ProvenCurve: PrimeCurve {
    package typealias Field = ProvenField
    package typealias Order = P256Order

    package static var b: ProvenField { fatalError() }
    package static var generator: AffinePoint<ProvenCurve> { fatalError() }
    package static var fieldMinusOrder: Words4 { P256.fieldMinusOrder }
    package static var generatorTable: FixedBaseTable<ProvenCurve> { fatalError() }
}

typealias Affine = AffinePoint<ProvenCurve>
typealias Extended = ExtendedJacobianPoint<ProvenCurve>
typealias Jacobian = JacobianPoint<ProvenCurve>

@_silgen_name("proven_extended_double") @inline(never)
package func provenExtendedDouble(_ point: UnsafeMutableRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: Extended.self)
    unsafe point.pointee = unsafe point.pointee.doubled()
}

@_silgen_name("proven_extended_sum") @inline(never)
package func provenExtendedSum(_ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: Extended.self)
    let other = unsafe other.assumingMemoryBound(to: Affine.self).pointee
    unsafe point.pointee = unsafe point.pointee.adding(other)
}

@_silgen_name("proven_jacobian_double") @inline(never)
package func provenJacobianDouble(_ point: UnsafeMutableRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: Jacobian.self)
    unsafe point.pointee = unsafe point.pointee.portableDouble()
}

@_silgen_name("proven_jacobian_sum") @inline(never)
package func provenJacobianSum(_ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: Jacobian.self)
    let other = unsafe other.assumingMemoryBound(to: Affine.self).pointee
    unsafe point.pointee = unsafe point.pointee.portableSum(other)
}

@_silgen_name("proven_affine_sum") @inline(never)
package func provenAffineSum(
    _ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer, _ slope: UInt64
) {
    let point = unsafe point.assumingMemoryBound(to: Affine.self)
    let other = unsafe other.assumingMemoryBound(to: Affine.self).pointee
    unsafe point.pointee = unsafe point.pointee.sum(other, slope: ProvenField(word: slope))
}

@_silgen_name("proven_comparison") @inline(never)
package func provenComparison(_ x: UInt64, _ zz: UInt64, _ r: UnsafeRawPointer) -> UInt64 {
    let r = unsafe r.assumingMemoryBound(to: Words4.self).pointee
    let outcome = ECDSAOutcome.comparing(
        ProvenCurve.self, x: ProvenField(word: x), zz: ProvenField(word: zz), r)
    return switch outcome {
    case .fails: 0
    case .holds: 1
    case .undecided: 2
    }
}

/// Inverts some elements together, and replaces them by their inverses.
@_silgen_name("proven_inversion") @inline(never)
package func provenInversion(_ elements: UnsafeMutableRawPointer, _ count: Int) {
    let elements = unsafe elements.assumingMemoryBound(to: ProvenField.self)
    let scratch = SharedInversion<ProvenField>.Scratch(capacity: count)
    var inversion = SharedInversion<ProvenField>(scratch)
    for index in 0..<count { unsafe inversion.append(elements[index]) }
    inversion.invert()
    for index in (0..<count).reversed() { unsafe elements[index] = inversion.takeLast() }
}
