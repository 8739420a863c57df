internal import COpus
public import MediaCore

/// Opus decoder on libopus for hostile input, with 48 kHz stereo output for any stream. A packet that libopus rejects
/// is an error; the next one is decoded as usual.
/// - Isolation: confined to one thread. Allocates: only in `init`.
public final class OpusFrameDecoder: AudioDecoder {
    /// Samples per channel in the longest packet, 120 ms (RFC 6716 section 2.1.4).
    public static let maximumFrames = 5_760
    /// Upper bound of a packet's size: 48 frames of 1,275 bytes and at most 98 bytes of header (RFC 6716 section
    /// 3.2.5).
    static let maximumPacketBytes = 61_298

    private let decoder: OpaquePointer

    public init() throws(CodecFailure) {
        var code: Int32 = OPUS_OK
        let created = opus_decoder_create(Int32(AudioFormat.sampleRate), Int32(AudioFormat.channels), &code)
        guard let created, code == OPUS_OK else { throw .opus(code, "open a decoder") }
        decoder = created
    }

    deinit { opus_decoder_destroy(decoder) }

    public func decode(
        _ packet: UnsafeRawBufferPointer?, useFEC: Bool, samplesPerChannel: Int,
        into samples: UnsafeMutableBufferPointer<Int16>
    ) throws(CodecFailure) -> Int {
        let room = min(samples.count / AudioFormat.channels, Self.maximumFrames)
        guard let output = samples.baseAddress, room > 0 else {
            throw CodecFailure(code: Int(OPUS_BUFFER_TOO_SMALL), message: "no room for sound")
        }
        guard let packet, !useFEC else {
            // Concealment (PLC) and FEC need the length of the lost packet, in steps of 2.5 ms.
            let step = AudioFormat.sampleRate / 400
            let length = min(samplesPerChannel, room) / step * step
            guard length > 0 else {
                throw CodecFailure(code: Int(OPUS_BAD_ARG), message: "\(samplesPerChannel) frames cannot be concealed")
            }
            return try decode(packet, samplesPerChannel: length, redundancy: useFEC && packet != nil, into: output)
        }
        return try decode(packet, samplesPerChannel: room, redundancy: false, into: output)
    }

    private func decode(
        _ packet: UnsafeRawBufferPointer?, samplesPerChannel: Int, redundancy: Bool,
        into output: UnsafeMutablePointer<Int16>
    ) throws(CodecFailure) -> Int {
        // libopus takes an empty packet for a lost one.
        if let packet, packet.isEmpty || packet.count > Self.maximumPacketBytes {
            throw CodecFailure(code: Int(OPUS_INVALID_PACKET), message: "an Opus packet of \(packet.count) bytes")
        }
        let bytes = packet?.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let decoded = opus_decode(
            decoder, bytes, Int32(packet?.count ?? 0), output, Int32(samplesPerChannel), redundancy ? 1 : 0)
        guard decoded >= 0 else { throw .opus(decoded, "decode a packet") }
        return Int(decoded)
    }
}
