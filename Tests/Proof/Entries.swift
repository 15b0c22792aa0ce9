// Compiled by script/prove together with AssayCurves and Fields.swift: entry points of the proof.

@_silgen_name("proven_table_p256") @inline(never)
package func provenTable256(_ point: UnsafeRawPointer, _ doublings: Int) -> UnsafeRawPointer {
    let point = unsafe point.assumingMemoryBound(to: AffinePoint<P256>.self).pointee
    let table = FixedBaseTable<P256>(point, coordinateDoublings: doublings)
    return unsafe UnsafeRawPointer(table.points)
}

@_silgen_name("proven_table_p384") @inline(never)
package func provenTable384(_ point: UnsafeRawPointer, _ doublings: Int) -> UnsafeRawPointer {
    let point = unsafe point.assumingMemoryBound(to: AffinePoint<P384>.self).pointee
    let table = FixedBaseTable<P384>(point, coordinateDoublings: doublings)
    return unsafe UnsafeRawPointer(table.points)
}

@_silgen_name("proven_double_p256") @inline(never)
package func provenDouble256(_ point: UnsafeMutableRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: ExtendedJacobianPoint<P256>.self)
    unsafe point.pointee = unsafe point.pointee.doubled()
}

@_silgen_name("proven_double_p384") @inline(never)
package func provenDouble384(_ point: UnsafeMutableRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: ExtendedJacobianPoint<P384>.self)
    unsafe point.pointee = unsafe point.pointee.doubled()
}

@_silgen_name("proven_constants_p256") @inline(never)
package func provenConstants256(
    _ elements: UnsafeMutableRawPointer, _ words: UnsafeMutableRawPointer
) -> Int {
    let elements = unsafe elements.assumingMemoryBound(to: P256Field.self)
    unsafe elements[0] = P256.b
    unsafe elements[1] = P256.generator.x
    unsafe elements[2] = P256.generator.y
    unsafe words.assumingMemoryBound(to: Words4.self).pointee = P256.fieldMinusOrder
    return P256.windowBits
}

@_silgen_name("proven_constants_p384") @inline(never)
package func provenConstants384(
    _ elements: UnsafeMutableRawPointer, _ words: UnsafeMutableRawPointer
) -> Int {
    let elements = unsafe elements.assumingMemoryBound(to: P384Field.self)
    unsafe elements[0] = P384.b
    unsafe elements[1] = P384.generator.x
    unsafe elements[2] = P384.generator.y
    unsafe words.assumingMemoryBound(to: Words6.self).pointee = P384.fieldMinusOrder
    return P384.windowBits
}

/// The generator's table for each arithmetic of P-256, and that of P-384.
@_silgen_name("proven_generator_table") @inline(never)
package func provenGeneratorTable(_ arithmetic: Int) {
    switch arithmetic {
    case 0: _ = P256Verification.generatorTable(for: .portable)
    case 1: _ = P256Verification.generatorTable(for: .avx2)
    case 2: _ = P256Verification.generatorTable(for: .ifma)
    default: P384Verification.buildGeneratorTable()
    }
}

/// A key's table likewise. Returns false for octets that are no point.
@_silgen_name("proven_key_table") @inline(never)
package func provenKeyTable(_ arithmetic: Int, _ octets: UnsafeRawPointer, _ count: Int) -> Bool {
    let octets = unsafe octets.assumingMemoryBound(to: UInt8.self)
    let buffer = unsafe UnsafeBufferPointer(start: octets, count: count)
    switch arithmetic {
    case 0: return unsafe P256Verification.table(uncompressed: buffer.span, for: .portable) != nil
    case 1: return unsafe P256Verification.table(uncompressed: buffer.span, for: .avx2) != nil
    case 2: return unsafe P256Verification.table(uncompressed: buffer.span, for: .ifma) != nil
    default: return unsafe P384Verification.table(uncompressed: buffer.span) != nil
    }
}

@_silgen_name("proven_read_p256") @inline(never)
package func provenRead256(
    _ octets: UnsafeRawPointer, _ count: Int, _ point: UnsafeMutableRawPointer
) -> Bool {
    let octets = unsafe octets.assumingMemoryBound(to: UInt8.self)
    let buffer = unsafe UnsafeBufferPointer(start: octets, count: count)
    guard let read = unsafe AffinePoint<P256>(uncompressed: buffer.span) else { return false }
    unsafe point.assumingMemoryBound(to: AffinePoint<P256>.self).pointee = read
    return true
}

