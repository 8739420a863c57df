import MediaCore
import MediaEngine
import RTPWire

/// Records the packets that a path loses, to explain freezes.
final class PathTrace {
    private var lines: [(at: MediaInstant, text: String)] = []

    /// Records the losses in both directions of a call.
    func attach(to call: SimulatedCall) {
        call.forward.onLoss = { [unowned self] in note("", $0, $1) }
        call.backward.onLoss = { [unowned self] in note("back ", $0, $1) }
    }

    /// The packets lost in this interval, with times in milliseconds after its beginning.
    func losses(from begin: MediaInstant, to end: MediaInstant) -> String {
        lines.filter { $0.at >= begin && $0.at < end }
            .map { "\(Int(($0.at - begin).inMilliseconds)) \($0.text)" }.joined(separator: ", ")
    }

    private func note(_ direction: String, _ bytes: UnsafeRawBufferPointer, _ now: MediaInstant) {
        lines.append((now, direction + (PacketKind(of: bytes) == .rtcp ? Self.control(bytes) : Self.media(bytes))))
    }

    private static func media(_ bytes: UnsafeRawBufferPointer) -> String {
        guard let packet = try? RTPPacketView(bytes) else { return "?" }
        switch packet.ssrc {
        case 0x1111: return "video \(packet.sequenceNumber.rawValue)"
        case 0x2222:
            let original = try? RTX.unwrap(packet, ssrc: 0x1111, payloadType: 96)
            return "rtx \(original.map { "\($0.sequenceNumber.rawValue)" } ?? "?")"
        default: return "sound \(packet.sequenceNumber.rawValue)"
        }
    }

    private static func control(_ bytes: UnsafeRawBufferPointer) -> String {
        var packets = RTCPIterator(bytes)
        var names: [String] = []
        while let packet = try? packets.next() {
            switch packet {
            case .nack(let nack): names.append("nack \(nack.map { "\($0.rawValue)" }.joined(separator: "/"))")
            case .pictureLoss: names.append("pli")
            case .referenceSelection: names.append("rpsi")
            case .transportFeedback: names.append("feedback")
            case .receiverReport, .senderReport: names.append("report")
            default: break
            }
        }
        return names.joined(separator: "+")
    }
}
