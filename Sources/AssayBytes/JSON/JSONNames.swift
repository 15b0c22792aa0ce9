/// Indexes the members of one object by six bits of their names' tags: nearly every lookup finds
/// its member at once, or finds that it is absent.
@usableFromInline
struct JSONNameIndex: Sendable {
    /// Maps six tag bits to the token index of the only name with those bits, to `none` or to
    /// `several`.
    @usableFromInline var entries: [64 of UInt8]

    @inlinable static var none: UInt8 { 0 }
    @inlinable static var several: UInt8 { 255 }

    /// The index of an object without members; the index of an object with any members.
    @inlinable @inline(__always)
    static var empty: JSONNameIndex { JSONNameIndex(entries: .init(repeating: none)) }
    @inlinable
    static var unknown: JSONNameIndex { JSONNameIndex(entries: .init(repeating: several)) }

    @inlinable @inline(__always)
    init(entries: [64 of UInt8]) { self.entries = entries }

    /// The result of a lookup by tag.
    @usableFromInline
    enum Entry {
        case none
        /// At this token or absent.
        case only(Int)
        case several
    }

    @inlinable @inline(__always)
    static func slot(_ tag: UInt16) -> Int { Int((tag >> 1) & 63) }

    @inlinable @inline(__always)
    func entry(_ slot: Int) -> Entry {
        switch entries[slot] {
        case Self.none: .none
        case Self.several: .several
        case let token: .only(Int(token))
        }
    }

    /// Adds a name; returns whether another name has the same bits.
    @inline(__always)
    mutating func insert(_ tag: UInt16, at token: Int) -> Bool {
        guard tag != JSONToken.anyTag else {
            // An escaped name can equal any other name.
            self = .unknown
            return true
        }
        let slot = Self.slot(tag)
        let isTaken = entries[slot] != Self.none
        entries[slot] = isTaken || token >= Int(Self.several) ? Self.several : UInt8(token)
        return isTaken
    }
}

/// Detects duplicate names in one object, never in quadratic time.
///
/// In a small object, a new name is compared with the earlier ones only if its tag bits occurred
/// before. The names of a large object are sorted once, at its end.
struct JSONNames {
    /// Token index of the object.
    private let object: Int
    private var count = 0
    private var seen = JSONNameIndex.empty

    init(object: Int) { self.object = object }

    var index: JSONNameIndex {
        count > JSONLimits.membersComparedDirectly ? .unknown : seen
    }

    /// Adds the name with the given tag, at the given token.
    @inline(__always)
    mutating func insert(
        _ tag: UInt16, at name: Int, _ tokens: [JSONToken], _ text: Span<UInt8>
    ) throws(JSONError) {
        count += 1
        guard count <= JSONLimits.membersComparedDirectly else { return }
        if seen.insert(tag, at: name) { try compare(name, tokens, text) }
    }

    private func compare(
        _ name: Int, _ tokens: [JSONToken], _ text: Span<UInt8>
    ) throws(JSONError) {
        var other = object + 1
        let tag = tokens[name].tag
        while other < name {
            let otherTag = tokens[other].tag
            let couldBeEqual =
                tag == otherTag || tag == JSONToken.anyTag || otherTag == JSONToken.anyTag
            if couldBeEqual, text.equalJSONStrings(tokens[name], tokens[other]) {
                throw .duplicateMember(offset: Int(tokens[name].start))
            }
            other = Int(tokens[other + 1].next)
        }
    }

    /// Finishes the object: compares the names that `insert` skipped.
    func finish(_ tokens: [JSONToken], _ text: Span<UInt8>) throws(JSONError) {
        guard count > JSONLimits.membersComparedDirectly else { return }
        let sorted = sortedNames(tokens, text)
        for index in 1..<sorted.count {
            let (name, before) = (tokens[sorted[index].name], tokens[sorted[index - 1].name])
            if text.equalJSONStrings(name, before) {
                throw .duplicateMember(offset: Int(max(name.start, before.start)))
            }
        }
    }

    private func sortedNames(
        _ tokens: [JSONToken], _ text: Span<UInt8>
    ) -> [(digest: UInt64, name: Int)] {
        var names: [(digest: UInt64, name: Int)] = []
        names.reserveCapacity(count)
        var name = object + 1
        while name < tokens[object].next {
            names.append((text.digestOfJSONString(tokens[name]), name))
            name = Int(tokens[name + 1].next)
        }
        // The digest is not keyed, so collisions can be forced. The names' bytes decide then.
        names.sort { left, right in
            left.digest != right.digest
                ? left.digest < right.digest
                : text.precedesJSONString(tokens[left.name], tokens[right.name])
        }
        return names
    }
}
