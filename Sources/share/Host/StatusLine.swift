import CommandSupport
import Host
import MediaCore

/// Formats the host's status: "● LIVE 00:12:31  2 viewers  30 fps  1.4 Mbit/s  limited by the network", or
/// "○ PAUSED 00:12:31  2 viewers  microphone muted"
struct StatusLine {
    private var last: (frames: Int, bytes: Int, at: Double)?

    /// - Parameter columns: the width of the terminal. A longer line could not be redrawn.
    mutating func text(
        _ statistics: HostStatistics, elapsed: Double, columns: Int, style: TerminalStyle = .current
    ) -> String {
        let frames = statistics.video.frames
        let bytes = statistics.sent.bytes
        defer { last = (frames, bytes, elapsed) }
        let hold = statistics.holds.effective
        let isLive = statistics.connected > 0 && hold == nil
        let isRecording = statistics.destination == .file
        var parts = [
            (hold.map { $0.participle.uppercased() + " " } ?? (isRecording ? "REC " : isLive ? "LIVE " : "waiting "))
                + ClockText.text(Int(elapsed)),
            ReceiversText.text(viewers: statistics.viewers, statistics.destination),
        ]
        parts += statistics.audio.compactMap(Self.audio)
        if let last, elapsed > last.at, isLive {
            let seconds = elapsed - last.at
            let rate = Int((Double(frames - last.frames) / seconds).rounded())
            parts.append(rate == 0 ? "still" : "\(rate) fps")
            // The program of an extension may get raw frames, of which nothing is sent from here.
            if bytes > 0 { parts.append(RateText.text(Double(bytes - last.bytes) * 8 / seconds)) }
            if let limit = statistics.paths.qualityLimitationReason { parts.append("limited by \(limit)") }
        }
        if let comment = ReceiversText.comment(statistics.destination) { parts.append(comment) }
        // Parts that do not fit are left out, from the end.
        while parts.count > 1, parts.joined(separator: "  ").count > columns - 3 { parts.removeLast() }
        let mark = style.fit(isLive ? "\u{25CF}" : "\u{25CB}")
        return (isLive && style.hasColours ? "\u{1B}[31m\(mark)\u{1B}[0m " : mark + " ") + parts.joined(separator: "  ")
    }

    /// What is muted, and how loud the microphone is.
    private static func audio(_ track: AudioTrackState) -> String? {
        let speaks = track.level.map { $0 > -40 } ?? false
        if track.isMuted {
            return track.kind.audioName + (track.kind == .microphoneAudio && speaks ? " muted (you speak)" : " muted")
        }
        guard track.kind == .microphoneAudio, track.isCaptured else { return nil }
        return "microphone " + (track.level.map { "\(Int($0.rounded())) dB" } ?? "silent")
    }
}
