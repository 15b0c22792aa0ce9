import Foundation

/// What people send instead of a receipt, at any size.
extension FormCase {
    /// - Parameter receipt: DER.
    package static func ofReceipt(_ receipt: [UInt8]) -> [FormCase] {
        var cases = LargeFormMaker(receipt)
        cases.addSurroundings()
        cases.addEncodings()
        cases.addJSON()
        return cases.all
    }
}

/// Makes the cases. A large one has no neighbour: its form is that of a small one.
private struct LargeFormMaker {
    let receipt: [UInt8]
    let base64: String
    private(set) var all: [FormCase] = []

    init(_ receipt: [UInt8]) {
        self.receipt = receipt
        base64 = Data(receipt).base64EncodedString()
    }

    private mutating func add(_ name: String, _ form: String, _ bytes: [UInt8], _ says: String) {
        all.append(FormCase(name: name, form: form, bytes: bytes, says: says, neighbour: []))
    }

    private mutating func add(_ name: String, _ form: String, _ text: String, _ says: String) {
        add(name, form, Array(text.utf8), says)
    }

    mutating func addSurroundings() {
        add("quotes", "quoted", "\"\(base64)\"", "a quotation mark before")
        add("Optional", "optional", "Optional(\"\(base64)\")", "Swift's Optional")
        add("Python", "pythonBytes", "b'\(base64)'", "Python's text of bytes")
        add("Bearer", "bearer", "Bearer \(base64)", "the word Bearer")
        add("a BOM", "byteOrderMark", "\u{FEFF}\(base64)", "a byte order mark")
        add("a data: URI", "dataURI", "data:a/b;base64,\(base64)", "a data: URI")
        add("a form", "formBody", "receipt-data=\(base64)", "a form body")
        add("a list", "jsonList", "[\"\(base64)\"]", "a list in JSON")
        add("CSV", "csv", "1,\(base64),2024", "a line of a table")
        add("HTTP", "httpMessage", "POST / HTTP/1.1\r\n\r\n\(base64)", "an HTTP message")
        add("a page", "webPage", "<!DOCTYPE html>\(base64)", "a web page")
        add(
            "a plist", "propertyList",
            "<?xml version=\"1.0\"?><plist><data>\(base64)</data></plist>", "XML, such as")
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    mutating func addEncodings() {
        let hex = Self.hex(receipt)
        let latin: [UInt8] = receipt.flatMap { FormCaseMaker.latin1($0) }
        let wide: [UInt8] = base64.utf8.flatMap { [$0, 0] as [UInt8] }
        let list = receipt.map { String($0) }.joined(separator: ",")
        add(
            "base64 twice", "base64Twice", Data(base64.utf8).base64EncodedString(),
            "base64 of base64")
        add(
            "bytea", "hexadecimal", Array("\\x".utf8) + hex, "hexadecimal digits")
        add("hexadecimal of base64", "hexadecimal", Self.hex(base64.utf8), "hexadecimal digits")
        add("bytes without a bracket", "byteList", list, "one for each byte")
        add("hexadecimal", "hexadecimal", hex, "hexadecimal digits")
        add("NSData", "dataDescription", Array("<".utf8) + hex + Array(">".utf8), "NSData")
        add(
            "NSData of iOS 13", "dataDescription",
            Array("{length = 9, bytes = 0x".utf8) + hex + Array("}".utf8), "leaves bytes out")
        add(
            "PEM", "pem",
            "-----BEGIN PKCS7-----\n\(FormCaseMaker.lines(base64, "\n"))\n-----END PKCS7-----\n",
            "PEM")
        add("percent", "percentEncoded", base64.replacing("/", with: "%2F"), "a percent sign")
        add("slashes", "escaped", base64.replacing("/", with: "\\/"), "a backslash")
        add(
            "base64url", "urlSafe",
            base64.replacing("+", with: "-").replacing("/", with: "_"), "base64url")
        add("spaces", "spaces", base64.replacing("+", with: " "), "turned + into spaces")
        add("UTF-16", "utf16", [0xFF, 0xFE] + wide, "UTF-16")
        add("bytes", "byteList", "[\(list)]", "one for each byte")
        add("Latin-1", "latin1", latin, "read as Latin-1")
        add("UTF-8", "utf8", String(decoding: receipt, as: UTF8.self), "which lost its bytes")
        add("gzip", "compressed", [0x1F, 0x8B] + receipt, "gzip")
        add("a binary plist", "propertyList", Array("bplist00".utf8) + receipt, "a binary property")
    }

    mutating func addJSON() {
        add(
            "verifyReceipt", "receiptRequest", "{\"receipt-data\":\"\(base64)\"}",
            "a request to verifyReceipt")
        add(
            "an answer of verifyReceipt", "receiptAnswer",
            "{\"receipt\":{\"a\":\"\(base64)\"},\"environment\":\"Sandbox\",\"status\":0}",
            "an answer of verifyReceipt")
        add(
            "a request of Assay", "verifyRequest",
            "{\"kind\":\"app-receipt\",\"evidence\":\"\(base64)\"}", "POST /v1/verify")
        add(
            "a member", "json", "{\"Id\":1,\"Body\":{\"Receipt\" : \"\(base64)\"}}",
            "send the value of \"Receipt\", which begins like an app receipt")
    }
}
