import MediaCore
import RTPWire

/// Collects arrival times for transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): one message
/// per 100 ms while packets arrive, per 50 ms if they are many, and per 25 ms during the first second.
///
/// Overflow: feedback is due at once; arrivals until it is written are not reported.
struct TransportFeedbackGenerator {
    private static let capacity = 1_024
    private static let interval = MediaDuration.milliseconds(100)
    /// From 16 packets on, as a queue can then fill quickly.
    private static let busyInterval = MediaDuration.milliseconds(50)
    private static let busyCount = 16
    /// For the first second of a stream, so that the sender's estimate starts soon.
    private static let earlyInterval = MediaDuration.milliseconds(25)
    private static let earlyTime = MediaDuration.seconds(1)

    private var writer: TransportFeedbackWriter
    private var unwrapper = SequenceUnwrapper()
    private var arrivals = [TransportArrival](
        repeating: TransportArrival(sequence: 0, arrival: MediaInstant(nanoseconds: 0)), count: capacity)
    private var count = 0
    private var base: Int64?
    private var firstEver: MediaInstant?
    private var firstOfBatch = MediaInstant(nanoseconds: 0)
    private(set) var deadline = MediaInstant.distantFuture

    init(senderSSRC: UInt32, mediaSSRC: UInt32, epoch: MediaInstant) {
        writer = TransportFeedbackWriter(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, epoch: epoch)
    }

    mutating func note(_ number: SequenceNumber, now: MediaInstant) {
        let sequence = unwrapper.unwrap(number)
        let start = firstEver ?? now
        firstEver = start
        guard count < Self.capacity else { return deadline = now }
        // The packet is nearly always the newest; a reordered one moves down a few places.
        var place = count
        while place > 0, arrivals[place &- 1].sequence > sequence { place &-= 1 }
        if place > 0, arrivals[place &- 1].sequence == sequence { return }
        var index = count
        while index > place {
            arrivals[index] = arrivals[index &- 1]
            index &-= 1
        }
        arrivals[place] = TransportArrival(sequence: sequence, arrival: now)
        count &+= 1
        if count == 1 {
            firstOfBatch = now
            deadline = now + (now - start < Self.earlyTime ? Self.earlyInterval : Self.interval)
        } else if count == Self.busyCount {
            deadline = max(now, min(deadline, firstOfBatch + Self.busyInterval))
        } else if count == Self.capacity {
            deadline = now
        }
    }

    /// Writes one feedback message. If more are needed, the deadline stays at `now`.
    /// - Returns: false if there is nothing to write.
    mutating func write(into bytes: inout ByteWriter, now: MediaInstant) -> Bool {
        guard count > 0 else {
            deadline = .distantFuture
            return false
        }
        let first = min(base ?? arrivals[0].sequence, arrivals[0].sequence)
        var taken = 0
        do throws(BufferFull) {
            let result = try arrivals.withUnsafeBufferPointer { list throws(BufferFull) in
                try writer.write(UnsafeBufferPointer(rebasing: list[0..<count]), base: first, into: &bytes)
            }
            taken = result.written
            base = max(base ?? .min, result.nextBase)
        } catch {
            taken = count
        }
        for index in 0..<(count &- taken) { arrivals[index] = arrivals[index &+ taken] }
        count &-= taken
        deadline = count > 0 ? now : .distantFuture
        firstOfBatch = now
        return true
    }
}
