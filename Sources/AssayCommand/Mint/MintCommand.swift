import ArgumentParser

struct MintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mint",
        abstract: "Make development evidence, and the authority that signs it.",
        discussion: """
            For tests, demos, load, and everybody who has no data of Apple's. What is
            minted has the shape and size of Apple's, and proves nothing: only who pins
            its root trusts it.

            EXAMPLES
              An authority: root, intermediate and leaf, as PEM, with their keys:
                assay mint ca ./ca
              A thousand transactions, one a line:
                assay mint transaction --ca ./ca --bundle-id com.example.game --count 1000
              A notification as the App Store posts it, with its nested evidence:
                assay mint notification --ca ./ca --environment Sandbox --post-body
              An app receipt of StoreKit 1, of 16 MB:
                assay mint receipt --ca ./ca --size 16MB --output receipt.txt
              A payload of your own, signed as it is:
                assay mint app-transaction --ca ./ca --payload app.json
            """,
        subcommands: [
            MintCACommand.self, MintTransaction.self, MintRenewalInfo.self,
            MintAppTransaction.self, MintNotification.self, MintRealtimeRequest.self,
            MintReceiptCommand.self,
        ])
}
