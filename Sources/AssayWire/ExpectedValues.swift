package import AssayModels

extension RequestHead.Call {
    /// Throws for an expectation that is given and empty. Clients ask this before they send a call,
    /// and servers before they accept it: a client that a generator made sends empty text.
    package func requireExpectedValues() throws(EmptyExpectation) {
        switch self {
        case .verify(let call): try call.expectations.requireValues()
        case .resolve(let call):
            try call.expectations.requireValues()
            try call.policy.requireValues()
        case .fetch(let call): try call.policy.requireValues()
        case .health, .info, .ping, .unknown: break
        }
    }
}
