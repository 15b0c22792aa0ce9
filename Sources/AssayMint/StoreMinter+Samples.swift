public import AssayModels

/// Signs samples of the evidence that needs no chain.
extension StoreMinter {
    /// Returns a sample of a kind; those with different indices are of different purchases.
    ///
    /// Throws `notAToken` for the kinds that a chain signs.
    public func mint(
        _ kind: EvidenceKind, index: Int, bundleId: String, environment: StoreEnvironment,
        signedDate: Timestamp
    ) throws(MintError) -> [UInt8] {
        let product = bundleId + ".premium"
        switch kind {
        case .googlePurchase:
            return try sign(
                Samples.googlePurchase(
                    index: index, bundleId: bundleId, productId: product,
                    environment: environment, signedDate: signedDate), .google)
        case .huaweiPurchase:
            return try sign(
                Samples.huaweiPurchase(
                    index: index, bundleId: bundleId, productId: product,
                    environment: environment, signedDate: signedDate), .huawei)
        case .huaweiNotification:
            let order = Samples.huaweiPurchase(
                index: index, bundleId: bundleId, productId: product, environment: environment,
                signedDate: signedDate)
            return try huaweiNotification(
                about: order, productId: product, environment: environment)
        case .googleNotification:
            let data = Samples.googleNotification(
                index: index, bundleId: bundleId, productId: product, signedDate: signedDate)
            return try push(
                Samples.pushBody(index: index, data: data, signedDate: signedDate),
                PushClaims(
                    audience: PushClaims.sampleAudience,
                    serviceAccount: PushClaims.sampleServiceAccount, issued: signedDate))
        default: throw .notAToken(kind)
        }
    }

    /// Signs the text of an order and a notification around it.
    ///
    /// - Parameters:
    ///   - order: the text of the order.
    ///   - productId: the product of the order.
    ///   - environment: the notification's own; the order has one of its own.
    public func huaweiNotification(
        about order: [UInt8], productId: String, environment: StoreEnvironment
    ) throws(MintError) -> [UInt8] {
        try huaweiNotification(
            Samples.huaweiNotification(
                order: order, signature: try signature(of: order, .huawei), productId: productId,
                environment: environment))
    }
}

extension PushClaims {
    /// The audience of samples.
    public static let sampleAudience = "https://game.example.com/google"
    /// The service account of samples.
    public static let sampleServiceAccount = "push@example.iam.gserviceaccount.com"
}
