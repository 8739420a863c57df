import MediaCore

/// The long-term references of a simulated encoder, and of the decoder that follows it.
struct SimulatedReferences {
    /// The references of each frame, by its number.
    private var made: [FrameReferences] = []
    private var isKeyframe: [Bool] = []
    private var kept: [ReferenceSlot: UInt32] = [:]
    private var decoded: [ReferenceSlot: UInt32] = [:]
    private var lastDecoded: UInt32?
    private var lastStored: MediaInstant?
    private var lastRecovery: MediaInstant?
    /// The long-term reference that a recovery frame was requested from, and not made yet.
    var wanted: UInt32?
    private(set) var recoveries = 0

    /// The long-term reference to recover from now; nil if none is requested, or the last recovery frame was made less
    /// than 300 ms ago.
    func source(now: MediaInstant) -> FrameReferences.Recovery? {
        guard let wanted, lastRecovery.map({ now - $0 >= .milliseconds(300) }) ?? true else { return nil }
        return kept.first { $0.value == wanted }.map { FrameReferences.Recovery(slot: $0.key, number: wanted) }
    }

    func canRecover(from number: UInt32) -> Bool { kept.values.contains(number) }

    /// The references of the next frame, as an encoder chooses them.
    mutating func make(isKeyframe isKey: Bool, mayStore: Bool, now: MediaInstant) -> FrameReferences {
        var next = FrameReferences(number: UInt32(made.count))
        if isKey {
            wanted = nil
            kept = [.golden: next.number, .alternate: next.number]
            lastStored = now
        } else if let source = source(now: now) {
            next.source = source
            next.stored = source.slot.other
            wanted = nil
            lastRecovery = now
            recoveries += 1
        } else if mayStore, lastStored.map({ now - $0 >= .milliseconds(400) }) ?? true {
            next.stored = (kept[.golden] ?? 0) <= (kept[.alternate] ?? 0) ? .golden : .alternate
        }
        if let slot = next.stored {
            kept[slot] = next.number
            lastStored = now
        }
        made.append(next)
        isKeyframe.append(isKey)
        return next
    }

    /// Decodes a frame.
    /// - Returns: false if it refers to a missing frame.
    mutating func decode(_ number: Int) -> Bool {
        guard made.indices.contains(number) else { return false }
        let frame = made[number]
        var isRight = lastDecoded.map { frame.number > $0 } ?? true
        if isKeyframe[number] {
            decoded = [.golden: frame.number, .alternate: frame.number]
        } else if let source = frame.source {
            isRight = isRight && decoded[source.slot] == source.number
        } else {
            isRight = isRight && lastDecoded == frame.number &- 1
        }
        if let slot = frame.stored { decoded[slot] = frame.number }
        lastDecoded = frame.number
        return isRight
    }
}
