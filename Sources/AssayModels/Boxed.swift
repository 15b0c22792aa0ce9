/// A large value that is mostly absent. Without one, a field takes a word: a payload of a kilobyte
/// and more takes the allocator several times as long.
indirect enum Boxed<Value: Equatable & Sendable>: Equatable, Sendable {
    case value(Value)

    var value: Value {
        switch self {
        case .value(let value): value
        }
    }
}
