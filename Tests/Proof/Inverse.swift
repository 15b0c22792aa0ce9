// Compiled by script/prove together with ModularInverse.swift, without inlining: entry points.

@_silgen_name("proven_inverse_4") @inline(never)
package func provenInverse4(_ inversion: ModularInverse<5>, _ number: Words4) -> Words4 {
    inversion.inverse(of: number)
}

@_silgen_name("proven_inverse_6") @inline(never)
package func provenInverse6(_ inversion: ModularInverse<7>, _ number: Words6) -> Words6 {
    inversion.inverse(of: number)
}

@_silgen_name("proven_inversion_4") @inline(never)
package func provenInversion4(_ modulus: UnsafeRawPointer, _ result: UnsafeMutableRawPointer) {
    let modulus = unsafe modulus.assumingMemoryBound(to: Words4.self).pointee
    unsafe result.assumingMemoryBound(to: ModularInverse<5>.self).pointee =
        ModularInverse(modulus: modulus)
}

@_silgen_name("proven_inversion_6") @inline(never)
package func provenInversion6(_ modulus: UnsafeRawPointer, _ result: UnsafeMutableRawPointer) {
    let modulus = unsafe modulus.assumingMemoryBound(to: Words6.self).pointee
    unsafe result.assumingMemoryBound(to: ModularInverse<7>.self).pointee =
        ModularInverse(modulus: modulus)
}

@_silgen_name("proven_form") @inline(never)
package func provenForm(_ scalar: Words6, _ digits: UnsafeMutablePointer<Int8>) {
    unsafe NonAdjacentForm.write(scalar, to: digits)
}

@_silgen_name("proven_bits_1") @inline(never)
package func provenBits1(_ scalar: Words6, _ start: Int) -> Int { scalar.bits(1, from: start) }

@_silgen_name("proven_bits_5") @inline(never)
package func provenBits5(_ scalar: Words6, _ start: Int) -> Int { scalar.bits(5, from: start) }
