import AssayMint

/// Mutates DER or BER element by element and updates the lengths.
enum DERMutation {
    /// The limits of depth and size. Larger trees get the fuzzer's own mutations.
    private static let depthMost = 24
    private static let elementsMost = 4000

    static func mutate(_ bytes: [UInt8], _ mutation: inout FuzzMutation) -> [UInt8] {
        guard !mutation.once(in: 8) else { return mutation.usual(bytes) }
        let root = Element(tag: 0x30)
        var left = elementsMost
        guard let children = parse(bytes[...], depth: 0, &left), !children.isEmpty else {
            return mutation.usual(bytes)
        }
        root.children = children
        for _ in 0...(mutation.once(in: 4) ? 3 : 0) { change(root, &mutation) }
        return root.children!.flatMap(\.encoded)
    }

    /// An element. A class, because mutations change elements in place.
    private final class Element {
        var tag: UInt8
        /// Bytes before the children: the unused bits of a BIT STRING.
        var prefix: [UInt8] = []
        var content: [UInt8] = []
        /// The elements of the content, also for an OCTET STRING that contains DER.
        var children: [Element]?
        var isIndefinite = false

        init(tag: UInt8) { self.tag = tag }

        var copy: Element {
            let copy = Element(tag: tag)
            (copy.prefix, copy.content, copy.isIndefinite) = (prefix, content, isIndefinite)
            copy.children = children?.map(\.copy)
            return copy
        }

        var body: [UInt8] { prefix + (children?.flatMap(\.encoded) ?? content) }

        var encoded: [UInt8] {
            let body = body
            return isIndefinite
                ? [tag, 0x80] + body + [0, 0] : DERWriter.header(tag: tag, count: body.count) + body
        }
    }

    // MARK: Reading

    /// Parses all of the bytes as elements; nil when they are not DER or BER.
    private static func parse(
        _ bytes: ArraySlice<UInt8>, depth: Int, _ left: inout Int
    ) -> [Element]? {
        var elements: [Element] = []
        var rest = bytes
        while !rest.isEmpty {
            guard let element = element(&rest, depth: depth, &left) else { return nil }
            elements.append(element)
        }
        return elements
    }

    private static func element(
        _ bytes: inout ArraySlice<UInt8>, depth: Int, _ left: inout Int
    ) -> Element? {
        left -= 1
        guard depth < depthMost, left > 0, bytes.count >= 2 else { return nil }
        let element = Element(tag: bytes.removeFirst())
        let first = Int(bytes.removeFirst())
        if first == 0x80 {
            element.isIndefinite = true
            element.children = []
            while !bytes.starts(with: [0, 0]) {
                guard let child = Self.element(&bytes, depth: depth + 1, &left) else { return nil }
                element.children!.append(child)
            }
            bytes.removeFirst(2)
            return element
        }
        var count = first
        if first > 0x80 {
            guard first <= 0x84, bytes.count >= first & 0x7F else { return nil }
            count = bytes.prefix(first & 0x7F).reduce(0) { $0 << 8 | Int($1) }
            bytes.removeFirst(first & 0x7F)
        }
        guard count <= bytes.count else { return nil }
        var content = bytes.prefix(count)
        bytes.removeFirst(count)
        element.content = Array(content)
        if element.tag == 0x03, content.first == 0 {
            element.prefix = [content.removeFirst()]
            element.content.removeFirst()
        }
        let canHold = element.tag & 0x20 != 0 || element.tag == 0x04 || element.tag == 0x03
        if canHold, !content.isEmpty {
            element.children = parse(content, depth: depth + 1, &left)
        }
        return element
    }

    // MARK: Changing

    private static func change(_ root: Element, _ mutation: inout FuzzMutation) {
        var positions: [(parent: Element, index: Int)] = []
        var open = [root]
        while let parent = open.popLast() {
            for (index, child) in (parent.children ?? []).enumerated() {
                positions.append((parent, index))
                if child.children != nil { open.append(child) }
            }
        }
        guard !positions.isEmpty else { return }
        let (parent, index) = mutation.element(of: positions)
        let element = parent.children![index]
        switch mutation.below(12) {
        case 0: parent.children!.remove(at: index)
        case 1: parent.children!.insert(element.copy, at: index)
        case 2: parent.children!.swapAt(index, mutation.below(parent.children!.count))
        case 3: element.tag = mutation.element(of: tags)
        case 4: element.isIndefinite.toggle()
        case 5: split(element, &mutation)
        case 6:
            let other = mutation.element(of: positions)
            parent.children![index] = other.parent.children![other.index].copy
        case 7:
            let wrapper = Element(tag: mutation.element(of: [0x30, 0x31, 0xA0, 0x04]))
            wrapper.children = [element]
            parent.children![index] = wrapper
        case 8:
            if let children = element.children {
                parent.children!.replaceSubrange(index...index, with: children)
            }
        case 9:
            (element.content, element.children) = (mutation.element(of: contents), nil)
        default:
            (element.content, element.children) = (
                mutation.usual(Array(element.body.dropFirst(element.prefix.count))), nil
            )
        }
    }

    /// Splits a string into segments, as BER allows.
    private static func split(_ element: Element, _ mutation: inout FuzzMutation) {
        let body = element.body
        guard element.tag == 0x04 || element.tag == 0x24, !body.isEmpty else { return }
        let size = 1 + mutation.below(min(body.count, 64))
        element.children = stride(from: 0, to: body.count, by: size).map { start in
            let segment = Element(tag: 0x04)
            segment.content = Array(body[start..<min(start + size, body.count)])
            return segment
        }
        element.tag = 0x24
        element.isIndefinite = mutation.once(in: 2)
    }

    private static let tags: [UInt8] = [
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0A, 0x0C, 0x13, 0x16, 0x17, 0x18, 0x1F, 0x24, 0x30,
        0x31, 0x80, 0x82, 0xA0, 0xA1, 0xA3, 0x00,
    ]

    private static let contents: [[UInt8]] = [
        [], [0], [1], [0xFF], [0x7F], [0x80], [0, 0x80], [0, 0], [0xFF, 0xFF],
        [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        [0x80, 0, 0, 0, 0, 0, 0, 0], [0, 0x80, 0, 0, 0, 0, 0, 0, 0],
        Array("500101000000Z".utf8), Array("99991231235959Z".utf8),
        Array("2026-11-21T00:00:00Z".utf8),
        // id-data, signedData, StoreKit's leaf marker and receipt marker, SHA-1, SHA-256.
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01],
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02],
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01],
        [0x2B, 0x0E, 0x03, 0x02, 0x1A], [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01],
    ]
}
