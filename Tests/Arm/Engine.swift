// The entry points of checks.c to AssayCurves. script/arm compiles this file with that module, as
// Embedded Swift: a toolchain for x86-64 has its standard library for Arm.

/// The arithmetics in the order of arm.py.
private let arithmetics: [P256Verification.Arithmetic] = [.portable, .neon]

/// Returns the table of a key, `04 ‖ x ‖ y`, or NULL for octets that are no point. Nothing frees
/// it.
@_cdecl("assay_arm_table")
public func makeTable(
    _ arithmetic: Int, _ key: UnsafePointer<UInt8>
) -> UnsafeMutableRawPointer? {
    guard
        let table = unsafe P256Verification.table(
            uncompressed: Span(_unsafeStart: key, count: 65), for: arithmetics[arithmetic])
    else { return nil }
    return unsafe Unmanaged.passRetained(table).toOpaque()
}

/// Verifies signatures in one batch. Each has a digest, r and s, of 32 octets each. An outcome is 0
/// for one that fails, 1 for one that holds, 2 for one that OpenSSL has to decide.
@_cdecl("assay_arm_verify")
public func verify(
    _ arithmetic: Int, _ count: Int, _ tables: UnsafePointer<UnsafeRawPointer>,
    _ numbers: UnsafePointer<UInt8>, _ outcomes: UnsafeMutablePointer<UInt64>
) {
    let batch = P256Verification(capacity: count, arithmetic: arithmetics[arithmetic])
    for index in 0..<count {
        let start = unsafe numbers + 96 * index
        let table = unsafe Unmanaged<P256Verification.Table>.fromOpaque(tables[index])
        unsafe batch.append(
            table.takeUnretainedValue(), digest: Span(_unsafeStart: start, count: 32),
            r: Span(_unsafeStart: start + 32, count: 32),
            s: Span(_unsafeStart: start + 64, count: 32))
    }
    batch.verify()
    for index in 0..<count {
        unsafe outcomes[index] = number(batch.outcome(index).holds)
    }
}

/// Verifies a signature on P-384, of a digest, r and s of 48 octets each, without a table of the
/// key and with it. Writes both outcomes.
@_cdecl("assay_arm_verify_384")
public func verify384(
    _ key: UnsafePointer<UInt8>, _ numbers: UnsafePointer<UInt8>,
    _ outcomes: UnsafeMutablePointer<UInt64>
) {
    let key = unsafe Span(_unsafeStart: key, count: 97)
    let digest = unsafe Span(_unsafeStart: numbers, count: 48)
    let r = unsafe Span(_unsafeStart: numbers + 48, count: 48)
    let s = unsafe Span(_unsafeStart: numbers + 96, count: 48)
    unsafe outcomes[0] = number(
        P384Verification.verifies(key: key, digest: digest, r: r, s: s))
    guard let table = P384Verification.table(uncompressed: key) else {
        unsafe outcomes[1] = 3
        return
    }
    unsafe outcomes[1] = number(
        P384Verification.verifies(table, digest: digest, r: r, s: s))
}

private func number(_ holds: Bool?) -> UInt64 {
    guard let holds else { return 2 }
    return holds ? 1 : 0
}
