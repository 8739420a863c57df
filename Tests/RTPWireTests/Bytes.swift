import MediaCore
import RTPWire

/// The values at which 16-bit arithmetic overflows or changes sign.
let wrapPoints: [UInt16] = [0, 1, 127, 32_767, 32_768, 65_534, 65_535]

/// Passes the bytes in memory of exactly their length, so that a sanitizer detects a read behind them.
@discardableResult
func withBytes<R>(_ bytes: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(memory))
}

/// Returns the bytes that `body` writes into a buffer of that capacity.
func written(_ capacity: Int = 1_500, _ body: (inout ByteWriter) throws -> Void) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: capacity)
    let length = try bytes.withUnsafeMutableBytes { buffer in
        var writer = ByteWriter(buffer)
        try body(&writer)
        return writer.position
    }
    return Array(bytes[0..<length])
}

/// Parses a whole RTCP datagram with all its packets.
/// - Returns: the number of packets before the first error.
@discardableResult
func walk(_ bytes: UnsafeRawBufferPointer) -> Int {
    var packets = RTCPIterator(bytes)
    var found = 0
    // An iteration of n bytes cannot take more than n / 4 + 1 steps, with one more for the end.
    for _ in 0...(bytes.count / 4 + 2) {
        guard let packet = try? packets.next() else { continue }
        found += 1
        touch(packet)
    }
    return found
}

/// Reads every field of a packet; the sum keeps the reads alive.
@discardableResult
func touch(_ packet: RTCPPacket) -> Int {
    switch packet {
    case .senderReport(let report): report.blocks.reduce(0) { $0 &+ Int($1.highestSequence) }
    case .receiverReport(let report): report.blocks.reduce(0) { $0 &+ Int($1.cumulativeLost) }
    case .sourceDescription(let description):
        description.reduce(0) { $0 &+ Int($1.ssrc) &+ ($1.cname?.reduce(0) { $0 &+ Int($1) } ?? 0) }
    case .goodbye(let goodbye):
        goodbye.reduce(0) { $0 &+ Int($1) } &+ (goodbye.reason?.reduce(0) { $0 &+ Int($1) } ?? 0)
    case .nack(let nack): nack.reduce(0) { $0 &+ Int($1.rawValue) }
    case .pictureLoss(let loss): Int(loss.mediaSSRC)
    case .fullIntraRequest(let request): request.reduce(0) { $0 &+ Int($1.number) }
    case .transportFeedback(let feedback): feedback.reduce(0) { $0 &+ Int($1.arrival?.nanoseconds ?? 0) }
    case .referenceSelection(let selection): Int(selection.pictureID)
    case .remb(let estimate): estimate.reduce(estimate.bitrate.bitsPerSecond) { $0 &+ Int($1) }
    case .extendedReport(let report):
        Int(truncatingIfNeeded: report.time?.rawValue ?? 0) &+ Int(report.dlrr(for: report.ssrc)?.delay ?? 0)
    case .other(let type, let format): Int(type) &+ Int(format)
    }
}
