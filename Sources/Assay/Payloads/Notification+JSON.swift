package import AssayBytes
package import AssayModels

extension ResponseBodyV2DecodedPayload: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        notificationType = try members.enumeration("notificationType")
        subtype = try members.enumeration("subtype")
        notificationUUID = try members.string("notificationUUID")
        data = try members.object("data")
        version = try members.string("version")
        signedDate = try members.date("signedDate")
        summary = try members.object("summary")
        externalPurchaseToken = try members.object("externalPurchaseToken")
        appData = try members.object("appData")
        unclaimInfo = try members.object("unclaimInfo")
        guard data == nil, summary == nil, externalPurchaseToken == nil, appData == nil,
            unclaimInfo == nil
        else { return }
        let others: [(name: String, object: NotificationContainer)] = try members.objects(
            having: "bundleId", or: "environment")
        unknownContainers = others.map { name, object in
            var container = object
            container.name = name
            return container
        }
    }
}

extension ResponseBodyV2DecodedPayload {
    var warnings: [EvidenceWarning] {
        guard let container = unknownContainers.first else { return [] }
        return [
            EvidenceWarning(
                code: .unknownContainer,
                message: "this version does not know the member \(quoted(container.name)), which "
                    + "names the notification's app: what else it holds has no effect",
                member: container.name)
        ]
    }

    /// Whether two members that this version does not know name different apps or environments.
    var unknownContainersDisagree: Bool {
        func disagree<Value: Hashable>(_ values: [Value?]) -> Bool {
            Set(values.compactMap(\.self)).count > 1
        }
        return disagree(unknownContainers.map(\.environment))
            || disagree(unknownContainers.map { $0.bundleId.map { Array($0.utf8) } })
            || disagree(unknownContainers.map(\.appAppleId))
    }
}

extension NotificationContainer: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        environment = try members.enumeration("environment")
        appAppleId = try members.int64("appAppleId")
        bundleId = try members.string("bundleId")
    }
}

extension NotificationData: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        environment = try members.enumeration("environment")
        appAppleId = try members.int64("appAppleId")
        bundleId = try members.string("bundleId")
        bundleVersion = try members.string("bundleVersion")
        signedTransactionInfo = try members.string("signedTransactionInfo")
        signedRenewalInfo = try members.string("signedRenewalInfo")
        status = try members.enumeration("status")
        consumptionRequestReason = try members.enumeration("consumptionRequestReason")
    }
}

extension Summary: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        environment = try members.enumeration("environment")
        appAppleId = try members.int64("appAppleId")
        bundleId = try members.string("bundleId")
        productId = try members.string("productId")
        requestIdentifier = try members.string("requestIdentifier")
        storefrontCountryCodes = try members.strings("storefrontCountryCodes")
        succeededCount = try members.int64("succeededCount")
        failedCount = try members.int64("failedCount")
    }
}

extension ExternalPurchaseToken: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        externalPurchaseId = try members.string("externalPurchaseId")
        tokenCreationDate = try members.int64("tokenCreationDate")
        appAppleId = try members.int64("appAppleId")
        bundleId = try members.string("bundleId")
        tokenType = try members.enumeration("tokenType")
        tokenExpirationDate = try members.int64("tokenExpirationDate")
    }
}

extension AppData: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        appAppleId = try members.int64("appAppleId")
        bundleId = try members.string("bundleId")
        environment = try members.enumeration("environment")
        signedAppTransactionInfo = try members.string("signedAppTransactionInfo")
    }
}

extension UnclaimInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        environment = try members.enumeration("environment")
        appAppleId = try members.int64("appAppleId")
        bundleId = try members.string("bundleId")
        originalTransactionId = try members.string("originalTransactionId")
        unclaimSeatIds = try members.strings("unclaimSeatIds") ?? []
    }
}
