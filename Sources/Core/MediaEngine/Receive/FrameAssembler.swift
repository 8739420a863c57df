import MediaCore
import RTPWire

/// Reorders video packets of any codec and finds frames that are complete and decodable: a frame that follows the last
/// one, a key frame, or a recovery frame, which is predicted from a long-term reference alone. Decoding can enter the
/// stream at the last two (entry points), whatever is missing before.
///
/// A packet lies in slot `sequence % capacity`, from the start of the next frame on. Overflow: everything up to an
/// entry point is dropped.
struct FrameAssembler {
    static let largestFrame = 4 << 20
    private static let slotBytes = 1_504
    private static let mostEntryPoints = 8
    /// Packets of a key frame that are looked for before its parameter sets.
    private static let mostPacketsBefore = 16

    private struct Slot {
        var sequence: Int64 = .min
        var length = 0
        var timestamp = RTPTimestamp(0)
        var arrival = MediaInstant(nanoseconds: 0)
        var isFrameStart = false
        var isFrameEnd = false
        var isKeyframe = false
        /// Padding: has no payload, but closes the gap.
        var isPadding = false
        var layer: UInt8 = 0
        var pictureID: UInt16?
        var references: LongTermReferencesElement?
        var colorSpace: ColorSpace?
    }

    /// What became of a packet.
    enum Insertion { case taken, duplicate, tooOld, tooLong, overflow }

    private let slab: PacketSlab
    private var slots: [Slot]
    private let mask: Int64
    private let segments: FrameSegments
    /// A packet says whether it is the first of its frame. Otherwise only the marker before it does.
    private let startsAreMarked: Bool
    /// Sequence number at which the next frame begins; nil before the first packet.
    private(set) var expected: Int64?
    private(set) var waitsForEntryPoint = true
    /// All packets from `expected` to here (exclusive) have arrived and belong to one incomplete frame.
    private var scanned: Int64 = 0
    /// Starts of the entry points that were not returned yet, ascending, each with how far its packets have arrived.
    private var entryPoints = [(start: Int64, scanned: Int64)](repeating: (0, 0), count: mostEntryPoints)
    private var entryPointCount = 0
    private var references = DecoderReferences()
    private(set) var highest: Int64 = .min
    private(set) var badFrames = 0
    /// When the first packet arrived that is newer than the last frame; nil if there is none.
    private(set) var stuckSince: MediaInstant?

