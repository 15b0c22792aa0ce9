package import AssayBytes
package import AssayModels

extension DecodedRealtimeRequestBody: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init(
            originalTransactionId: try members.requiredString("originalTransactionId"),
            appAppleId: try members.requiredInt64("appAppleId"),
            productId: try members.requiredString("productId"),
            userLocale: try members.requiredString("userLocale"),
            requestIdentifier: try members.requiredString("requestIdentifier"),
            signedDate: try members.requiredDate("signedDate"),
            environment: try members.requiredEnumeration("environment")
        )
    }
}
