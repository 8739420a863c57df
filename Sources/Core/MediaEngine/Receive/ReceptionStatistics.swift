import MediaCore
import RTPWire

/// The statistics of one stream for receiver reports (RFC 3550 section 6.4.1, appendices A.3 and A.8).
struct ReceptionStatistics {
    private let clockRate: Double
    private var first: Int64?
    private(set) var highest: Int64 = 0
    private var received: Int64 = 0
    private var expectedBefore: Int64 = 0
    private var receivedBefore: Int64 = 0
    private var jitter = 0.0
    private var lastTransit: Double?
    private var senderReport: (middle: UInt32, arrival: MediaInstant)?
    private(set) var hasNews = false

    init(clockRate: Int) { self.clockRate = Double(clockRate) }

    mutating func note(_ sequence: Int64, timestamp: RTPTimestamp, now: MediaInstant) {
        hasNews = true
        received &+= 1
        guard let first else {
            self.first = sequence
            highest = sequence
            return
        }
        if sequence < first { self.first = sequence }
        highest = max(highest, sequence)
        // In ticks. Both values wrap; their difference does not.
        let arrival = UInt32(truncatingIfNeeded: Int64(now.inSeconds * clockRate))
        let transit = Double(Int32(bitPattern: arrival &- timestamp.rawValue))
        if let last = lastTransit, abs(transit - last) < clockRate * 10 {
            jitter += (abs(transit - last) - jitter) / 16
        }
        lastTransit = transit
    }

    /// The stream restarted with other sequence numbers.
    mutating func restart() {
        first = nil
        received = 0
        expectedBefore = 0
        receivedBefore = 0
        lastTransit = nil
    }

    mutating func noteSenderReport(_ ntp: NTPTimestamp, now: MediaInstant) { senderReport = (ntp.middle, now) }

    /// The report block; nil if no packet of the stream has arrived yet.
    mutating func block(ssrc: UInt32, now: MediaInstant) -> ReportBlock? {
        guard let first else { return nil }
        hasNews = false
        let expected = highest &- first &+ 1
        let newlyExpected = expected &- expectedBefore
        let newlyLost = newlyExpected &- (received &- receivedBefore)
        expectedBefore = expected
        receivedBefore = received
        let fraction = newlyExpected > 0 && newlyLost > 0 ? min(newlyLost &* 256 / newlyExpected, 255) : 0
        return ReportBlock(
            ssrc: ssrc, fractionLost: UInt8(clamping: fraction), cumulativeLost: Int32(clamping: expected &- received),
            highestSequence: UInt32(truncatingIfNeeded: highest),
            jitter: UInt32(min(max(jitter, 0), 4e9)), lastSenderReport: senderReport?.middle ?? 0,
            delaySinceLastSenderReport: senderReport.map { NTPTimestamp.shortInterval(now - $0.arrival) } ?? 0)
    }
}

extension MediaInstant {
    fileprivate var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

/// Maps RTP timestamps to the sender's wall clock by its last sender report.
struct ClockMapping {
    private let clockRate: Int
    private var anchor: (rtp: RTPTimestamp, ntp: NTPTimestamp)?

    init(clockRate: Int) { self.clockRate = clockRate }

    mutating func note(_ info: SenderInfo) { anchor = (info.rtpTimestamp, info.ntp) }

    func captured(_ timestamp: RTPTimestamp) -> NTPTimestamp? {
        guard let anchor else { return nil }
        return anchor.ntp.advanced(
            by: RTPTimestamp.duration(ofTicks: anchor.rtp.distance(to: timestamp), clockRate: clockRate))
    }
}