    init(capacity: Int, startsAreMarked: Bool = true) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "room for \(capacity) packets")
        slab = PacketSlab(capacity: capacity, slotBytes: Self.slotBytes)
        slots = Array(repeating: Slot(), count: capacity)
        mask = Int64(capacity - 1)
        segments = FrameSegments(capacity: capacity)
        self.startsAreMarked = startsAreMarked
    }

    /// Start of the newest entry point that was not returned yet; nil if there is none.
    var newestEntryPoint: Int64? { entryPointCount == 0 ? nil : entryPoints[entryPointCount &- 1].start }
    /// When its first packet arrived.
    var newestEntryPointArrival: MediaInstant? { newestEntryPoint.map { slots[Int($0 & mask)].arrival } }

    /// PictureID of the decoder's newer long-term reference; nil if it has none.
    var newestLongTermReference: UInt16? { references.newest }

    // MARK: Input

    /// - Parameters:
    ///   - marker: of the RTP header: the packet is the last of its frame.
    ///   - references: of the frame's first packet.
    mutating func insert(
        _ sequence: Int64, _ video: DepacketizedVideo, marker: Bool, timestamp: RTPTimestamp,
        references element: LongTermReferencesElement? = nil, colorSpace: ColorSpace? = nil, now: MediaInstant
    ) -> Insertion {
        guard video.bytes.count <= Self.slotBytes else { return .tooLong }
        let base = expected ?? sequence
        if expected == nil {
            expected = base
            scanned = base
        }
        guard sequence >= base else { return .tooOld }
        guard sequence &- base < Int64(slots.count) else { return .overflow }
        let index = Int(sequence & mask)
        if slots[index].sequence == sequence { return .duplicate }
        slots[index] = Slot(
            sequence: sequence, length: video.bytes.count, timestamp: timestamp, arrival: now,
            isFrameStart: video.isFrameStart, isFrameEnd: marker, isKeyframe: video.isKeyframe,
            isPadding: video.isPadding, layer: video.layer, pictureID: video.pictureID,
            references: video.isFrameStart ? element : nil, colorSpace: colorSpace)
        slab[index].copyMemory(from: video.bytes)
        highest = max(highest, sequence)
        if video.isKeyframe, !startsAreMarked {
            noteParameterSets(sequence)
        } else if video.isKeyframe || video.isFrameStart && references.holds(element?.source) {
            noteEntryPoint(sequence)
        }
        if stuckSince == nil { stuckSince = now }
        return .taken
    }

    /// Whether a packet of this number is still waited for.
    func needs(_ sequence: Int64) -> Bool {
        sequence >= expected ?? sequence && slots[Int(sequence & mask)].sequence != sequence
    }

    /// A key frame may have more than these parameter sets, and other packets before them.
    private mutating func noteParameterSets(_ sequence: Int64) {
        let timestamp = slots[Int(sequence & mask)].timestamp
        var start = sequence
        for _ in 0..<Self.mostPacketsBefore where start > expected ?? start {
            let slot = slots[Int((start &- 1) & mask)]
            guard slot.sequence == start &- 1, slot.timestamp == timestamp, !slot.isFrameEnd, !slot.isPadding else {
                break
            }
            start &-= 1
        }
        for index in 0..<entryPointCount where slots[Int(entryPoints[index].start & mask)].timestamp == timestamp {
            guard start < entryPoints[index].start else { return }
            removeEntryPoint(at: index)
            break
        }
        slots[Int(start & mask)].isKeyframe = true
        noteEntryPoint(start)
    }

    private mutating func noteEntryPoint(_ start: Int64) {
        if entryPointCount == Self.mostEntryPoints {
            for index in 1..<entryPointCount { entryPoints[index &- 1] = entryPoints[index] }
            entryPointCount &-= 1
        }
        var place = entryPointCount
        while place > 0, entryPoints[place &- 1].start > start {
            entryPoints[place] = entryPoints[place &- 1]
            place &-= 1
        }
        entryPoints[place] = (start, start)
        entryPointCount &+= 1
    }

    /// Gives up the present frame: decoding goes on at an entry point.
    mutating func waitForEntryPoint() { waitsForEntryPoint = true }

    /// The decoder has lost its long-term references: decoding goes on at a key frame.
    mutating func waitForKeyframe() {
        waitsForEntryPoint = true
        references = DecoderReferences()
    }

    /// Makes room for a packet that is too far ahead: gives up the frame that is waited for, and packets more than half
    /// of the capacity behind.
    mutating func makeRoom(for sequence: Int64) {
        waitsForEntryPoint = true
        badFrames &+= 1
        let oldest = sequence &- Int64(slots.count) / 2
        var start = oldest
        for index in 0..<entryPointCount where entryPoints[index].start >= oldest {
            start = entryPoints[index].start
            break
        }
        advance(to: start)
    }

    /// Forgets everything; the next packet is the first again.
    mutating func restart() {
        for index in slots.indices { slots[index].sequence = .min }
        expected = nil
        waitsForEntryPoint = true
        entryPointCount = 0
        references = DecoderReferences()
        highest = .min
        stuckSince = nil
    }

    // MARK: Output

    /// The next frame that is complete and decodable; it stays until `pop`.
    mutating func next() -> Span? {
        while !waitsForEntryPoint, let start = expected {
            switch scan(start, from: &scanned) {
            case .complete(let last):
                let isKeyframe = isKeyframe(start, last)
                return Span(first: start, last: last, isKeyframe: isKeyframe, isEntryPoint: isKeyframe)
            case .skipped(let next):
                advance(to: next)
                continue
            case .broken:
                badFrames &+= 1
                waitsForEntryPoint = true
            case .unfinished: return nextEntryPoint()
            }
        }
        return nextEntryPoint()
    }

    /// The newest complete entry point after the last frame.
    private mutating func nextEntryPoint() -> Span? {
        var index = entryPointCount &- 1
        while index >= 0 {
            var position = entryPoints[index].scanned
            let start = entryPoints[index].start
            let head = slots[Int(start & mask)]
            // The reference may have been overwritten since the first packet arrived.
            guard head.isKeyframe || references.holds(head.references?.source) else {
                removeEntryPoint(at: index)
                index &-= 1
                continue
            }
            let state = scan(start, from: &position)
            entryPoints[index].scanned = position
            switch state {
            case .complete(let last):
                return Span(first: start, last: last, isKeyframe: head.isKeyframe, isEntryPoint: true)
            case .broken, .skipped:
                badFrames &+= 1
                removeEntryPoint(at: index)
            case .unfinished: break
            }
            index &-= 1
        }
        return nil
    }

    /// The state of a frame: complete, padding at its start, undecodable, or incomplete.
    private enum Scan { case complete(last: Int64), skipped(to: Int64), broken, unfinished }

    /// Continues from `position` to look for the end of the frame that begins at `start`.
    private func scan(_ start: Int64, from position: inout Int64) -> Scan {
        while true {
            let slot = slots[Int(position & mask)]
            guard slot.sequence == position, position &- start < Int64(slots.count) else { return .unfinished }
            if position == start {
                if slot.isPadding { return .skipped(to: start &+ 1) }
                guard slot.isFrameStart || !startsAreMarked else { return .broken }
            } else if slot.isPadding || slot.isFrameStart && startsAreMarked
                || slot.timestamp != slots[Int(start & mask)].timestamp
            {
                // The end of the frame is missing, although nothing is lost: the sender dropped it.
                return .broken
            }
            if slot.isFrameEnd { return .complete(last: position) }
            position &+= 1
        }
    }

    /// Of a complete frame. Where starts are not marked, other packets may stand before the parameter sets.
    private func isKeyframe(_ first: Int64, _ last: Int64) -> Bool {
        if startsAreMarked { return slots[Int(first & mask)].isKeyframe }
        var sequence = first
        while sequence <= last {
            if slots[Int(sequence & mask)].isKeyframe { return true }
            sequence &+= 1
        }
        return false
    }

    private mutating func removeEntryPoint(at place: Int) {
        for index in place..<(entryPointCount &- 1) { entryPoints[index] = entryPoints[index &+ 1] }
        entryPointCount &-= 1
    }

    /// A frame in decoding order. The bytes are valid until the next `insert` or `pop`.
    struct Frame {
        var bytes: EncodedFrameBytes
        var timestamp: RTPTimestamp
        var firstArrival: MediaInstant
        var lastArrival: MediaInstant
        var layer: UInt8
        var hadToWaitSince: MediaInstant?
        /// PictureID if the decoder stores it as a long-term reference; else nil.
        var longTermReferenceID: UInt16?
        /// Of the last packet that has one.
        var colorSpace: ColorSpace?
    }

    /// Takes out the frame and moves behind it; earlier packets are dropped.
    /// - Returns: nil if it exceeds `largestFrame`. The bytes are valid until the next `insert` or `pop`.
    mutating func pop(_ span: Span) -> Frame? {
        let head = slots[Int(span.first & mask)]
        var firstArrival = head.arrival
        var lastArrival = head.arrival
        var colorSpace: ColorSpace?
        var sequence = span.first
        while sequence <= span.last {
            let arrival = slots[Int(sequence & mask)].arrival
            colorSpace = slots[Int(sequence & mask)].colorSpace ?? colorSpace
            firstArrival = min(firstArrival, arrival)
            lastArrival = max(lastArrival, arrival)
            sequence &+= 1
        }
        let since = stuckSince
        let bytes = gather(span)
        advance(to: span.last &+ 1)
        guard let bytes else {
            badFrames &+= 1
            waitsForEntryPoint = true
            return nil
        }
        if span.isEntryPoint { waitsForEntryPoint = false }
        let longTermReferenceID = references.note(
            pictureID: head.pictureID, isKeyframe: head.isKeyframe, stored: head.references?.stored)
        return Frame(
            bytes: bytes, timestamp: head.timestamp, firstArrival: firstArrival, lastArrival: lastArrival,
            layer: head.layer, hadToWaitSince: since, longTermReferenceID: longTermReferenceID,
            colorSpace: colorSpace)
    }

    /// The packets of a frame, which stay where they lie.
    /// - Returns: nil if the frame exceeds `largestFrame`.
    private func gather(_ span: Span) -> EncodedFrameBytes? {
        let count = Int(span.last &- span.first &+ 1)
        for index in 0..<count { segments.memory[index] = bytes(of: span.first &+ Int64(index)) }
        let frame = EncodedFrameBytes(segments: UnsafeBufferPointer(rebasing: segments.memory[..<count]))
        return frame.count <= Self.largestFrame ? frame : nil
    }

    private func bytes(of sequence: Int64) -> UnsafeRawBufferPointer {
        let index = Int(sequence & mask)
        return UnsafeRawBufferPointer(rebasing: slab[index][0..<slots[index].length])
    }

    private mutating func advance(to next: Int64) {
        expected = next
        scanned = next
        var gone = 0
        while gone < entryPointCount, entryPoints[gone].start < next { gone &+= 1 }
        for index in 0..<(entryPointCount &- gone) { entryPoints[index] = entryPoints[index &+ gone] }
        entryPointCount &-= gone
        // If a newer packet has arrived already, `stuckSince` is its arrival time.
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
