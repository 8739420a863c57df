import MediaCore
import RTPWire

/// Packetizes VP8 frames (RFC 7741): packets of nearly equal size, always with a 15-bit PictureID, TL0PICIDX and TID.
struct VP8Packetizer {
    private let stream: VideoStreamParameters
    private let ids: HeaderExtensionMap
    private let maximumPacketSize: Int
    private let epoch: MediaInstant
    private let timestampOffset: RTPTimestamp
    private var pictureID: UInt16
    private var baseLayerIndex: UInt8
    private var lastCaptured: MediaInstant?

    /// The packets of one frame.
    struct PacketizedFrame {
        var packets: Int
        var payloadBytes: Int
        var pictureID: UInt16
    }

    init(
        _ parameters: SenderParameters, _ stream: VideoStreamParameters, epoch: MediaInstant, random: inout SeededRandom
    ) {
        self.stream = stream
        var ids = parameters.extensions
        // Frames of an encoder here are BT.601 in limited range, which is what receivers assume.
        ids[.colorSpace] = nil
        self.ids = ids
        maximumPacketSize = parameters.maximumPacketSize
        self.epoch = epoch
        timestampOffset = RTPTimestamp(UInt32.random(in: .min ... .max, using: &random))
        pictureID = UInt16.random(in: 0...0x7FFF, using: &random)
        baseLayerIndex = UInt8.random(in: .min ... .max, using: &random)
    }

    /// RTP timestamp of an instant, 90 kHz.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp {
        timestampOffset.advanced(by: instant - epoch, clockRate: 90_000)
    }

    /// Appends the packets of one frame to the history. Timestamps of consecutive frames always differ, as receivers
    /// tell frames apart by them.
    /// - Parameter announcesMid: the packets carry the MID.
    /// - Returns: nil if the history has no room for all packets; it is then unchanged.
    mutating func append(
        _ frame: UnsafeRawBufferPointer, layer: UInt8, captured: MediaInstant,
        references: LongTermReferencesElement? = nil, announcesMid: Bool, to history: inout PacketHistory
    ) -> PacketizedFrame? {
        let start = history.nextToWrite
        let baseIndex = layer == 0 ? baseLayerIndex &+ 1 : baseLayerIndex
        // A frame above the base layer is no reference, and refers to the base layer alone.
        var descriptor = VP8PayloadDescriptor(
            isNonReference: layer > 0, isPartitionStart: true, pictureID: pictureID, baseLayerIndex: baseIndex,
            temporalLayer: min(layer, 3), isLayerSync: layer > 0)
        // Leaves room for the two bytes of RTX, so that a retransmission does not exceed the maximum packet size.
        let overhead =
            WrittenPacketLayout.maximumHeaderLength(ids, mid: stream.mid) &+ descriptor.length &+ RTX.overhead
        let share = max(maximumPacketSize &- overhead, 64)
        let count = max((frame.count &+ share &- 1) / share, 1)
        guard count <= history.room else { return nil }
        // A tick of 90 kHz is 11.1 us.
        let captured = lastCaptured.map { max(captured, $0 + .microseconds(12)) } ?? captured
        let stamp = timestamp(at: captured)
        var offset = 0
        for index in 0..<count {
            // Equal parts, so that the last packet is not tiny.
            let size = (frame.count &- offset &+ count &- index &- 1) / (count &- index)
            let slot = history.nextSlot
            let header = RTPHeader(
                marker: index == count &- 1, payloadType: stream.payloadType,
                sequenceNumber: SequenceNumber(truncating: start &+ Int64(index)), timestamp: stamp, ssrc: stream.ssrc)
            do throws(BufferFull) {
                let layout = try WrittenPacketLayout.write(
                    header, extensions: extensions(index == 0 ? references : nil, announcesMid), ids: ids,
                    into: slot)
                var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: slot[layout.headerLength...]))
                try descriptor.write(into: &writer)
                try writer.write(UnsafeRawBufferPointer(rebasing: frame[offset..<(offset &+ size)]))
                history.commit(length: layout.headerLength &+ writer.position, layout: layout)
            } catch {
                preconditionFailure("a slot is too small for a packet of \(size) bytes")
            }
            descriptor.isPartitionStart = false
            offset &+= size
        }
        defer { pictureID = (pictureID &+ 1) & 0x7FFF }
        baseLayerIndex = baseIndex
        lastCaptured = captured
        return PacketizedFrame(packets: count, payloadBytes: frame.count, pictureID: pictureID)
    }

    private func extensions(_ references: LongTermReferencesElement?, _ announcesMid: Bool) -> HeaderExtensionValues {
        HeaderExtensionValues(
            transportSequence: SequenceNumber(0), playoutDelay: .zero, absSendTime: AbsoluteSendTime(rawValue: 0),
            mid: announcesMid ? stream.mid : nil, frameReferences: references)
    }
}
