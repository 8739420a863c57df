public import MediaCore
import RTPWire

/// The Opus packets of one audio stream that is forwarded without being decoded, kept once for all receivers.
///
/// A `MediaReceiver` puts them in as they arrive, also those that RED packets (RFC 2198) carry again, and any number of
/// `MediaSender`s send them at once. Nothing waits for a missing packet: the receivers see a gap in sequence numbers,
/// and conceal it. A late packet is sent under the number that it leaves out, while the ring has a place for it.
///
/// Positions and timestamps go on when another source begins, so one source is the continuation of the other.
/// - Isolation: as for ``ForwardedVideo``; `MediaSender.skipForwardedAudio` only reads it, too. Allocates only in
///   `init`.
public final class ForwardedAudio {
    let packets = OpusPacketRing(capacity: ForwardedAudio.capacity, slotBytes: ForwardedAudio.largestPayload)
    private var numbering: Numbering?
    private var arrival = MediaInstant(nanoseconds: 0)
    private var clock: (timestamp: RTPTimestamp, instant: MediaInstant)?
    /// Counts the sources; see ``ForwardedAudioInput``.
    fileprivate var sources = 0
    /// As `ForwardedVideo.onPackets`.
    public var onPackets: (() -> Void)?

    /// What the source may put in, in packets and in bytes: all receivers are sent that, and audio is not paced. Opus
    /// has 400 packets and 64 kB a second at most (RFC 6716 section 2.1).
    private var packetRate = TokenBucket(burst: 64, rate: 500, now: MediaInstant(nanoseconds: 0))
    private var byteRate = TokenBucket(burst: 64_000, rate: 80_000, now: MediaInstant(nanoseconds: 0))

    /// As long as the least replay window of SRTP (RFC 3711 section 3.3.2): receivers refuse older packets.
    private static let capacity = 64
    /// In bytes.
    static let largestPayload = ForwardedVideo.largestPayload
    /// A timestamp that differs by more from what the time since the newest packet says begins a new timeline.
    private static let farthest = 10 * AudioFormat.sampleRate

    /// How a source's numbers and timestamps become those of the stream.
    private struct Numbering {
        /// The position of the first packet.
        var first: Int64
        /// From sequence numbers to positions.
        var shift: Int64
        var timestampShift: UInt32

        func position(of sequence: Int64) -> Int64 { sequence &+ shift }
        func timestamp(of source: RTPTimestamp) -> RTPTimestamp { RTPTimestamp(source.rawValue &+ timestampShift) }
    }

    /// What became of a packet.
    enum Insertion: Equatable {
        /// It is the newest, and so many before it are missing.
        case newest(gap: Int)
        /// It was missing.
        case late
        case tooLate
        /// It is there already, not a packet that can be forwarded, or more than a source may send.
        case refused
    }

    public init() {}

    // MARK: The source

    fileprivate func beginSource() -> Int {
        sources += 1
        restart()
        return sources
    }

    /// The source's sequence numbers and timestamps begin anew.
    func restart() { numbering = nil }

    /// Takes in a packet.
    /// - Parameter sequence: the unwrapped sequence number.
    func insert(
        _ sequence: Int64, _ payload: UnsafeRawBufferPointer, timestamp: RTPTimestamp, isMarked: Bool,
        now: MediaInstant
    ) -> Insertion {
        guard !payload.isEmpty, payload.count <= Self.largestPayload else { return .refused }
        var numbering = numbering ?? begin(sequence, timestamp, now)
        let newest = packets.newestPosition
        if numbering.position(of: sequence) > newest, isFar(numbering.timestamp(of: timestamp), now) {
            numbering = begin(sequence, timestamp, now)
        }
        let position = numbering.position(of: sequence)
        guard position >= numbering.first, packets.lacks(position) else {
            return packets.packet(position) == nil ? .tooLate : .refused
        }
        return store(
            payload, position, numbering.timestamp(of: timestamp), isMarked: isMarked || position == numbering.first,
            now)
    }

    /// Takes in an earlier packet that a RED packet carries again.
    /// - Parameters:
    ///   - sequence: of the RED packet.
    ///   - timestamp: of the earlier packet.
    ///   - offset: the timestamp offset of the block, in samples.
    /// - Returns: `.refused` also if its place in the stream is not certain.
    func insertCopy(
        _ payload: UnsafeRawBufferPointer, timestamp: RTPTimestamp, behind sequence: Int64, by offset: Int,
        now: MediaInstant
    ) -> Insertion {
        guard let numbering, !payload.isEmpty, payload.count <= Self.largestPayload, offset > 0 else {
            return .refused
        }
        let samples = OpusPacket.samplesPerChannel(payload)
        guard offset % samples == 0, offset / samples < Self.capacity else { return .refused }
        let position = numbering.position(of: sequence) &- Int64(offset / samples)
        let stamp = numbering.timestamp(of: timestamp)
        guard position >= numbering.first, packets.lacks(position), fits(position, stamp, samples),
            !isFar(stamp, now)
        else { return .refused }
        return store(payload, position, stamp, isMarked: false, now)
    }

