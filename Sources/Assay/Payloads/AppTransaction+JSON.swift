package import AssayBytes
package import AssayModels

extension AppTransaction: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        receiptType = try members.enumeration("receiptType")
        appAppleId = try members.int64("appAppleId")
        bundleId = try members.string("bundleId")
        applicationVersion = try members.string("applicationVersion")
        versionExternalIdentifier = try members.int64("versionExternalIdentifier")
        receiptCreationDate = try members.date("receiptCreationDate")
        originalPurchaseDate = try members.date("originalPurchaseDate")
        originalApplicationVersion = try members.string("originalApplicationVersion")
        deviceVerification = try members.string("deviceVerification")
        deviceVerificationNonce = try members.string("deviceVerificationNonce")
        preorderDate = try members.date("preorderDate")
        appTransactionId = try members.string("appTransactionId")
        originalPlatform = try members.enumeration("originalPlatform")
        requestDate = try members.date("requestDate")
        storeType = try members.enumeration("storeType")
        revocationDate = try members.date("revocationDate")
    }
}
