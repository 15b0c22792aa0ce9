package import AssayBytes

/// One of Apple's payloads, or an object inside one, decodable from JSON members.
package protocol PayloadObject: Sendable, Equatable {
    init(from members: inout JSONMembers) throws(JSONError)
}

extension JSONDocument {
    /// Decodes the root object as one of Apple's payloads.
    package func decode<Payload: PayloadObject>(
        _ type: Payload.Type = Payload.self
    ) throws(JSONError) -> Payload {
        guard root.kind == .object else { throw .notAnObject }
        return try withRootMembers { members throws(JSONError) in try Payload(from: &members) }
    }
}

extension JSONMembers {
    package mutating func object<Object: PayloadObject>(
        _ name: JSONName
    ) throws(JSONError) -> Object? {
        try withObject(name) { members throws(JSONError) in try Object(from: &members) }
    }

    package mutating func objects<Object: PayloadObject>(
        _ name: JSONName
    ) throws(JSONError) -> [Object]? {
        try withObjects(name) { members throws(JSONError) in try Object(from: &members) }
    }

    /// The members, of any name, that are objects with one of two members.
    package mutating func objects<Object: PayloadObject>(
        having first: JSONName, or second: JSONName
    ) throws(JSONError) -> [(name: String, object: Object)] {
        try withObjects(having: first, or: second) { members throws(JSONError) in
            try Object(from: &members)
        }
    }
}
