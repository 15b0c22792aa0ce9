import Glibc

/// The C library's functions that the standard library does not have.
extension Double {
    package static func log(_ value: Double) -> Double { Glibc.log(value) }
    package static func log10(_ value: Double) -> Double { Glibc.log10(value) }
    package static func exp10(_ power: Double) -> Double { Glibc.pow(10, power) }
}
