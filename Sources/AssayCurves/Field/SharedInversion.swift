/// One inversion for many elements (Montgomery's trick): the product of all is inverted, and each
/// inverse is then taken out of it by multiplications, three an element in total.
///
/// The elements are appended, and their inverses come back in the opposite order. None may be
/// zero: it would make all inverses zero.
@safe struct SharedInversion<Field: PrimeField> {
    private let elements: UnsafeMutablePointer<Field>
    /// The product of all elements before each one.
    private let products: UnsafeMutablePointer<Field>
    private(set) var count = 0
    /// While appending: the product of all elements. After `invert()`: the inverse of the product
    /// of those whose inverses have not been taken.
    private var product = Field.one

    /// - Parameter scratch: Its storage is used, and has to outlive this value.
    @inline(__always)
    init(_ scratch: Scratch) {
        unsafe elements = scratch.elements
        unsafe products = scratch.products
    }

    @inline(__always)
    mutating func append(_ element: Field) {
        unsafe elements[count] = element
        unsafe products[count] = product
        product = product * element
        count &+= 1
    }

    mutating func invert() { product = product.inverted() }

    /// The inverse of the last element whose inverse has not been taken.
    @inline(__always)
    mutating func takeLast() -> Field {
        count &-= 1
        let inverse = unsafe product * products[count]
        unsafe product = product * elements[count]
        return inverse
    }

    /// The storage for a number of elements.
    @safe final class Scratch {
        fileprivate let elements: UnsafeMutablePointer<Field>
        fileprivate let products: UnsafeMutablePointer<Field>

        init(capacity: Int) {
            unsafe elements = .allocate(capacity: capacity)
            unsafe products = .allocate(capacity: capacity)
        }

        deinit {
            unsafe elements.deallocate()
            unsafe products.deallocate()
        }
    }
}
