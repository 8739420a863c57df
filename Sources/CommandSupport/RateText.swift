/// A bitrate for people: "1.4 Mbit/s".
package enum RateText {
    package static func text(_ bitsPerSecond: Double) -> String {
        if bitsPerSecond >= 1e6 { return "\((bitsPerSecond / 1e5).rounded() / 10) Mbit/s" }
        return "\(Int((bitsPerSecond / 1e3).rounded())) kbit/s"
    }
}
