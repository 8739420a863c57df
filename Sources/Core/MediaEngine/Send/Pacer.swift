import MediaCore

/// Paces video packets with a leaky bucket: sent bytes are a debt that drains at the pacing rate (compare libwebrtc's
/// `pacing_controller.cc`).
///
/// While the debt is below `burst`, the next packet may be sent at once. A frame that the rate can carry within 40 ms
/// is therefore not delayed; the rest of a larger one is sent in steps of 5 ms.
///
/// Whatever the rate, at most `packetsAtOnce` are sent together, and `packetsPerMillisecond` in the long run. A
/// receiver's UDP socket buffers about 90 packets (208 KiB, of which each packet takes 2,304 bytes), and the receiving
/// process has to be scheduled to read them.
struct Pacer {
    static let burst = MediaDuration.milliseconds(40)
    static let step = MediaDuration.milliseconds(5)
    static let packetsAtOnce = 32
    static let packetsPerMillisecond = 20
    /// The packets that one wake-up should allow.
    static let packetStep = 10

    private(set) var rate: Bitrate
    private var debt = 0.0
    private var packetDebt = 0.0
    private var updated: MediaInstant

    init(rate: Bitrate, now: MediaInstant) {
        self.rate = rate
        updated = now
    }

    mutating func setRate(_ rate: Bitrate, now: MediaInstant) {
        drain(now)
        self.rate = rate
    }

    /// Takes what was sent for drained.
    mutating func forgive(now: MediaInstant) {
        drain(now)
        debt = 0
    }

    mutating func note(bytes: Int, packets: Int = 1, now: MediaInstant) {
        drain(now)
        debt += Double(bytes)
        packetDebt += Double(packets)
    }

    /// How many packets may be sent at once, and how many bytes may have been sent when another one is.
    mutating func room(now: MediaInstant) -> (packets: Int, bytes: Int) {
        guard maySend(now: now) else { return (0, 0) }
        return (Int(Double(Self.packetsAtOnce) - packetDebt), Int((bytes(in: Self.burst) - debt).rounded(.up)))
    }

    mutating func maySend(now: MediaInstant) -> Bool {
        drain(now)
        return debt < bytes(in: Self.burst) && packetDebt <= Double(Self.packetsAtOnce - 1)
    }

    /// When a step's worth of bytes or packets may be sent again.
    func nextSend(now: MediaInstant) -> MediaInstant {
        var next = now
        if debt >= bytes(in: Self.burst) {
            let excess = debt - bytes(in: Self.burst - Self.step)
            next = max(next, updated + rate.duration(ofBytes: Int(excess) + 1))
        }
        if packetDebt > Double(Self.packetsAtOnce - 1) {
            let excess = packetDebt - Double(Self.packetsAtOnce - Self.packetStep)
            next = max(next, updated + MediaDuration(nanoseconds: Int64(excess * Self.nanosecondsPerPacket) + 1))
        }
        return next
    }

    private static let nanosecondsPerPacket = 1e6 / Double(packetsPerMillisecond)

    private func bytes(in duration: MediaDuration) -> Double {
        Double(rate.bitsPerSecond) / 8 * duration.inSeconds
    }

    private mutating func drain(_ now: MediaInstant) {
        guard now > updated else { return }
        debt = max(0, debt - bytes(in: now - updated))
        let passed = Double((now - updated).nanoseconds)
        packetDebt = max(0, packetDebt - passed / Self.nanosecondsPerPacket)
        updated = now
    }
}
