package import AssayWire

/// A request that a session has read. Nothing about it is decided.
package struct Request: ~Copyable {
    var head: RequestHead
    /// How its answer is written.
    let form: any AnswerForm
    /// When its first byte arrived, in milliseconds of the loop's clock: its timeout counts from
    /// here.
    let began: UInt64

    package init(_ head: consuming RequestHead, as form: any AnswerForm, began: UInt64) {
        self.head = head
        self.form = form
        self.began = began
    }
}
