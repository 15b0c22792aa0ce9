import AssayModels

extension AdvancedCommerceTransactionInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        descriptors = sample.object()
        estimatedTax = sample.number()
        items = sample.list()
        period = sample.named()
        requestReferenceId = sample.text()
        taxCode = sample.text()
        taxExclusivePrice = sample.number()
        taxRate = sample.text()
    }
}

extension AdvancedCommerceTransactionItem: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        sku = sample.text()
        description = sample.text()
        displayName = sample.text()
        offer = sample.object()
        price = sample.number()
        refunds = sample.list()
        revocationDate = sample.time()
        partners = sample.text()
    }
}

extension AdvancedCommerceRefund: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        refundAmount = sample.number()
        refundDate = sample.time()
        refundReason = sample.named()
        refundType = sample.named()
    }
}

extension AdvancedCommerceOffer: Sampled {
    init(_ sample: inout Sample) {
        self.init(
            period: sample.named(),
            periodCount: sample.number(),
            price: sample.number(),
            reason: sample.named()
        )
    }
}

extension AdvancedCommerceDescriptors: Sampled {
    init(_ sample: inout Sample) {
        self.init(
            description: sample.text(),
            displayName: sample.text()
        )
    }
}

extension AdvancedCommerceRenewalInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        consistencyToken = sample.text()
        descriptors = sample.object()
        items = sample.list()
        period = sample.named()
        requestReferenceId = sample.text()
        taxCode = sample.text()
    }
}

extension AdvancedCommerceRenewalItem: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        sku = sample.text()
        description = sample.text()
        displayName = sample.text()
        offer = sample.object()
        price = sample.number()
        priceIncreaseInfo = sample.object()
        partners = sample.text()
    }
}

extension AdvancedCommercePriceIncreaseInfo: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        dependentSKUs = sample.texts()
        price = sample.number()
        status = sample.named()
    }
}
