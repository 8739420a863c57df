import MediaCore
import RTPWire

/// Puts video packets into order and finds frames in them that are complete and can be decoded: each refers to the one before it,
/// or is a key frame.
///
/// A packet lies in slot `sequence % capacity` from the next frame's start on. Overflow: drop to key frame.
struct FrameAssembler {
    static let largestFrame = 4 << 20
    private static let slotBytes = 1_504
    private static let mostKeyframes = 8

    private struct Slot {
        var sequence: Int64 = .min
        var length = 0
        var timestamp = RTPTimestamp(0)
        var arrival = MediaInstant(nanoseconds: 0)
        var isFrameStart = false
        var isFrameEnd = false
        var isKeyframe = false
        /// Padding: carries nothing, but closes the gap.
        var isFiller = false
        var layer: UInt8 = 0
    }

    /// A frame from its first to its last packet.
    struct Span: Equatable {
        var first: Int64
        var last: Int64
        var isKeyframe: Bool
    }

    enum Insertion { case taken, duplicate, tooOld, tooLong, overflow }

    private let slab: PacketSlab
    private var slots: [Slot]
    private let mask: Int64
    private let frame: UnsafeMutableRawBufferPointer
    private let owner: FrameMemory
    /// Where the next frame begins; nil before the first packet.
    private(set) var expected: Int64?
    private(set) var waitsForKeyframe = true
    /// Everything from `expected` up to here is there and belongs to one unfinished frame.
    private var scanned: Int64 = 0
    /// Where key frames begin that have not been given out, ascending, each with how far it is known to be there.
    private var keyframes = [(start: Int64, scanned: Int64)](repeating: (0, 0), count: mostKeyframes)
    private var keyframeCount = 0
    private(set) var highest: Int64 = .min
    private(set) var badFrames = 0
    /// Since when there is something newer than what can be shown.
    private(set) var stuckSince: MediaInstant?

