package import AssayBytes
package import AssayModels

extension AdvancedCommerceTransactionInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        descriptors = try members.object("descriptors")
        estimatedTax = try members.int64("estimatedTax")
        items = try members.objects("items")
        period = try members.enumeration("period")
        requestReferenceId = try members.string("requestReferenceId")
        taxCode = try members.string("taxCode")
        taxExclusivePrice = try members.int64("taxExclusivePrice")
        taxRate = try members.string("taxRate")
    }
}

extension AdvancedCommerceTransactionItem: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        sku = try members.string("SKU")
        description = try members.string("description")
        displayName = try members.string("displayName")
        offer = try members.object("offer")
        price = try members.int64("price")
        refunds = try members.objects("refunds")
        revocationDate = try members.date("revocationDate")
        partners = members.text("partners")
    }
}

extension AdvancedCommerceRefund: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        refundAmount = try members.int64("refundAmount")
        refundDate = try members.date("refundDate")
        refundReason = try members.enumeration("refundReason")
        refundType = try members.enumeration("refundType")
    }
}

extension AdvancedCommerceOffer: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init(
            period: try members.enumeration("period"),
            periodCount: try members.int32("periodCount"),
            price: try members.int64("price"),
            reason: try members.enumeration("reason")
        )
    }
}

extension AdvancedCommerceDescriptors: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init(
            description: try members.string("description"),
            displayName: try members.string("displayName")
        )
    }
}

extension AdvancedCommerceRenewalInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        consistencyToken = try members.string("consistencyToken")
        descriptors = try members.object("descriptors")
        items = try members.objects("items")
        period = try members.enumeration("period")
        requestReferenceId = try members.string("requestReferenceId")
        taxCode = try members.string("taxCode")
    }
}

extension AdvancedCommerceRenewalItem: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        sku = try members.string("SKU")
        description = try members.string("description")
        displayName = try members.string("displayName")
        offer = try members.object("offer")
        price = try members.int64("price")
        priceIncreaseInfo = try members.object("priceIncreaseInfo")
        partners = members.text("partners")
    }
}

extension AdvancedCommercePriceIncreaseInfo: PayloadObject {
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        dependentSKUs = try members.strings("dependentSKUs")
        price = try members.int64("price")
        status = try members.enumeration("status")
    }
}
