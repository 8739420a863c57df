public import MediaCore

/// A packet that arrived.
public struct TransportArrival: Hashable, Sendable {
    /// The transport-wide sequence number, unwrapped.
    public var sequence: Int64
    public var arrival: MediaInstant

    public init(sequence: Int64, arrival: MediaInstant) {
        self.sequence = sequence
        self.arrival = arrival
    }
}

/// Writes transport-wide feedback from the caller's list of arrivals, and counts the packets written.
public struct TransportFeedbackWriter: Sendable {
    /// The most statuses of one packet; a longer gap is skipped and not reported.
    public static let maximumStatusCount = 8_191

    public let senderSSRC: UInt32
    public let mediaSSRC: UInt32
    /// The moment of reference time 0.
    private let epoch: MediaInstant
    private var feedbackCount: UInt8 = 0

    /// - Parameter epoch: any moment; arrivals may be before it.
    public init(senderSSRC: UInt32, mediaSSRC: UInt32, epoch: MediaInstant) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.epoch = epoch
    }

    /// Writes one feedback packet.
    ///
    /// The packet ends before the last arrival when the buffer is full, when a delta does not fit into 16 bits (8 s),
    /// or after 8,191 statuses. Call it again with the rest.
    /// - Parameters:
    ///   - arrivals: strictly ascending by sequence number; lost packets are left out.
    ///   - base: the first number to report. All numbers from it to the first arrival are reported as lost. A late
    ///     first arrival before `base` is reported as well; arrivals between the two must then be in the list again, or
    ///     count as lost.
    /// - Returns: the number of arrivals written, 0 only if there are none, and the base of the next packet.
    /// - Throws: `BufferFull` if not even the first arrival fits; nothing was written then.
    public mutating func write(
        _ arrivals: UnsafeBufferPointer<TransportArrival>, base: Int64, into writer: inout ByteWriter
    ) throws(BufferFull) -> (written: Int, nextBase: Int64) {
        guard let first = arrivals.first else { return (0, base) }
        let gap = first.sequence &- base
        let start = gap >= 0 && gap < Int64(Self.maximumStatusCount) ? base : first.sequence
        let plan = Plan(
            arrivals, base: start, reference: reference(first),
            room: writer.remaining &- RTCPBody.headerLength &- TransportFeedback.fixedLength, epoch: epoch)
        guard plan.arrivals > 0 else { throw BufferFull() }
        let nextBase = arrivals[plan.arrivals &- 1].sequence &+ 1

        let deltaStart = TransportFeedback.fixedLength &+ plan.chunks &* 2
        let bodyLength = (deltaStart &+ plan.deltaLength &+ 3) & ~3
        let packet = try writer.openRTCP(
            type: RTCPType.transportLayerFeedback, count: TransportFeedback.format, bodyLength: bodyLength)
        try writer.write(uint32: senderSSRC)
        try writer.write(uint32: mediaSSRC)
        try writer.write(uint16: SequenceNumber(truncating: start).rawValue)
        try writer.write(uint16: UInt16(truncatingIfNeeded: nextBase &- start))
        try writer.write(uint24: UInt32(truncatingIfNeeded: reference(first)))
        try writer.write(uint8: feedbackCount)
        feedbackCount &+= 1

        let taken = UnsafeBufferPointer(rebasing: arrivals[0..<plan.arrivals])
        try writeChunks(taken, base: start, into: &writer)
        try writeDeltas(taken, into: &writer)
        try writer.write(zeros: (packet &- writer.position) & 3)
        writer.closeRTCP(packet)
        return (plan.arrivals, nextBase)
    }

    private func writeChunks(
        _ arrivals: UnsafeBufferPointer<TransportArrival>, base: Int64, into writer: inout ByteWriter
    ) throws(BufferFull) {
        var packer = TransportChunkPacker()
        var next = base
        var statuses = DeltaSymbols(reference: reference(arrivals[0]), epoch: epoch)
        for arrival in arrivals {
            while next < arrival.sequence {
                if !packer.canAdd(PacketStatusChunk.lost) { try writer.write(uint16: packer.takeFull()) }
                packer.add(PacketStatusChunk.lost)
                next &+= 1
            }
            let symbol = statuses.symbol(arrival).status
            while !packer.canAdd(symbol) { try writer.write(uint16: packer.takeFull()) }
            packer.add(symbol)
            next &+= 1
        }
        while packer.count > 0 { try writer.write(uint16: packer.takeLast()) }
    }

    private func writeDeltas(
        _ arrivals: UnsafeBufferPointer<TransportArrival>, into writer: inout ByteWriter
    ) throws(BufferFull) {
        var statuses = DeltaSymbols(reference: reference(arrivals[0]), epoch: epoch)
        for arrival in arrivals {
            let (status, delta) = statuses.symbol(arrival)
            if status == PacketStatusChunk.small {
                try writer.write(uint8: UInt8(truncatingIfNeeded: delta))
            } else {
                try writer.write(uint16: UInt16(truncatingIfNeeded: delta))
            }
        }
    }

    /// In units of 64 ms from the epoch, not yet reduced to 24 bits.
    private func reference(_ arrival: TransportArrival) -> Int64 {
        (arrival.arrival - epoch).nanoseconds.floorDivided(
            by: TransportFeedback.deltaNanoseconds &* TransportFeedback.deltasPerReference
        ).quotient
    }
}