    init(capacity: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "room for \(capacity) packets")
        slab = PacketSlab(capacity: capacity, slotBytes: Self.slotBytes)
        slots = Array(repeating: Slot(), count: capacity)
        mask = Int64(capacity - 1)
        owner = FrameMemory(bytes: Self.largestFrame)
        frame = owner.memory
    }

    /// The newest key frame whose start has come and that has not been given out.
    var newestKeyframe: Int64? { keyframeCount == 0 ? nil : keyframes[keyframeCount &- 1].start }

    /// What lies before cannot be used any more.
    var oldestUseful: Int64? {
        waitsForKeyframe ? newestKeyframe : expected
    }

    // MARK: In

    mutating func insert(
        _ sequence: Int64, descriptor: VP8PayloadDescriptor?, data: UnsafeRawBufferPointer, marker: Bool,
        timestamp: RTPTimestamp, now: MediaInstant
    ) -> Insertion {
        guard data.count <= Self.slotBytes else { return .tooLong }
        let base = expected ?? sequence
        if expected == nil {
            expected = base
            scanned = base
        }
        guard sequence >= base else { return .tooOld }
        guard sequence &- base < Int64(slots.count) else { return .overflow }
        let index = Int(sequence & mask)
        if slots[index].sequence == sequence { return .duplicate }
        let isStart = descriptor?.isFrameStart ?? false
        let isKeyframe = isStart && ((try? VP8FrameHeader(data))?.isKeyframe ?? false)
        slots[index] = Slot(
            sequence: sequence, length: data.count, timestamp: timestamp, arrival: now, isFrameStart: isStart,
            isFrameEnd: marker, isKeyframe: isKeyframe, isFiller: descriptor == nil,
            layer: descriptor?.temporalLayer ?? 0)
        slab[index].copyMemory(from: data)
        highest = max(highest, sequence)
        if isKeyframe { noteKeyframe(sequence) }
        if stuckSince == nil { stuckSince = now }
        return .taken
    }

    private mutating func noteKeyframe(_ start: Int64) {
        if keyframeCount == Self.mostKeyframes {
            for index in 1..<keyframeCount { keyframes[index &- 1] = keyframes[index] }
            keyframeCount &-= 1
        }
        var place = keyframeCount
        while place > 0, keyframes[place &- 1].start > start {
            keyframes[place] = keyframes[place &- 1]
            place &-= 1
        }
        keyframes[place] = (start, start)
        keyframeCount &+= 1
    }

    /// Gives up what is there: only a key frame helps.
    mutating func waitForKeyframe() { waitsForKeyframe = true }

    /// The packet does not fit behind the frame that is being waited for: gives that up, and all that lies too far back.
    mutating func makeRoom(for sequence: Int64) {
        waitsForKeyframe = true
        badFrames &+= 1
        let oldest = sequence &- Int64(slots.count) / 2
        var start = oldest
        for index in 0..<keyframeCount where keyframes[index].start >= oldest {
            start = keyframes[index].start
            break
        }
        advance(to: start)
    }

    /// Forgets everything; the next packet is the first again.
    mutating func restart() {
        for index in slots.indices { slots[index].sequence = .min }
        expected = nil
        waitsForKeyframe = true
        keyframeCount = 0
        highest = .min
        stuckSince = nil
    }

    // MARK: Out

    /// The next frame that is complete and can be decoded; it stays until `pop`.
    mutating func next() -> Span? {
        while !waitsForKeyframe, let start = expected {
            switch scan(start, from: &scanned) {
            case .complete(let last):
                let slot = slots[Int(start & mask)]
                return Span(first: start, last: last, isKeyframe: slot.isKeyframe)
            case .skipped(let next):
                expected = next
                scanned = next
                continue
            case .broken:
                badFrames &+= 1
                waitsForKeyframe = true
            case .unfinished: return nextKeyframe()
            }
        }
        return nextKeyframe()
    }

    /// The newest complete key frame, of those that are ahead.
    private mutating func nextKeyframe() -> Span? {
        var index = keyframeCount &- 1
        while index >= 0 {
            var position = keyframes[index].scanned
            let start = keyframes[index].start
            let state = scan(start, from: &position)
            keyframes[index].scanned = position
            switch state {
            case .complete(let last): return Span(first: start, last: last, isKeyframe: true)
            case .broken, .skipped:
                badFrames &+= 1
                removeKeyframe(at: index)
            case .unfinished: break
            }
            index &-= 1
        }
        return nil
    }

    private enum Scan { case complete(last: Int64), skipped(to: Int64), broken, unfinished }

    /// Looks on from `position` for the end of the frame that begins at `start`.
    private func scan(_ start: Int64, from position: inout Int64) -> Scan {
        while true {
            let slot = slots[Int(position & mask)]
            guard slot.sequence == position, position &- start < Int64(slots.count) else { return .unfinished }
            if position == start {
                if slot.isFiller { return .skipped(to: start &+ 1) }
                guard slot.isFrameStart else { return .broken }
            } else if slot.isFiller || slot.isFrameStart
                || slot.timestamp != slots[Int(start & mask)].timestamp
            {
                // The frame was cut off: its sender went on without its end.
                return .broken
            }
            if slot.isFrameEnd { return .complete(last: position) }
            position &+= 1
        }
    }

    private mutating func removeKeyframe(at place: Int) {
        for index in place..<(keyframeCount &- 1) { keyframes[index] = keyframes[index &+ 1] }
        keyframeCount &-= 1
    }

    struct Frame {
        var bytes: UnsafeRawBufferPointer
        var timestamp: RTPTimestamp
        var firstArrival: MediaInstant
        var lastArrival: MediaInstant
        var layer: UInt8
        var hadToWaitSince: MediaInstant?
    }

    /// Copies the frame out and goes on behind it; what lies before is dropped.
    /// - Returns: nil if it is larger than a frame may be. The bytes are valid until the next `pop`.
    mutating func pop(_ span: Span) -> Frame? {
        var length = 0
        let head = slots[Int(span.first & mask)]
        var firstArrival = head.arrival
        var lastArrival = head.arrival
        var fits = true
        var sequence = span.first
        while sequence <= span.last {
            let index = Int(sequence & mask)
            let size = slots[index].length
            if length &+ size <= frame.count {
                UnsafeMutableRawBufferPointer(rebasing: frame[length...]).copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: slab[index][0..<size]))
                length &+= size
            } else {
                fits = false
            }
            firstArrival = min(firstArrival, slots[index].arrival)
            lastArrival = max(lastArrival, slots[index].arrival)
            sequence &+= 1
        }
        let since = stuckSince
        advance(to: span.last &+ 1)
        guard fits else {
            badFrames &+= 1
            waitsForKeyframe = true
            return nil
        }
        if span.isKeyframe { waitsForKeyframe = false }
        return Frame(
            bytes: UnsafeRawBufferPointer(rebasing: frame[0..<length]), timestamp: head.timestamp,
            firstArrival: firstArrival, lastArrival: lastArrival, layer: head.layer, hadToWaitSince: since)
    }

    private mutating func advance(to next: Int64) {
        expected = next
        scanned = next
        var gone = 0
        while gone < keyframeCount, keyframes[gone].start < next { gone &+= 1 }
        for index in 0..<(keyframeCount &- gone) { keyframes[index] = keyframes[index &+ gone] }
        keyframeCount &-= gone
        // Something newer is there already: since when?
        stuckSince = nil
        guard highest >= next else { return }
        var sequence = next
        while sequence <= highest {
            let slot = slots[Int(sequence & mask)]
            if slot.sequence == sequence { return stuckSince = slot.arrival }
            sequence &+= 1
        }
    }
}

/// One frame's memory; pages that no frame has needed cost nothing.
private final class FrameMemory {
    let memory: UnsafeMutableRawBufferPointer
    init(bytes: Int) { memory = .allocate(byteCount: bytes, alignment: 64) }
    deinit { memory.deallocate() }
}
