/// Formats numbers for display.
enum Format {
    /// The number with about three digits: 0.12, 3.4, 56, 7,890.
    static func short(_ value: Double) -> String {
        let magnitude = abs(value)
        if magnitude >= 100 || value == value.rounded() { return count(Int(value.rounded())) }
        let scale = magnitude >= 10 ? 10.0 : magnitude >= 1 ? 100 : 1000
        return "\((value * scale).rounded() / scale)"
    }

    static func milliseconds(_ value: Double?) -> String {
        value.map { short($0) + " ms" } ?? "–"
    }

    /// The number with commas between thousands.
    static func count(_ value: some BinaryInteger) -> String {
        let digits = String(value.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return (value < 0 ? "−" : "") + text
    }

    static func bytes(_ value: some BinaryInteger) -> String {
        var (size, index) = (Double(value), 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while size >= 1024, index < units.count - 1 {
            size /= 1024
            index += 1
        }
        return "\(short(size >= 100 ? size.rounded() : (size * 10).rounded() / 10)) \(units[index])"
    }

    static func duration(_ seconds: Double) -> String {
        let whole = Int(max(seconds, 0))
        let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60)
        if days > 0 { return "\(days) d \(hours) h" }
        if hours > 0 { return "\(hours) h \(minutes) min" }
        return minutes > 0 ? "\(minutes) min \(whole % 60) s" : "\(whole) s"
    }

    static func percent(_ part: some BinaryInteger, of whole: some BinaryInteger) -> String {
        guard whole > 0 else { return "–" }
        let share = Double(part) / Double(whole) * 100
        return share > 99.9 && part != whole ? "99.9 %" : "\(short((share * 10).rounded() / 10)) %"
    }
}
