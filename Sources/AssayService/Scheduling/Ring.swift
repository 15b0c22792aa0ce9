/// A first-in, first-out list in a circular buffer. The buffer grows by doubling and is then used
/// again, so no operation allocates after a warm-up. Inlinable, because a generic type of another
/// module is not specialised otherwise.
package struct Ring<Element> {
    @usableFromInline var slots: [Element?] = []
    @usableFromInline var head = 0
    @usableFromInline package internal(set) var count = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { count == 0 }
    /// Elements that fit without another allocation.
    var capacity: Int { slots.count }

    @usableFromInline static var leastCapacity: Int { 4 }

    /// The slot of an element. The number of slots is a power of two.
    @usableFromInline func slot(_ index: Int) -> Int { (head + index) & (slots.count - 1) }

    @inlinable package subscript(index: Int) -> Element {
        precondition(index >= 0 && index < count, "no such element")
        return slots[slot(index)]!
    }

    @inlinable package var first: Element? { count > 0 ? slots[head] : nil }

    @inlinable package func contains(where isWanted: (Element) -> Bool) -> Bool {
        (0..<count).contains { isWanted(self[$0]) }
    }

    @inlinable package mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[slot(count)] = element
        count += 1
    }

    @inlinable package mutating func prepend(_ element: Element) {
        if count == slots.count { grow() }
        head = (head - 1) & (slots.count - 1)
        slots[head] = element
        count += 1
    }

    @inlinable package mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = slot(1)
        count -= 1
        return element
    }

    /// Removes the elements for which `isRemoved` holds; the others keep their order.
    @inlinable package mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        var kept = 0
        for index in 0..<count {
            guard let element = slots[slot(index)].take() else { continue }
            if isRemoved(element) {
                removed.append(element)
            } else {
                slots[slot(kept)] = element
                kept += 1
            }
        }
        count = kept
        return removed
    }

    @usableFromInline mutating func grow() {
        var larger = [Element?](repeating: nil, count: max(2 * slots.count, Self.leastCapacity))
        for index in 0..<count { larger[index] = slots[slot(index)].take() }
        (slots, head) = (larger, 0)
    }
}
