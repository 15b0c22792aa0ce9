import ArgumentParser
import AssayCommandLine

struct MintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: DevelopmentCommand.mint.rawValue,
        abstract: DevelopmentCommand.mint.abstract,
        discussion: """
            For tests, demos and load without data from Apple. Minted evidence has the
            form and size of Apple's, and proves nothing: only a verifier that pins its
            root trusts it.

            EXAMPLES
              An authority: root, intermediate and leaf, as PEM, with their keys:
                assay mint ca ./ca
              A thousand transactions, one on each line:
                assay mint transaction --ca ./ca --bundle-id com.example.game --count 1000
              A notification as the App Store posts it, with its nested evidence:
                assay mint notification --ca ./ca --environment Sandbox --post-body
              A StoreKit 1 app receipt of 16 MB:
                assay mint receipt --ca ./ca --size 16MB --output receipt.txt
              A version 1 notification, as backends of StoreKit 1 get it:
                assay mint notification-v1 --ca ./ca --type CANCEL > body.json
              A customer's life, with the entitlement expected after each step:
                assay mint scenario grace-period --ca ./ca --out ./life
              A purchase of Google Play, and the licence key that verifies it:
                assay mint google-purchase --ca ./ca > purchase.json
                assay verify --kind google-purchase \\
                  --google-key ./ca/google-licence-key.txt purchase.json
              A payload of your own, signed unchanged:
                assay mint app-transaction --ca ./ca --payload app.json
            """,
        subcommands: [
            MintCACommand.self, MintTransaction.self, MintRenewalInfo.self,
            MintAppTransaction.self, MintNotification.self, MintRealtimeRequest.self,
            MintReceiptCommand.self, MintNotificationV1.self, MintTransactionReceipt.self,
            MintScenarioCommand.self, MintGooglePurchase.self,
            MintHuaweiPurchase.self, MintHarmonyPurchase.self, MintHarmonySubscription.self,
            MintHarmonyNotification.self, MintGoogleNotification.self,
            MintHuaweiNotification.self,
        ])
}
