import MediaCore
import RTPWire
import VideoBitstream

/// Puts the units of a frame together again from the elements of its packets: RTP Payload Format For AV1, section 4.
struct AV1Aggregation {
    private var frame: [UInt8] = []
    /// An element that goes on in the next packet.
    private var unfinished: [UInt8] = []

    /// The frame of these packets, as files have it.
    /// - Parameter packets: one segment for each packet's payload.
    /// - Returns: nil if the packets are malformed, or have no unit.
    static func frame(of packets: EncodedFrameBytes) -> [UInt8]? {
        var aggregation = AV1Aggregation()
        aggregation.frame.reserveCapacity(packets.count)
        var isValid = true
        packets.forEachSegment { isValid = isValid && aggregation.take($0) }
        guard isValid, aggregation.unfinished.isEmpty, !aggregation.frame.isEmpty else { return nil }
        return aggregation.frame
    }

    //  0 1 2 3 4 5 6 7
    // +-+-+-+-+-+-+-+-+
    // |Z|Y| W |N|-|-|-|   Z: the first element continues one; Y: the last one goes on; W: elements, 0: any number
    // +-+-+-+-+-+-+-+-+

    private mutating func take(_ packet: UnsafeRawBufferPointer) -> Bool {
        guard let header = packet.first else { return false }
        var isContinuation = header & 0x80 != 0
        let goesOn = header & 0x40 != 0
        guard isContinuation == !unfinished.isEmpty else { return false }
        return Self.forEachElement(in: packet) { element, isLast in
            defer { isContinuation = false }
            return take(element, isContinuation, goesOn: goesOn && isLast)
        }
    }

    /// Whether a packet has nothing but whole units that are no part of a frame.
    static func isNonVCL(_ packet: UnsafeRawBufferPointer) -> Bool {
        guard let header = packet.first, header & 0x80 == 0 else { return false }
        return forEachElement(in: packet) { element, _ in element.first.map(AV1Units.isOutsideOfFrames) ?? true }
    }

    /// Calls `body` with each element of a packet, and whether it is the last one, until it returns false.
    /// - Returns: false if `body` has, or the packet is malformed.
    private static func forEachElement(
        in packet: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Bool {
        guard let header = packet.first else { return false }
        let count = Int(header >> 4 & 0x03)
        var position = 1
        var number = 0
        while position < packet.count {
            number += 1
            guard count == 0 || number <= count else { return false }
            var length = packet.count - position
            // The last one of a known number has no length.
            if count == 0 || number < count {
                guard let own = AV1Units.number(packet, at: &position), own <= packet.count - position else {
                    return false
                }
                length = own
            }
            let element = UnsafeRawBufferPointer(rebasing: packet[position..<(position + length)])
            position += length
            guard body(element, position == packet.count) else { return false }
        }
        return number > 0 && (count == 0 || number == count)
    }

    private mutating func take(_ element: UnsafeRawBufferPointer, _ isContinuation: Bool, goesOn: Bool) -> Bool {
        if goesOn || isContinuation {
            unfinished.append(contentsOf: element)
            // An empty part would look like none.
            guard !goesOn else { return !unfinished.isEmpty }
            defer { unfinished.removeAll(keepingCapacity: true) }
            return unfinished.withUnsafeBytes { AV1Units.append($0, to: &frame) }
        }
        return element.isEmpty || AV1Units.append(element, to: &frame)
    }
}
