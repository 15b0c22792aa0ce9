import Assay
import AssayBytes
import AssayKeys
package import AssayModels

/// Signs transaction receipts of iOS 3 to 6, in the form of version 3: the chain that signs app
/// receipts, SHA-1, and only the leaf inside.
package struct TransactionReceiptMinter: Sendable {
    private let chain: SigningChain

    /// Creates a minter for the chain of a `ReceiptCA`.
    package init(_ chain: SigningChain) { self.chain = chain }

    /// Signs a purchase-info into a receipt, and returns its text. `environment`, `pod` and
    /// `signing-status` stand beside it, unsigned.
    ///
    /// - Parameters:
    ///   - purchaseInfo: any bytes.
    ///   - isSandbox: whether the text names the Sandbox. In Production it names none.
    package func sign(_ purchaseInfo: [UInt8], isSandbox: Bool) throws(MintError) -> [UInt8] {
        let version: UInt8 = 3
        let leaf = chain.certificates[0]
        let signed = [version] + purchaseInfo
        let signature = try minting { () throws(SigningKeyError) in
            try chain.key.sign(signed, digest: .sha1)
        }
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: leaf.count >> $0) }
        let blob = [version] + signature + length + leaf
        var members = [
            (name: "signature", value: Self.base64(blob)),
            (name: "purchase-info", value: Self.base64(purchaseInfo)),
        ]
        if isSandbox { members.append((name: "environment", value: "Sandbox")) }
        members.append((name: "pod", value: isSandbox ? "100" : "16"))
        members.append((name: "signing-status", value: "0"))
        return TextPropertyListWriter.text(members)
    }

    /// Signs a record into a receipt, in base64: what `SKPaymentTransaction.transactionReceipt`
    /// was on a device, and what clients sent.
    package func sign(
        _ purchase: InAppPurchaseReceipt, bundleId: String, isSandbox: Bool
    ) throws(MintError) -> [UInt8] {
        let info = TextPropertyListWriter.text(Self.purchaseInfo(purchase, bundleId: bundleId))
        let text = try sign(info, isSandbox: isSandbox)
        return Base64.encode(text.span)
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.encode(bytes.span), as: UTF8.self)
    }
}

// MARK: Purchase-info

extension TransactionReceiptMinter {
    /// The members of purchase-info: those of Apple's receipts of 2017, without what a device or
    /// the App Store Connect record of the app knows.
    private static func purchaseInfo(
        _ purchase: InAppPurchaseReceipt, bundleId: String
    ) -> [(name: String, value: String)] {
        var list: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String?) {
            if let value { list.append((name, value)) }
        }
        func add(date name: String, _ date: Timestamp?) {
            guard let date else { return }
            add(name, VerifyReceiptDate.gmt(date))
            add(name + "-ms", String(date.milliseconds))
            add(name + "-pst", VerifyReceiptDate.pacific(date))
        }
        add("unique-identifier", String(repeating: "0", count: 40))
        add("original-transaction-id", purchase.originalTransactionId)
        add("transaction-id", purchase.transactionId)
        add("web-order-line-item-id", purchase.webOrderLineItemId.map { String($0) })
        add("bid", bundleId)
        add("bvrs", "1")
        add("product-id", purchase.productId)
        add("item-id", "521129812")
        add("quantity", String(purchase.quantity ?? 1))
        add(date: "original-purchase-date", purchase.originalPurchaseDate)
        add(date: "purchase-date", purchase.purchaseDate)
        if let expires = purchase.expiresDate {
            add("expires-date", String(expires.milliseconds))
            add("expires-date-formatted", VerifyReceiptDate.gmt(expires))
            add("expires-date-formatted-pst", VerifyReceiptDate.pacific(expires))
            add("is-trial-period", String(purchase.isTrialPeriod ?? false))
            add("is-in-intro-offer-period", String(purchase.isInIntroOfferPeriod ?? false))
        }
        add(date: "cancellation-date", purchase.cancellationDate)
        return list
    }
}

/// Writes the text property lists of transaction receipts.
package enum TextPropertyListWriter {
    /// One dictionary of quoted strings, in this order.
    package static func text(_ members: [(name: String, value: String)]) -> [UInt8] {
        let lines = members.map { "\t\"\(escaped($0.name))\" = \"\(escaped($0.value))\";\n" }
        return Array(("{\n" + lines.joined() + "}").utf8)
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\"", "\\": result += "\\" + String(character)
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            default: result.append(character)
            }
        }
        return result
    }
}