    private func store(
        _ payload: UnsafeRawBufferPointer, _ position: Int64, _ timestamp: RTPTimestamp, isMarked: Bool,
        _ now: MediaInstant
    ) -> Insertion {
        guard admits(payload.count, now) else { return .refused }
        let newest = packets.newestPosition
        packets.store(payload, at: position, timestamp: timestamp, isMarked: isMarked)
        if position > newest { arrival = now }
        onPackets?()
        return position > newest ? .newest(gap: Int(position &- newest &- 1)) : .late
    }

    private func admits(_ bytes: Int, _ now: MediaInstant) -> Bool {
        packetRate.refill(now)
        byteRate.refill(now)
        guard packetRate.has(), byteRate.has(Double(bytes)) else { return false }
        packetRate.take()
        byteRate.take(Double(bytes))
        return true
    }

    /// Begins a timeline with this packet, which follows the newest one by the time since that came.
    private func begin(_ sequence: Int64, _ timestamp: RTPTimestamp, _ now: MediaInstant) -> Numbering {
        let first = packets.newestPosition &+ 1
        let stamp = expected(now) ?? timestamp
        let begun = Numbering(
            first: first, shift: first &- sequence, timestampShift: stamp.rawValue &- timestamp.rawValue)
        numbering = begun
        return begun
    }

    /// The timestamp of a packet that arrives now, by the newest one; nil if there is none.
    private func expected(_ now: MediaInstant) -> RTPTimestamp? {
        packets.newest.map {
            let ticks = RTPTimestamp.ticks(in: now - arrival, clockRate: AudioFormat.sampleRate)
            return $0.timestamp.advanced(by: max(ticks, $0.samplesPerChannel))
        }
    }

    private func isFar(_ timestamp: RTPTimestamp, _ now: MediaInstant) -> Bool {
        expected(now).map { abs($0.distance(to: timestamp)) > Self.farthest } ?? false
    }

    /// Whether a packet of this position can have this timestamp beside its neighbours. It cannot if there was a pause
    /// between it and the RED packet, as its position is counted in packets of its own length.
    private func fits(_ position: Int64, _ timestamp: RTPTimestamp, _ samples: Int) -> Bool {
        let newest = packets.newestPosition
        for step in 1..<Int64(Self.capacity) {
            guard let before = packets.packet(position &- step) else { continue }
            if before.endTimestamp.distance(to: timestamp) < 0 { return false }
            break
        }
        var next = position &+ 1
        while next <= newest {
            if let after = packets.packet(next) {
                return timestamp.advanced(by: samples).distance(to: after.timestamp) >= 0
            }
            next &+= 1
        }
        return true
    }

    // MARK: The clock

    /// Takes in when the packet of this timestamp of the source was captured, on the clock of the senders.
    public func note(rtpTimestamp: UInt32, captured: MediaInstant) {
        guard let numbering else { return }
        clock = (numbering.timestamp(of: RTPTimestamp(rtpTimestamp)), captured)
    }

    /// The RTP timestamp of an instant, for sender reports; nil before the first packet.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp? {
        clock.map { $0.timestamp.advanced(by: instant - $0.instant, clockRate: AudioFormat.sampleRate) }
    }
}

/// What one source puts into a ``ForwardedAudio``. When another one begins, what this one still sends is ignored.
struct ForwardedAudioInput {
    private let audio: ForwardedAudio
    private let number: Int
    /// The timestamp of a new packet that `takeNewest` has not returned yet.
    private var newest: RTPTimestamp?
    private(set) var lost = 0
    private(set) var late = 0
    private(set) var restored = 0

    /// Begins as the source.
    init(_ audio: ForwardedAudio) {
        self.audio = audio
        number = audio.beginSource()
    }

    private var isCurrent: Bool { audio.sources == number }

    /// See `ForwardedAudio.insert`.
    mutating func insert(
        _ sequence: Int64, _ payload: UnsafeRawBufferPointer, timestamp: RTPTimestamp, isMarked: Bool,
        now: MediaInstant
    ) {
        guard isCurrent else { return }
        let insertion = audio.insert(sequence, payload, timestamp: timestamp, isMarked: isMarked, now: now)
        if case .newest = insertion { newest = timestamp }
        note(insertion)
    }

    /// See `ForwardedAudio.insertCopy`.
    mutating func insertCopy(
        _ payload: UnsafeRawBufferPointer, timestamp: RTPTimestamp, behind sequence: Int64, by offset: Int,
        now: MediaInstant
    ) {
        guard isCurrent else { return }
        let insertion = audio.insertCopy(payload, timestamp: timestamp, behind: sequence, by: offset, now: now)
        if insertion != .refused { restored &+= 1 }
        note(insertion)
    }

    private mutating func note(_ insertion: ForwardedAudio.Insertion) {
        switch insertion {
        case .newest(let gap): lost &+= gap
        case .late: lost &-= 1
        case .tooLate: late &+= 1
        case .refused: break
        }
    }

    /// See `ForwardedAudio.restart`.
    func restart() { if isCurrent { audio.restart() } }

    /// The newest packet with its timestamp at the source, if it was not returned yet.
    mutating func takeNewest() -> (bytes: UnsafeRawBufferPointer, samplesPerChannel: Int, timestamp: RTPTimestamp)? {
        guard let timestamp = newest, isCurrent, let packet = audio.packets.newest else { return nil }
        newest = nil
        return (audio.packets.bytes(packet), packet.samplesPerChannel, timestamp)
    }
}
