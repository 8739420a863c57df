import PeerRuntime

/// "● LIVE 00:12:31  2 viewers  30 fps  1.4 Mbit/s  limited by the network"
struct StatusLine {
    private var last: (frames: Int, bytes: Int, at: Double)?

    /// - Parameter columns: of the terminal; a longer line could not be redrawn.
    mutating func text(_ statistics: HostStatistics, elapsed: Double, columns: Int) -> String {
        let frames = statistics.video.frames
        let bytes = statistics.bytesSent
        defer { last = (frames, bytes, elapsed) }
        let time = Int(elapsed)
        let clock = [time / 3600, time / 60 % 60, time % 60].map { ($0 < 10 ? "0" : "") + String($0) }
        var text = clock.joined(separator: ":")
        text += "  \(statistics.viewers) viewer\(statistics.viewers == 1 ? "" : "s")"
        if let last, elapsed > last.at, statistics.connected > 0 {
            let seconds = elapsed - last.at
            let rate = Int((Double(frames - last.frames) / seconds).rounded())
            text += rate == 0 ? "  still" : "  \(rate) fps"
            text += "  \(Self.rate(Double(bytes - last.bytes) * 8 / seconds))"
            if let limit = statistics.limit { text += "  limited by \(limit)" }
        }
        let isLive = statistics.connected > 0
        text = String(((isLive ? "LIVE " : "waiting ") + text).prefix(max(columns - 3, 0)))
        return isLive ? "\u{1B}[31m\u{25CF}\u{1B}[0m " + text : "\u{25CB} " + text
    }

    static func rate(_ bitsPerSecond: Double) -> String {
        if bitsPerSecond >= 1e6 { return "\((bitsPerSecond / 1e5).rounded() / 10) Mbit/s" }
        return "\(Int((bitsPerSecond / 1e3).rounded())) kbit/s"
    }
}