@_silgen_name("proven_read_p384") @inline(never)
package func provenRead384(
    _ octets: UnsafeRawPointer, _ count: Int, _ point: UnsafeMutableRawPointer
) -> Bool {
    let octets = unsafe octets.assumingMemoryBound(to: UInt8.self)
    let buffer = unsafe UnsafeBufferPointer(start: octets, count: count)
    guard let read = unsafe AffinePoint<P384>(uncompressed: buffer.span) else { return false }
    unsafe point.assumingMemoryBound(to: AffinePoint<P384>.self).pointee = read
    return true
}

/// e, r and s as the words of a number, and whether r and s are in range.
@_silgen_name("proven_numbers_p256") @inline(never)
package func provenNumbers256(
    _ octets: UnsafeRawPointer, _ counts: UnsafePointer<Int>, _ found: UnsafeMutableRawPointer
) -> Bool {
    let (digest, r, s) = unsafe split(octets, counts)
    let numbers = unsafe ECDSANumbers<P256>(digest: digest.span, r: r.span, s: s.span)
    unsafe found.assumingMemoryBound(to: Words4.self)[0] = numbers.e
    unsafe found.assumingMemoryBound(to: Words4.self)[1] = numbers.r
    unsafe (found + 64).assumingMemoryBound(to: P256Order.self).pointee = numbers.s
    return numbers.isInRange
}

@_silgen_name("proven_numbers_p384") @inline(never)
package func provenNumbers384(
    _ octets: UnsafeRawPointer, _ counts: UnsafePointer<Int>, _ found: UnsafeMutableRawPointer
) -> Bool {
    let (digest, r, s) = unsafe split(octets, counts)
    let numbers = unsafe ECDSANumbers<P384>(digest: digest.span, r: r.span, s: s.span)
    unsafe found.assumingMemoryBound(to: Words6.self)[0] = numbers.e
    unsafe found.assumingMemoryBound(to: Words6.self)[1] = numbers.r
    unsafe (found + 96).assumingMemoryBound(to: P384Order.self).pointee = numbers.s
    return numbers.isInRange
}

/// Digest, r and s, each at the next multiple of 128 octets.
private func split(
    _ octets: UnsafeRawPointer, _ counts: UnsafePointer<Int>
) -> (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) {
    let start = unsafe octets.assumingMemoryBound(to: UInt8.self)
    return unsafe (
        UnsafeBufferPointer(start: start, count: counts[0]),
        UnsafeBufferPointer(start: start + 128, count: counts[1]),
        UnsafeBufferPointer(start: start + 256, count: counts[2])
    )
}

@_silgen_name("proven_outcome_p384") @inline(never)
package func provenOutcome384(
    _ x: UnsafeRawPointer, _ zz: UnsafeRawPointer, _ r: UnsafeRawPointer
) -> UInt64 {
    let outcome = unsafe ECDSAOutcome.comparing(
        P384.self, x: x.assumingMemoryBound(to: P384Field.self).pointee,
        zz: zz.assumingMemoryBound(to: P384Field.self).pointee,
        r.assumingMemoryBound(to: Words6.self).pointee)
    return switch outcome {
    case .fails: 0
    case .holds: 1
    case .undecided: 2
    }
}

/// Verifies signatures: digest, r and s, of 32 octets each. An outcome: 0 fails, 1 holds, 2
/// undecided.
@_silgen_name("proven_batch") @inline(never)
package func provenBatch(
    _ arithmetic: Int, _ tables: UnsafePointer<UnsafeRawPointer>, _ octets: UnsafeRawPointer,
    _ count: Int, _ outcomes: UnsafeMutablePointer<UInt8>
) {
    let batch = P256Verification(
        capacity: count, arithmetic: arithmetic == 0 ? .portable : arithmetic == 1 ? .avx2 : .ifma)
    for index in 0..<count {
        let start = unsafe (octets + 96 * index).assumingMemoryBound(to: UInt8.self)
        let table = unsafe Unmanaged<FixedBaseTable<P256>>.fromOpaque(tables[index])
        unsafe batch.append(
            table.takeUnretainedValue(),
            digest: UnsafeBufferPointer(start: start, count: 32).span,
            r: UnsafeBufferPointer(start: start + 32, count: 32).span,
            s: UnsafeBufferPointer(start: start + 64, count: 32).span)
    }
    batch.verify()
    for index in 0..<count {
        unsafe outcomes[index] =
            switch batch.outcome(index) {
            case .fails: 0
            case .holds: 1
            case .undecided: 2
            }
    }
}

