import MediaCore
import RTPWire

/// Jitter buffer for one Opus stream: puts packets into order and releases each at its playout time.
///
/// The delay starts at 0 and follows the measured lateness of packets, up to 200 ms (compare libwebrtc's NetEq, which
/// also stretches the audio). Nothing is due while the buffer is empty, so silence causes no wake-ups. Overflow: the
/// oldest packet is dropped.
struct AudioJitterBuffer {
    private static let capacity = 64
    private static let slotBytes = 1_504
    /// After this many concealed packets in a row the remaining gap is skipped.
    private static let mostConcealed = 5

    private struct Slot {
        var sequence: Int64 = .min
        var timestamp: Int64 = 0
        var length = 0
    }

    /// A packet, or the place of a lost one.
    struct Output {
        var bytes: UnsafeRawBufferPointer?
        var timestamp: RTPTimestamp
        var isLost: Bool
        var useFEC: Bool
        var samplesPerChannel: Int
    }

    private let slab = PacketSlab(capacity: capacity, slotBytes: slotBytes)
    private var slots = [Slot](repeating: Slot(), count: capacity)
    private var timestamps = TimestampUnwrapper()
    private var delay = PlayoutDelayEstimator()
    /// Sequence number of the next output; nil before the first packet.
    private var next: Int64?
    private var nextTimestamp: Int64 = 0
    private var lastSamplesPerChannel = 960
    private var highest: Int64 = .min
    /// The last sequence number that arrived for each slot, in a packet of its own or in a RED block.
    private var arrived = [Int64](repeating: .min, count: capacity)
    private var waiting = 0
    private var concealed = 0
    private(set) var lost = 0
    private(set) var late = 0
    private(set) var restored = 0

    var delayMilliseconds: Double { delay.milliseconds }

    // MARK: Input

    mutating func insert(
        _ sequence: Int64, _ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp, now: MediaInstant
    ) {
        guard packet.count <= Self.slotBytes, !packet.isEmpty else { return }
        let time = timestamps.unwrap(timestamp)
        // A RED block brought this packet earlier, and was measured then.
        if arrived[slot(sequence)] != sequence { delay.note(time, now: now) }
        arrived[slot(sequence)] = sequence
        guard let first = next, sequence &- first < 1_000, first &- sequence < 1_000 else {
            return restart(sequence, packet, time)
        }
        guard sequence >= first else {
            late &+= 1
            return
        }
        // A packet too far ahead drops the oldest.
        if sequence &- first >= Int64(Self.capacity) {
            drop(upTo: sequence &- Int64(Self.capacity) &+ 1)
        }
        store(sequence, packet, time)
    }

    /// Takes in an earlier packet that a RED packet carries again (RFC 2198).
    /// - Parameters:
    ///   - sequence: of the RED packet.
    ///   - offset: the timestamp offset of the block, in samples.
    mutating func insertCopy(
        _ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp, behind sequence: Int64, by offset: Int,
        now: MediaInstant
    ) {
        guard packet.count <= Self.slotBytes, !packet.isEmpty, offset > 0, let first = next else { return }
        let samplesPerChannel = OpusPacket.samplesPerChannel(packet)
        guard offset % samplesPerChannel == 0, offset / samplesPerChannel < Self.capacity else { return }
        let number = sequence &- Int64(offset / samplesPerChannel)
        let index = slot(number)
        guard number >= 0, arrived[index] < number else { return }
        arrived[index] = number
        let time = timestamps.unwrap(timestamp)
        delay.noteCopy(time, now: now)
        // Too late to be played, but its lateness was measured.
        guard number >= first, number &- first < Int64(Self.capacity) else { return }
        restored &+= 1
        store(number, packet, time)
    }

    private mutating func restart(_ sequence: Int64, _ packet: UnsafeRawBufferPointer, _ time: Int64) {
        for index in slots.indices {
            slots[index].sequence = .min
            arrived[index] = .min
        }
        arrived[slot(sequence)] = sequence
        waiting = 0
        highest = .min
        next = sequence
        nextTimestamp = time
        concealed = 0
        store(sequence, packet, time)
    }

    private mutating func store(_ sequence: Int64, _ packet: UnsafeRawBufferPointer, _ time: Int64) {
        let index = slot(sequence)
        guard slots[index].sequence != sequence else { return }
        slots[index] = Slot(sequence: sequence, timestamp: time, length: packet.count)
        slab[index].copyMemory(from: packet)
        waiting &+= 1
        highest = max(highest, sequence)
    }

    private mutating func drop(upTo sequence: Int64) {
        guard var current = next else { return }
        while current < sequence {
            let index = slot(current)
            if slots[index].sequence == current {
                slots[index].sequence = .min
                waiting &-= 1
            }
            lost &+= 1
            current &+= 1
        }
        next = current
        concealed = 0
    }

    private func slot(_ sequence: Int64) -> Int {
        Int(((sequence % Int64(Self.capacity)) &+ Int64(Self.capacity)) % Int64(Self.capacity))
    }

    // MARK: Output

    /// When the next output is due; nil if the buffer is empty.
    var deadline: MediaInstant? {
        guard waiting > 0, let next else { return nil }
        let index = slot(next)
        let time = slots[index].sequence == next ? slots[index].timestamp : missingTime
        return delay.playTime(time)
    }

    /// The expected timestamp of the missing packet: the end of the last one.
    private var missingTime: Int64 { nextTimestamp }

    /// The next packet, or the place of a lost one; nil if nothing is due.
    mutating func pop(now: MediaInstant) -> Output? {
        guard let deadline, deadline <= now, let current = next else { return nil }
        let index = slot(current)
        if slots[index].sequence == current {
            let slot = slots[index]
            slots[index].sequence = .min
            waiting &-= 1
            let bytes = UnsafeRawBufferPointer(rebasing: slab[index][0..<slot.length])
            lastSamplesPerChannel = OpusPacket.samplesPerChannel(bytes)
            next = current &+ 1
            nextTimestamp = slot.timestamp &+ Int64(lastSamplesPerChannel)
            concealed = 0
            return Output(
                bytes: bytes, timestamp: RTPTimestamp(UInt32(truncatingIfNeeded: slot.timestamp)), isLost: false,
                useFEC: false, samplesPerChannel: lastSamplesPerChannel)
        }
        lost &+= 1
        let time = nextTimestamp
        next = current &+ 1
        nextTimestamp &+= Int64(lastSamplesPerChannel)
        concealed &+= 1
        if concealed > Self.mostConcealed {
            skipToNextArrived()
            return pop(now: now)
        }
        // With in-band FEC, the packet after a lost one carries a coarse copy of it.
        let follower = self.slot(current &+ 1)
        let hasFollower = slots[follower].sequence == current &+ 1
        return Output(
            bytes: hasFollower ? UnsafeRawBufferPointer(rebasing: slab[follower][0..<slots[follower].length]) : nil,
            timestamp: RTPTimestamp(UInt32(truncatingIfNeeded: time)), isLost: true, useFEC: hasFollower,
            samplesPerChannel: lastSamplesPerChannel)
    }

    private mutating func skipToNextArrived() {
        guard var current = next else { return }
        while current <= highest {
            let index = slot(current)
            if slots[index].sequence == current {
                nextTimestamp = slots[index].timestamp
                break
            }
            lost &+= 1
            current &+= 1
        }
        next = current
        concealed = 0
    }
}
