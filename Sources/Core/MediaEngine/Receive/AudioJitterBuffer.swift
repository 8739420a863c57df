import MediaCore
import RTPWire

/// Puts the packets of one sound stream into order and gives each out when its time has come.
///
/// The delay starts at nothing and follows how late packets come, up to 200 ms. Nothing is due while nothing waits, so silence costs
/// nothing. Overflow: give out the oldest.
struct AudioJitterBuffer {
    private static let capacity = 64
    private static let slotBytes = 1_504
    private static let longestDelay = 200.0
    /// More than this much missing sound is left out instead of concealed.
    private static let mostConcealed = 5

    private struct Slot {
        var sequence: Int64 = .min
        var timestamp: Int64 = 0
        var length = 0
    }

    struct Output {
        var bytes: UnsafeRawBufferPointer?
        var timestamp: RTPTimestamp
        var isLost: Bool
        var useFEC: Bool
        var frames: Int
    }

    private let slab = PacketSlab(capacity: capacity, slotBytes: slotBytes)
    private var slots = [Slot](repeating: Slot(), count: capacity)
    private var timestamps = TimestampUnwrapper()
    private var lateness = LatenessHistogram()
    /// The next to give out; nil before the first.
    private var next: Int64?
    private var nextTimestamp: Int64 = 0
    private var lastFrames = 960
    private var highest: Int64 = .min
    /// Which packet of each slot has come last.
    private var arrived = [Int64](repeating: .min, count: capacity)
    private var lastCopy: MediaInstant?
    private var waiting = 0
    private var concealed = 0
    /// Arrival minus stream time of the fastest packets, in milliseconds.
    private var fastest: Double?
    private var fastestBefore: Double?
    private var periodStart = MediaInstant(nanoseconds: 0)
    private(set) var lost = 0
    private(set) var late = 0
    private(set) var restored = 0
    private(set) var delayMilliseconds = 0.0

    // MARK: In

    mutating func insert(
        _ sequence: Int64, _ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp, now: MediaInstant
    ) {
        guard packet.count <= Self.slotBytes, !packet.isEmpty else { return }
        let time = timestamps.unwrap(timestamp)
        // Known already from a later packet.
        if arrived[slot(sequence)] != sequence { measure(time, now) }
        arrived[slot(sequence)] = sequence
        guard let first = next, sequence &- first < 1_000, first &- sequence < 1_000 else {
            return restart(sequence, packet, time)
        }
        guard sequence >= first else {
            late &+= 1
            return
        }
        // What is too far ahead pushes the oldest out.
        if sequence &- first >= Int64(Self.capacity) {
            drop(upTo: sequence &- Int64(Self.capacity) &+ 1)
        }
        store(sequence, packet, time)
    }

