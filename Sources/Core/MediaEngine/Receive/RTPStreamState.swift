import MediaCore
import RTPWire

/// The state that each received RTP stream has: its SSRC, sequence numbers, statistics and clock.
struct RTPStreamState {
    /// 0: not known yet.
    var ssrc: UInt32
    var sequence = SequenceValidator()
    var statistics: ReceptionStatistics
    var clock: ClockMapping
    /// When its last packet arrived; nil before the first.
    var lastPacket: MediaInstant?

    /// Nothing had come with the announced SSRC before this one was taken.
    private var isProvisional = false

    /// After this time without a packet another SSRC of the same payload type takes its place.
    private static let longestSilence = MediaDuration.seconds(1)

    init(ssrc: UInt32, clockRate: Int) {
        self.ssrc = ssrc
        statistics = ReceptionStatistics(clockRate: clockRate)
        clock = ClockMapping(clockRate: clockRate)
    }

    /// Whether a packet of another SSRC shows the stream's new one: nothing has come yet, whatever was announced, or
    /// the peer has changed it without a word.
    func isFree(now: MediaInstant) -> Bool { lastPacket.map { now - $0 > Self.longestSilence } ?? true }

    /// Whether a packet of an SSRC that was announced shows the stream's own one.
    func yields(to ssrc: UInt32, announced: UInt32) -> Bool { isProvisional && announced != 0 && ssrc == announced }

    /// Goes on with another SSRC.
    mutating func rebind(to ssrc: UInt32, clockRate: Int) {
        let isFirst = lastPacket == nil
        self = RTPStreamState(ssrc: ssrc, clockRate: clockRate)
        isProvisional = isFirst
    }

    /// Takes in a sender report about the stream.
    mutating func note(_ info: SenderInfo, now: MediaInstant) {
        statistics.noteSenderReport(info.ntp, now: now)
        clock.note(info)
    }
}
