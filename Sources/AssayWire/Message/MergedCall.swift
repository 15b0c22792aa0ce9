/// A request head whose call is given more than once.
///
/// The encoding merges messages of a field that occurs more than once: the parts of one field, one
/// after the other, are the merged message. protobuf-c does not do so within a `oneof`, where it
/// keeps the last one, so that the expectations of the first would be lost.
enum MergedCall {
    /// Whether a field is a member of `call`. Asked of each field of each head: no set is hashed.
    private static func isCall(_ number: Int) -> Bool {
        switch number {
        case 5...8, 10, 11: true
        default: false
        }
    }

    /// Calls of one head. Protobuf's runtimes write one; who joins messages joins a few.
    private static let mostCalls = 16

    /// The head with one call; nil for a head that has no more anyway, as nearly all.
    static func head(of head: Span<UInt8>) throws(MessageError) -> [UInt8]? {
        var reader = FieldReader()
        var calls = 0
        while let field = try reader.next(in: head) {
            if isCall(field.number) { calls += 1 }
        }
        guard calls > 1 else { return nil }
        guard calls <= mostCalls else { throw .tooLarge }
        return try merged(head)
    }

    private static func merged(_ head: Span<UInt8>) throws(MessageError) -> [UInt8] {
        var reader = FieldReader()
        var (others, content, member): ([UInt8], [UInt8], Int?) = ([], [], nil)
        while let field = try reader.next(in: head) {
            guard isCall(field.number), case .bytes(let range) = field.value else {
                for index in field.range { others.append(head[index]) }
                continue
            }
            // Another member of a oneof takes the place of the one before.
            if member != field.number { content = [] }
            member = field.number
            for index in range { content.append(head[index]) }
        }
        guard let member else { return others }
        var call = MessageBuilder()
        call.set(member, bytes: content)
        return others + call.bytes
    }
}
