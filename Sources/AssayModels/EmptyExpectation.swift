/// An expectation that is given and empty. A user without an account token, or a list of which
/// nothing is left, would otherwise accept the purchases of all others, or of nobody.
package struct EmptyExpectation: Error, Equatable, CustomStringConvertible {
    /// The member in Apple's spelling, with the index of an element: `productIds[1]`.
    package let name: String

    package init(name: String) { self.name = name }

    package var description: String {
        "the expected \(name) is empty: give a value, or leave it out to accept any"
    }
}

extension Expectations {
    /// Throws for the first expectation that is given and empty. An empty list is an absent one.
    package func requireValues() throws(EmptyExpectation) {
        try require(bundleId?.utf8, "bundleId")
        try require(appAccountToken?.utf8, "appAccountToken")
        try require(transactionId?.utf8, "transactionId")
        try require(deviceIdentifier, "deviceIdentifier")
        try require(deviceVerificationId?.utf8, "deviceVerificationId")
        for (index, product) in productIds.enumerated() {
            try require(product.utf8, "productIds[\(index)]")
        }
        for (index, device) in otherDeviceIdentifiers.enumerated() {
            try require(device, "otherDeviceIdentifiers[\(index)]")
        }
    }
}

extension EntitlementPolicy {
    /// Throws for an expected account that is given and empty.
    package func requireValues() throws(EmptyExpectation) {
        try require(expectedAppAccountToken?.utf8, "appAccountToken")
    }
}

private func require(
    _ value: (some Collection)?, _ name: @autoclosure () -> String
) throws(EmptyExpectation) {
    if value?.isEmpty == true { throw EmptyExpectation(name: name()) }
}