/// Computes each arrival's status and delta; rounds absolute times, so that errors do not add up.
private struct DeltaSymbols {
    private var ticks: Int64
    private let epoch: MediaInstant

    init(reference: Int64, epoch: MediaInstant) {
        ticks = reference &* TransportFeedback.deltasPerReference
        self.epoch = epoch
    }

    /// Returns status 3, the reserved one, if the delta does not fit.
    mutating func symbol(_ arrival: TransportArrival) -> (status: UInt8, delta: Int64) {
        let now = (arrival.arrival - epoch).nanoseconds.floorDivided(by: TransportFeedback.deltaNanoseconds).quotient
        let delta = now &- ticks
        ticks = now
        switch delta {
        case 0...255: return (PacketStatusChunk.small, delta)
        case -32_768...32_767: return (PacketStatusChunk.large, delta)
        default: return (3, delta)
        }
    }
}

/// The part of the list that fits into one packet, found by packing without writing.
private struct Plan {
    private(set) var arrivals = 0
    private(set) var chunks = 0
    private(set) var deltaLength = 0

    init(
        _ list: UnsafeBufferPointer<TransportArrival>, base: Int64, reference: Int64, room: Int, epoch: MediaInstant
    ) {
        var packer = TransportChunkPacker()
        var full = 0
        var deltas = 0
        var next = base
        var statuses = DeltaSymbols(reference: reference, epoch: epoch)
        for arrival in list {
            precondition(arrival.sequence >= next, "arrivals are not in ascending order")
            guard arrival.sequence &- base < Int64(TransportFeedbackWriter.maximumStatusCount) else { return }
            let symbol = statuses.symbol(arrival).status
            guard symbol <= PacketStatusChunk.large else { return }
            while next < arrival.sequence {
                if !packer.canAdd(PacketStatusChunk.lost) {
                    _ = packer.takeFull()
                    full &+= 1
                }
                packer.add(PacketStatusChunk.lost)
                next &+= 1
            }
            while !packer.canAdd(symbol) {
                _ = packer.takeFull()
                full &+= 1
            }
            packer.add(symbol)
            deltas &+= Int(symbol)
            next &+= 1
            let length = (full &+ 1) &* 2 &+ deltas
            guard (length &+ 3) & ~3 <= room else { return }
            arrivals &+= 1
            chunks = full &+ 1
            deltaLength = deltas
        }
    }
}