    /// Takes in what a packet carries of an older one.
    /// - Parameters:
    ///   - sequence: of the packet that carries it.
    ///   - offset: how much older it is, in samples.
    mutating func insertCopy(
        _ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp, behind sequence: Int64, by offset: Int,
        now: MediaInstant
    ) {
        guard packet.count <= Self.slotBytes, !packet.isEmpty, offset > 0, let first = next else { return }
        let frames = OpusPacket.frames(packet)
        guard offset % frames == 0, offset / frames < Self.capacity else { return }
        let number = sequence &- Int64(offset / frames)
        let index = slot(number)
        guard number >= 0, arrived[index] < number else { return }
        arrived[index] = number
        lastCopy = now
        let time = timestamps.unwrap(timestamp)
        measure(time, now)
        // Too late this time: now it is known for how long to wait.
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

    // MARK: Out

    /// When the next output is due; nil if nothing waits.
    var deadline: MediaInstant? {
        guard waiting > 0, let next else { return nil }
        let index = slot(next)
        let time = slots[index].sequence == next ? slots[index].timestamp : missingTime
        return playTime(time)
    }

    /// Where the missing packet belongs: where the last one ended, as far as it is known.
    private var missingTime: Int64 { nextTimestamp }

    /// The next packet, or the news that it is lost; nil if nothing is due.
    mutating func pop(now: MediaInstant) -> Output? {
        guard let deadline, deadline <= now, let current = next else { return nil }
        let index = slot(current)
        if slots[index].sequence == current {
            let slot = slots[index]
            slots[index].sequence = .min
            waiting &-= 1
            let bytes = UnsafeRawBufferPointer(rebasing: slab[index][0..<slot.length])
            lastFrames = OpusPacket.frames(bytes)
            next = current &+ 1
            nextTimestamp = slot.timestamp &+ Int64(lastFrames)
            concealed = 0
            return Output(
                bytes: bytes, timestamp: RTPTimestamp(UInt32(truncatingIfNeeded: slot.timestamp)), isLost: false,
                useFEC: false, frames: lastFrames)
        }
        lost &+= 1
        let time = nextTimestamp
        next = current &+ 1
        nextTimestamp &+= Int64(lastFrames)
        concealed &+= 1
        if concealed > Self.mostConcealed {
            skipToNextArrived()
            return pop(now: now)
        }
        // The packet behind the lost one carries a coarse copy of it, if the sender put one in.
        let follower = self.slot(current &+ 1)
        let hasFollower = slots[follower].sequence == current &+ 1
        return Output(
            bytes: hasFollower ? UnsafeRawBufferPointer(rebasing: slab[follower][0..<slots[follower].length]) : nil,
            timestamp: RTPTimestamp(UInt32(truncatingIfNeeded: time)), isLost: true, useFEC: hasFollower,
            frames: lastFrames)
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

    // MARK: Time

    private mutating func measure(_ time: Int64, _ now: MediaInstant) {
        let way = Double(now.nanoseconds) / 1e6 - Double(time) / 48
        if let known = fastest, abs(way - known) > 5_000 {
            // The sender's clock jumped.
            fastest = nil
            fastestBefore = nil
            lateness = LatenessHistogram()
        }
        if fastest == nil { periodStart = now }
        if now - periodStart > .seconds(5) {
            periodStart = now
            fastestBefore = fastest
            fastest = way
        }
        fastest = min(fastest ?? way, way)
        lateness.note(way - base)
        // What a later packet brings is seldom, but each such moment is heard.
        let hasCopies = lastCopy.map { now - $0 < .seconds(10) } ?? false
        delayMilliseconds = min(lateness.quantile(hasCopies ? 0.99 : 0.97), Self.longestDelay)
    }

    private var base: Double { min(fastest ?? 0, fastestBefore ?? .infinity) }

    private func playTime(_ time: Int64) -> MediaInstant {
        let milliseconds = base + Double(time) / 48 + delayMilliseconds
        // Time stamps that jump on and on must not leave what an instant can hold.
        return MediaInstant(nanoseconds: Int64(min(max(milliseconds, 0), 9e12) * 1e6))
    }
}

/// How late packets come, in steps of 10 ms, forgetting slowly.
struct LatenessHistogram {
    private static let step = 10.0
    private var weights = [Double](repeating: 0, count: 22)
    private var sum = 0.0

    mutating func note(_ milliseconds: Double) {
        let index = min(max(Int(min(milliseconds, 1e6) / Self.step), 0), weights.count - 1)
        for i in weights.indices { weights[i] *= 0.996 }
        sum = sum * 0.996 + 1
        weights[index] += 1
    }

    /// The delay that this share of the packets keep, in milliseconds; 0 if it is under a step.
    func quantile(_ share: Double) -> Double {
        guard sum > 0 else { return 0 }
        var covered = 0.0
        for (index, weight) in weights.enumerated() {
            covered += weight
            if covered >= share * sum { return Double(index) * Self.step + (index == 0 ? 0 : Self.step) }
        }
        return Double(weights.count) * Self.step
    }
}
