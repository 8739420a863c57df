import MediaCore
import RTPWire

/// Decides when receiver reports are due, and knows the wall clock for them.
struct ReceiverReportSchedule {
    private let ntpEpoch: NTPTimestamp
    private let epoch: MediaInstant
    /// nil before the first `poll`.
    private(set) var next: MediaInstant?

    /// - Parameter ntpEpoch: the wall clock at `now`.
    init(ntpEpoch: NTPTimestamp, now: MediaInstant) {
        self.ntpEpoch = ntpEpoch
        epoch = now
    }

    func ntp(at instant: MediaInstant) -> NTPTimestamp { ntpEpoch.advanced(by: instant - epoch) }

    /// The first report is due 100 ms after the first `poll`.
    mutating func begin(now: MediaInstant) { if next == nil { next = now + .milliseconds(100) } }

    /// Ends the longer interval of an idle receiver.
    mutating func noteActivity(now: MediaInstant) {
        if let next, next > now + .seconds(1) { self.next = now + .seconds(1) }
    }

    func isDue(now: MediaInstant) -> Bool { next.map { now >= $0 } ?? false }

    mutating func noteSent(now: MediaInstant, interval: MediaDuration) { next = now + interval }
}
