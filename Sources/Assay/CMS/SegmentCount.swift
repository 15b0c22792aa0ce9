import AssayModels

/// Counts the short segments of a constructed OCTET STRING. Their number is limited because an
/// empty segment costs as much as thirty octets of content.
struct SegmentCount: Sendable {
    private var short = 0

    mutating func count(_ length: Int) throws(Refusal) {
        guard length < Limits.cmsShortSegmentBytes else { return }
        short += 1
        guard short <= Limits.cmsShortSegments else {
            throw Refusal(
                .malformed,
                "the content has more than \(Limits.cmsShortSegments) segments below "
                    + "\(Limits.cmsShortSegmentBytes) octets")
        }
    }
}
