import MediaCore
import RTPWire

/// The state that each received RTP stream has: its SSRC, sequence numbers, statistics and clock.
struct ReceiveStream {
    /// 0: not known yet.
    var ssrc: UInt32
    var sequence = SequenceValidator()
    var statistics: ReceptionStatistics
    var clock: ClockMapping

    init(ssrc: UInt32, clockRate: Int) {
        self.ssrc = ssrc
        statistics = ReceptionStatistics(clockRate: clockRate)
        clock = ClockMapping(clockRate: clockRate)
    }

    /// Takes in a sender report about the stream.
    mutating func note(_ info: SenderInfo, now: MediaInstant) {
        statistics.noteSenderReport(info.ntp, now: now)
        clock.note(info)
    }
}
