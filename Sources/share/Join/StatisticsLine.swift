import CommandSupport
import Host
import MediaCore
import Viewer

/// Formats the lines of `--stats`, one a second on stderr. Rates are averages since the previous line.
struct StatisticsLine {
    private var last: (frames: Int, bytes: Int, packets: Int, lost: Int, at: Double)?

    /// The line of a host.
    /// - Parameter elapsed: seconds since a fixed start.
    mutating func text(_ statistics: HostStatistics, elapsed: Double) -> String {
        let now = (statistics.video.frames, statistics.sent.bytes, statistics.sent.packets, 0, elapsed)
        defer { last = now }
        var parts = ["\(statistics.connected) of \(statistics.viewers) connected"]
        if statistics.connected > 0 {
            parts += [
                "rtt " + Self.milliseconds(statistics.paths.roundTrip?.inMilliseconds),
                "loss " + Self.percent(statistics.paths.fractionLost),
                "estimate " + Self.rate(statistics.paths.estimate),
            ]
        }
        if let last, elapsed > last.at {
            parts.append("sent " + RateText.text(Double(now.1 - last.bytes) * 8 / (elapsed - last.at)))
            parts.append("frames \(Self.perSecond(now.0 - last.frames, elapsed - last.at))/s")
        }
        parts += [
            "queue " + Self.milliseconds(statistics.paths.backlog?.inMilliseconds),
            "freezes \(statistics.sent.freezes) (\(Self.milliseconds(statistics.sent.freezeTime.inMilliseconds)))",
            "retransmitted \(statistics.sent.retransmissions)",
            "key frames \(statistics.video.keyframes) (requested \(statistics.sent.keyframeRequests))",
            "recovered \(statistics.video.recoveries)", "skipped \(statistics.video.skipped)",
        ]
        if statistics.connected > 0 { parts.append("layer " + Self.layers(statistics.layers)) }
        if let limit = statistics.paths.qualityLimitationReason { parts.append("limit \(limit)") }
        if statistics.connected > 0 {
            parts.append("route " + (statistics.routes.isEmpty ? "-" : statistics.routes.joined(separator: " + ")))
        }
        return Self.text(parts)
    }

    /// Joins the parts to one line.
    static func text(_ parts: [String]) -> String { "stats: " + parts.joined(separator: " | ") }

    /// The values of a viewer, one a line.
    /// - Parameter elapsed: seconds since a fixed start.
    mutating func lines(
        _ statistics: ViewerStatistics, _ playback: PlaybackStatistics, elapsed: Double
    ) -> [String] {
        let now = (
            playback.decode.frames, statistics.bytesReceived, statistics.packetsReceived, statistics.packetsLost,
            elapsed
        )
        defer { last = now }
        var parts = [
            "rtt " + Self.milliseconds(statistics.roundTrip?.inMilliseconds),
            "estimate " + Self.rate(statistics.estimate),
        ]
        if let last, elapsed > last.at {
            let (lost, got) = (now.3 - last.lost, now.2 - last.packets)
            parts += [
                "loss " + Self.percent(lost + got > 0 ? Double(lost) / Double(lost + got) : 0),
                "received " + RateText.text(Double(now.1 - last.bytes) * 8 / (elapsed - last.at)),
                "frames \(Self.perSecond(now.0 - last.frames, elapsed - last.at))/s",
            ]
        }
        parts += [
            "queue " + Self.milliseconds(statistics.audioJitterBufferDelay?.inMilliseconds),
            "freezes \(statistics.freezes) (\(Self.milliseconds(statistics.freezeTime.inMilliseconds)))",
            "latency " + Self.milliseconds(playback.decode.latency(percentile: 0.5)),
            "repaired \(statistics.repaired)", "recovered \(statistics.recoveries)",
            "key frames requested \(statistics.keyframeRequests)",
            "layer \(statistics.layer.map { "\($0)" } ?? "-")", "route \(statistics.path)",
        ]
        return parts
    }

    /// "all" for one viewer; counts for several, such as "2 all, 1 base".
    private static func layers(_ layers: [ViewerLayer]) -> String {
        let counts = ViewerLayer.allCases.map { kind in (kind, layers.count { $0 == kind }) }.filter { $0.1 > 0 }
        if layers.count == 1, let (kind, _) = counts.first { return kind.rawValue }
        return counts.map { "\($1) \($0.rawValue)" }.joined(separator: ", ")
    }

    private static func rate(_ rate: Bitrate?) -> String {
        rate.map { RateText.text(Double($0.bitsPerSecond)) } ?? "-"
    }

    private static func milliseconds(_ value: Double?) -> String {
        value.map { "\(($0 * 10).rounded() / 10) ms" } ?? "-"
    }

    private static func percent(_ value: Double) -> String { "\((value * 1_000).rounded() / 10) %" }

    private static func perSecond(_ count: Int, _ seconds: Double) -> Int {
        Int((Double(count) / seconds).rounded())
    }
}
