import MediaCore
import RTPWire

/// Writes the packets of a forwarded stream for one receiver: the payload is the source's, the header the receiver's.
/// Immutable; a class, so that its parts are not retained for each packet.
final class ForwardedPacketWriter {
    private let source: ForwardedVideo
    private let payloadType: UInt8
    /// The headers of all packets, without marker, sequence number and timestamp, by their `Kind`.
    private let headers = PacketSlab(capacity: 4, slotBytes: 512)
    private let layouts: [WrittenPacketLayout]

    init(_ source: ForwardedVideo, _ stream: VideoStreamParameters, ids: HeaderExtensionMap) {
        self.source = source
        payloadType = stream.payloadType
        layouts = (0..<4).map { [headers] index in
            let kind = Kind(announcesMid: index & 1 != 0, hasColorSpace: index & 2 != 0)
            return Self.write(stream, ids, kind, into: headers[index])
        }
    }

    /// What the header of a packet may have, or not.
    private struct Kind {
        var announcesMid: Bool
        var hasColorSpace: Bool

        var index: Int { (announcesMid ? 1 : 0) | (hasColorSpace ? 2 : 0) }
    }

    private static func write(
        _ stream: VideoStreamParameters, _ ids: HeaderExtensionMap, _ kind: Kind,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> WrittenPacketLayout {
        let header = RTPHeader(
            marker: false, payloadType: stream.payloadType, sequenceNumber: SequenceNumber(0),
            timestamp: RTPTimestamp(0), ssrc: stream.ssrc)
        let extensions = HeaderExtensionValues(
            transportSequence: SequenceNumber(0), playoutDelay: .zero, absSendTime: AbsoluteSendTime(rawValue: 0),
            mid: kind.announcesMid ? stream.mid : nil, colorSpace: kind.hasColorSpace ? ColorSpace() : nil)
        do throws(BufferFull) {
            return try WrittenPacketLayout.write(header, extensions: extensions, ids: ids, into: buffer)
        } catch {
            preconditionFailure("a header is longer than 512 bytes")
        }
    }

    /// Writes a packet, with the fields that depend on when it is sent.
    /// - Parameters:
    ///   - slot: of `size` bytes.
    ///   - width: the length to which the packet is padded (RFC 3550 section 5.1), unless it is longer.
    /// - Returns: its length; nil if the source has overwritten it, or it does not fit.
    func write(
        _ entry: PacketHistory.Entry, into slot: UnsafeMutableRawPointer, size: Int, width: Int,
        transportSequence: SequenceNumber, sendTime: AbsoluteSendTime
    ) -> Int? {
        let length = max(width, entry.length)
        guard length <= size else { return nil }
        let buffer = UnsafeMutableRawBufferPointer(start: slot, count: length)
        guard write(entry, into: buffer) else { return nil }
        entry.layout.patch(transportSequence, in: buffer)
        entry.layout.patch(sendTime, in: buffer)
        let padding = length &- entry.length
        if padding > 0 {
            slot.storeBytes(of: buffer[0] | 0x20, as: UInt8.self)
            (slot + entry.length).initializeMemory(as: UInt8.self, repeating: 0, count: padding &- 1)
            slot.storeBytes(of: UInt8(truncatingIfNeeded: padding), toByteOffset: length &- 1, as: UInt8.self)
        }
        return length
    }

    func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 96)
        list.add(UnsafeRawPointer(headers[0].baseAddress), bytes: layouts[0].headerLength)
    }

    /// - Parameter hasColorSpace: whether the source's packet has one; receivers that did not negotiate it get none.
    func layout(announcesMid: Bool, hasColorSpace: Bool) -> WrittenPacketLayout {
        layouts[Kind(announcesMid: announcesMid, hasColorSpace: hasColorSpace).index]
    }

    /// Writes a packet into the buffer.
    /// - Returns: false if the source has overwritten it, or it does not fit.
    func write(_ entry: PacketHistory.Entry, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard let packet = source.packet(entry.position), entry.length <= buffer.count else { return false }
        let header = entry.layout.headerLength
        let kind = Kind(announcesMid: entry.announcesMid, hasColorSpace: entry.layout.hasColorSpace)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: headers[kind.index][..<header]))
        if let space = packet.colorSpace { entry.layout.patch(space, in: buffer) }
        buffer[1] = (entry.layout.isMarked ? 0x80 : 0) | payloadType
        let sequence = UInt16(truncatingIfNeeded: entry.sequence)
        buffer.storeBytes(of: sequence.bigEndian, toByteOffset: 2, as: UInt16.self)
        buffer.storeBytes(of: entry.timestamp.rawValue.bigEndian, toByteOffset: 4, as: UInt32.self)
        let payload = UnsafeMutableRawBufferPointer(rebasing: buffer[header..<entry.length])
        payload.copyMemory(from: source.payload(packet))
        if entry.pictureIDShift > 0 { source.patchPictureID(packet, in: payload, by: 0 &- entry.pictureIDShift) }
        return true
    }

    /// See `ForwardedVideo.delay`.
    func delay(of entry: PacketHistory.Entry, now: MediaInstant) -> MediaDuration? { source.delay(of: entry, now: now) }

    /// Writes a packet into memory that is valid until the next call for any receiver of the source.
    func scratch(_ entry: PacketHistory.Entry) -> UnsafeRawBufferPointer? {
        let slot = source.scratch[0]
        return write(entry, into: slot) ? UnsafeRawBufferPointer(rebasing: slot[..<entry.length]) : nil
    }
}