/// Verifies a signature on P-384: 48 octets each. 3 is nil.
@_silgen_name("proven_one_with_table") @inline(never)
package func provenOneWithTable(_ table: UnsafeRawPointer, _ octets: UnsafeRawPointer) -> Int {
    let start = unsafe octets.assumingMemoryBound(to: UInt8.self)
    let table = unsafe Unmanaged<FixedBaseTable<P384>>.fromOpaque(table).takeUnretainedValue()
    let holds = unsafe P384Verification.verifies(
        table, digest: UnsafeBufferPointer(start: start, count: 48).span,
        r: UnsafeBufferPointer(start: start + 48, count: 48).span,
        s: UnsafeBufferPointer(start: start + 96, count: 48).span)
    return holds == nil ? 3 : holds! ? 1 : 0
}

@_silgen_name("proven_one_without_table") @inline(never)
package func provenOneWithoutTable(_ key: UnsafeRawPointer, _ octets: UnsafeRawPointer) -> Int {
    let start = unsafe octets.assumingMemoryBound(to: UInt8.self)
    let key = unsafe key.assumingMemoryBound(to: UInt8.self)
    let holds = unsafe P384Verification.verifies(
        key: UnsafeBufferPointer(start: key, count: 97).span,
        digest: UnsafeBufferPointer(start: start, count: 48).span,
        r: UnsafeBufferPointer(start: start + 48, count: 48).span,
        s: UnsafeBufferPointer(start: start + 96, count: 48).span)
    return holds == nil ? 3 : holds! ? 1 : 0
}

@_silgen_name("proven_affine_sum_p256") @inline(never)
package func provenAffineSum256(
    _ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer, _ slope: UnsafeRawPointer
) {
    let point = unsafe point.assumingMemoryBound(to: AffinePoint<P256>.self)
    unsafe point.pointee = unsafe point.pointee.sum(
        other.assumingMemoryBound(to: AffinePoint<P256>.self).pointee,
        slope: slope.assumingMemoryBound(to: P256Field.self).pointee)
}

@_silgen_name("proven_affine_sum_p384") @inline(never)
package func provenAffineSum384(
    _ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer, _ slope: UnsafeRawPointer
) {
    let point = unsafe point.assumingMemoryBound(to: AffinePoint<P384>.self)
    unsafe point.pointee = unsafe point.pointee.sum(
        other.assumingMemoryBound(to: AffinePoint<P384>.self).pointee,
        slope: slope.assumingMemoryBound(to: P384Field.self).pointee)
}

@_silgen_name("proven_extended_sum_p256") @inline(never)
package func provenExtendedSum256(_ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: ExtendedJacobianPoint<P256>.self)
    unsafe point.pointee = unsafe point.pointee.adding(
        other.assumingMemoryBound(to: AffinePoint<P256>.self).pointee)
}

@_silgen_name("proven_extended_sum_p384") @inline(never)
package func provenExtendedSum384(_ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer) {
    let point = unsafe point.assumingMemoryBound(to: ExtendedJacobianPoint<P384>.self)
    unsafe point.pointee = unsafe point.pointee.adding(
        other.assumingMemoryBound(to: AffinePoint<P384>.self).pointee)
}

@_silgen_name("proven_jacobian_double_p384") @inline(never)
package func provenJacobianDouble384(_ point: UnsafeMutableRawPointer) {
    unsafe point.assumingMemoryBound(to: JacobianPoint<P384>.self).pointee.double()
}

@_silgen_name("proven_jacobian_sum_p384") @inline(never)
package func provenJacobianSum384(_ point: UnsafeMutableRawPointer, _ other: UnsafeRawPointer) {
    unsafe point.assumingMemoryBound(to: JacobianPoint<P384>.self).pointee.add(
        other.assumingMemoryBound(to: AffinePoint<P384>.self).pointee)
}
