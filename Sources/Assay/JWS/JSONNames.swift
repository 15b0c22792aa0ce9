/// Finds a name that occurs twice in one object, without ever being quadratic.
///
/// A small object's new name is compared with the earlier ones only where its tag's bit has been
/// seen before; a large one is sorted once, at its end.
struct JSONNames {
    /// Token index of the object.
    private let object: Int
    private var count = 0
    /// One bit for six bits of a tag.
    private var seen: UInt64 = 0

    init(object: Int) { self.object = object }

    /// The bits of a tag's names; all for an escaped name, which can equal any other.
    @inline(__always)
    static func bits(_ tag: UInt16) -> UInt64 {
        tag == JSONToken.anyTag ? UInt64.max : 1 << UInt64((tag >> 1) & 63)
    }

    /// A name whose bits are not among these is none of the object's.
    var bits: UInt64 { count > Limits.jsonMembersComparedDirectly ? .max : seen }

    /// Takes the next name, at its token.
    @inline(__always)
    mutating func insert(
        _ name: Int, _ tokens: [JSONToken], _ text: Span<UInt8>
    ) throws(JSONError) {
        count += 1
        guard count <= Limits.jsonMembersComparedDirectly else { return }
        let bits = Self.bits(tokens[name].tag)
        if seen & bits != 0 { try compare(name, tokens, text) }
        seen |= bits
    }

    private func compare(
        _ name: Int, _ tokens: [JSONToken], _ text: Span<UInt8>
    ) throws(JSONError) {
        var other = object + 1
        while other < name {
            if text.equalJSONStrings(tokens[name], tokens[other]) {
                throw .duplicateMember(offset: Int(tokens[name].start))
            }
            other = Int(tokens[other + 1].next)
        }
    }

    /// At the object's end: compares what `insert` left out.
    func finish(_ tokens: [JSONToken], _ text: Span<UInt8>) throws(JSONError) {
        guard count > Limits.jsonMembersComparedDirectly else { return }
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
        // Digests are no secret and collisions can be made; then the names' bytes decide.
        names.sort { left, right in
            left.digest != right.digest
                ? left.digest < right.digest
                : text.precedesJSONString(tokens[left.name], tokens[right.name])
        }
        return names
    }
}
