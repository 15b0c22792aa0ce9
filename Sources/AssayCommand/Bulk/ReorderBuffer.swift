/// Returns elements in the order of their numbers, whatever the order of their arrival.
struct ReorderBuffer<Element> {
    /// The number of the next element to return. Numbers begin at 0.
    private(set) var next = 0
    private var waiting: [Int: Element] = [:]

    /// Adds the element with this number.
    ///
    /// - Precondition: the number was not added before.
    mutating func insert(_ element: Element, at number: Int) {
        precondition(number >= next, "the element was already returned")
        let earlier = waiting.updateValue(element, forKey: number)
        precondition(earlier == nil, "each number has one element")
    }

    /// Removes and returns the next element; nil until it is there.
    mutating func popNext() -> Element? {
        guard let element = waiting.removeValue(forKey: next) else { return nil }
        next += 1
        return element
    }
}

extension ReorderBuffer: Sendable where Element: Sendable {}
