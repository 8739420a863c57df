import PeerRuntime

/// "● LIVE 00:12:31  2 viewers  30 fps  1.4 Mbit/s  limited by the network"
struct StatusLine {
    private var last: (frames: Int, bytes: Int, at: Double)?

    mutating func text(_ statistics: HostStatistics, elapsed: Double) -> String {
        let frames = statistics.video.frames
        let bytes = statistics.bytesSent
        defer { last = (frames, bytes, elapsed) }
        let time = Int(elapsed)
        var text = statistics.connected > 0 ? "\u{1B}[31m\u{25CF} LIVE\u{1B}[0m " : "\u{25CB} waiting "
        text += [time / 3600, time / 60 % 60, time % 60].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
        text += "  \(statistics.viewers) viewer\(statistics.viewers == 1 ? "" : "s")"
        guard let last, elapsed > last.at, statistics.connected > 0 else { return text }
        let seconds = elapsed - last.at
        text += "  \(Int((Double(frames - last.frames) / seconds).rounded())) fps"
        text += "  \(Self.rate(Double(bytes - last.bytes) * 8 / seconds))"
        if let limit = statistics.limit { text += "  limited by \(limit)" }
        return text
    }

    static func rate(_ bitsPerSecond: Double) -> String {
        if bitsPerSecond >= 1e6 { return "\((bitsPerSecond / 1e5).rounded() / 10) Mbit/s" }
        return "\(Int((bitsPerSecond / 1e3).rounded())) kbit/s"
    }
}
