import AssayModels
import CAssayProto

/// A struct with a corresponding protobuf-c message.
protocol MessageFields {
    associatedtype Message
    /// Calls the generated initializer: sets the descriptor, and marks every field absent.
    static func clear(_ message: UnsafeMutablePointer<Message>)
    /// Sets the fields of a cleared message. Memory that they point to is in `arena`.
    func fill(_ message: inout Message, in arena: MessageArena)
    init(_ message: Message) throws(MessageError)
}

/// A struct that occurs in optional lists.
protocol ListElement: MessageFields {
    associatedtype List
    static func fill(
        _ list: UnsafeMutablePointer<List>, count: Int,
        values: UnsafeMutablePointer<UnsafeMutablePointer<Message>?>)
    static func elements(_ list: List) -> UnsafeBufferPointer<UnsafeMutablePointer<Message>?>
}

// MARK: - From a model to protobuf-c

extension MessageArena {
    func compose<M: MessageFields>(_ model: borrowing M) -> UnsafeMutablePointer<M.Message> {
        let message = unsafe allocate(M.Message.self)
        unsafe M.clear(message)
        unsafe model.fill(&message.pointee, in: self)
        return unsafe message
    }

    func message<M: MessageFields>(_ model: M?) -> UnsafeMutablePointer<M.Message>? {
        guard let model else { return nil }
        return unsafe compose(model)
    }

    func messages<Models: Collection>(
        _ models: Models
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<Models.Element.Message>?>
    where Models.Element: MessageFields {
        let values = unsafe allocate(
            UnsafeMutablePointer<Models.Element.Message>?.self, count: models.count)
        for (index, model) in models.enumerated() {
            unsafe (values + index).initialize(to: compose(model))
        }
        return unsafe values
    }

    func list<E: ListElement>(_ elements: [E]?) -> UnsafeMutablePointer<E.List>? {
        guard let elements else { return nil }
        let list = unsafe allocate(E.List.self)
        unsafe E.fill(list, count: elements.count, values: messages(elements))
        return unsafe list
    }

    func strings(_ strings: [String]?) -> UnsafeMutablePointer<Assay__V1__StringList>? {
        guard let strings else { return nil }
        let list = unsafe allocate(Assay__V1__StringList.self)
        unsafe assay__v1__string_list__init(list)
        unsafe list.pointee.n_values = strings.count
        unsafe list.pointee.values = texts(strings)
        return unsafe list
    }

    func texts<V: RawRepresentable<String>>(
        _ values: [V]
    ) -> UnsafeMutablePointer<ProtobufCBinaryData> {
        unsafe texts(values.map(\.rawValue))
    }

    func texts(_ strings: [String]) -> UnsafeMutablePointer<ProtobufCBinaryData> {
        let values = unsafe allocate(ProtobufCBinaryData.self, count: strings.count)
        for (index, string) in strings.enumerated() {
            unsafe (values + index).initialize(to: text(string))
        }
        return unsafe values
    }

    func text(_ string: String) -> ProtobufCBinaryData {
        let utf8 = string.utf8.span
        let copy = unsafe allocate(UInt8.self, count: utf8.count)
        unsafe utf8.withUnsafeBufferPointer { utf8 in
            if let start = utf8.baseAddress {
                unsafe copy.initialize(from: start, count: utf8.count)
            }
        }
        return unsafe ProtobufCBinaryData(len: utf8.count, data: copy)
    }

    func set(_ has: inout Int32, _ field: inout ProtobufCBinaryData, _ value: String?) {
        guard let value else { return }
        has = 1
        unsafe field = text(value)
    }

    func set(_ has: inout Int32, _ field: inout ProtobufCBinaryData, _ value: [UInt8]?) {
        guard let value else { return }
        has = 1
        let copy = unsafe allocate(UInt8.self, count: value.count)
        for (index, byte) in value.enumerated() { unsafe (copy + index).initialize(to: byte) }
        unsafe field = ProtobufCBinaryData(len: value.count, data: copy)
    }

    func set<V: RawRepresentable<String>>(
        _ has: inout Int32, _ field: inout ProtobufCBinaryData, _ value: V?
    ) {
        unsafe set(&has, &field, value?.rawValue)
    }

    func set<I: FixedWidthInteger>(_ has: inout Int32, _ field: inout I, _ value: I?) {
        guard let value else { return }
        has = 1
        field = value
    }

    func set<V: RawRepresentable<Int32>>(_ has: inout Int32, _ field: inout Int32, _ value: V?) {
        set(&has, &field, value?.rawValue)
    }

    func set<V: RawRepresentable<Int64>>(_ has: inout Int32, _ field: inout Int64, _ value: V?) {
        set(&has, &field, value?.rawValue)
    }

    func set(_ has: inout Int32, _ field: inout Int32, _ value: Int?) {
        set(&has, &field, value.map(Int32.init))
    }

    func set(_ has: inout Int32, _ field: inout Int64, _ value: Timestamp?) {
        set(&has, &field, value?.milliseconds)
    }

    func set(_ has: inout Int32, _ field: inout Int32, _ value: Bool?) {
        set(&has, &field, value.map { $0 ? 1 : 0 })
    }
}

// MARK: - From protobuf-c to a model

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

func read<M: MessageFields>(
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

func models<M: MessageFields>(
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

func models<M: MessageFields>(
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
    guard let string = unsafe String(validating: bytes, as: UTF8.self) else {
        throw .invalidText
    }
    return string
}

func required<V>(_ value: V?) throws(MessageError) -> V {
    guard let value else { throw .missingField }
    return value
}
