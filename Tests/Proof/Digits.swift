// Compiled by script/prove together with SignedDigits.swift: the recoding for the words of each
// curve, with the bits of its tables' windows.

@inline(never)
package func provenDigits(_ scalar: Words4, _ digits: UnsafeMutablePointer<Int16>) {
    unsafe SignedDigits.write(scalar, windowBits: 10, to: digits)
}

@inline(never)
package func provenDigits(_ scalar: Words6, _ digits: UnsafeMutablePointer<Int16>) {
    unsafe SignedDigits.write(scalar, windowBits: 8, to: digits)
}
