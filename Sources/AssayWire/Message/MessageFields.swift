import AssayModels
import CAssayProto

/// A struct that is read from a protobuf-c message.
protocol ReadableMessage {
    associatedtype Message
    init(_ message: Message) throws(MessageError)
}

/// A struct that occurs in optional lists.
protocol ListElement: ReadableMessage {
    associatedtype List
    static func elements(_ list: List) -> UnsafeBufferPointer<UnsafeMutablePointer<Message>?>
}

func read(_ has: Int32, _ field: ProtobufCBinaryData) -> [UInt8]? {
    guard has != 0 else { return nil }
    return unsafe [UInt8](UnsafeBufferPointer(start: field.data, count: field.len))
}

func read(_ has: Int32, _ field: ProtobufCBinaryData) throws(MessageError) -> String? {
    guard has != 0 else { return nil }
    return try unsafe text(field)
}

func read<V: RawRepresentable<String>>(
    _ has: Int32, _ field: ProtobufCBinaryData
) throws(MessageError) -> V? {
    guard let value: String = try unsafe read(has, field) else { return nil }
    return V(rawValue: value)
}

func read<I: FixedWidthInteger>(_ has: Int32, _ field: I) -> I? {
    has != 0 ? field : nil
}

func read<V: RawRepresentable<Int32>>(_ has: Int32, _ field: Int32) -> V? {
    has != 0 ? V(rawValue: field) : nil
}

func read<V: RawRepresentable<Int64>>(_ has: Int32, _ field: Int64) -> V? {
    has != 0 ? V(rawValue: field) : nil
}

func read(_ has: Int32, _ field: Int32) -> Int? {
    has != 0 ? Int(field) : nil
}

func read(_ has: Int32, _ field: Int64) -> Timestamp? {
    has != 0 ? Timestamp(milliseconds: field) : nil
}

func read(_ has: Int32, _ field: Int32) -> Bool? {
    has != 0 ? field != 0 : nil
}

func read<M: ReadableMessage>(
    _ message: UnsafeMutablePointer<M.Message>?
) throws(MessageError) -> M? {
    guard let message = unsafe message else { return nil }
    return try unsafe M(message.pointee)
}

func read<E: ListElement>(
    _ list: UnsafeMutablePointer<E.List>?
) throws(MessageError) -> [E]? {
    guard let list = unsafe list else { return nil }
    return try unsafe models(E.elements(list.pointee))
}

func read(
    _ list: UnsafeMutablePointer<Assay__V1__StringList>?
) throws(MessageError) -> [String]? {
    guard let list = unsafe list else { return nil }
    return try unsafe texts(list.pointee.values, count: list.pointee.n_values)
}

func models<M: ReadableMessage>(
    _ messages: UnsafeMutablePointer<UnsafeMutablePointer<M.Message>?>?, count: Int
) throws(MessageError) -> [M] {
    try unsafe models(UnsafeBufferPointer(start: messages, count: count))
}

func models(
    _ messages: UnsafeMutablePointer<UnsafeMutablePointer<Assay__V1__InAppPurchaseReceipt>?>?,
    count: Int
) throws(MessageError) -> InAppPurchases {
    var purchases = InAppPurchases()
    let records: [InAppPurchaseReceipt] = try unsafe models(messages, count: count)
    for record in records { purchases.append(record) }
    return purchases
}

func models<M: ReadableMessage>(
    _ messages: UnsafeBufferPointer<UnsafeMutablePointer<M.Message>?>
) throws(MessageError) -> [M] {
    var models: [M] = []
    models.reserveCapacity(messages.count)
    for index in messages.indices {
        guard let model: M = try unsafe read(messages[index]) else { throw .malformed }
        models.append(model)
    }
    return models
}

func octets(_ values: UnsafeMutablePointer<ProtobufCBinaryData>?, count: Int) -> [[UInt8]] {
    unsafe UnsafeBufferPointer(start: values, count: values == nil ? 0 : count).map { field in
        unsafe Array(UnsafeBufferPointer(start: field.data, count: field.len))
    }
}

func texts<V: RawRepresentable<String>>(
    _ values: UnsafeMutablePointer<ProtobufCBinaryData>?, count: Int
) throws(MessageError) -> [V] {
    try unsafe texts(values, count: count, as: V.init(rawValue:))
}

func texts(
    _ values: UnsafeMutablePointer<ProtobufCBinaryData>?, count: Int
) throws(MessageError) -> [String] {
    try unsafe texts(values, count: count) { $0 }
}

/// Skips values for which `value` returns nil.
private func texts<Value>(
    _ values: UnsafeMutablePointer<ProtobufCBinaryData>?, count: Int,
    as value: (String) -> Value?
) throws(MessageError) -> [Value] {
    var list: [Value] = []
    list.reserveCapacity(count)
    for index in 0..<count {
        guard let values = unsafe values else { throw .malformed }
        if let value = value(try unsafe text(values[index])) { list.append(value) }
    }
    return list
}

func text(_ field: ProtobufCBinaryData) throws(MessageError) -> String {
    let bytes = unsafe UnsafeBufferPointer(start: field.data, count: field.len)
    guard let text = try? unsafe UTF8Span(validating: bytes.span) else { throw .invalidText }
    return String(copying: text)
}

func required<V>(_ value: V?) throws(MessageError) -> V {
    guard let value else { throw .missingField }
    return value
}
