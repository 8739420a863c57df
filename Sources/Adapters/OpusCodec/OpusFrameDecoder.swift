internal import COpus
public import MediaCore

/// Opus by libopus, to 48 kHz stereo whatever the sender chose. Takes bytes from strangers: a packet that libopus refuses
/// is an error, and the next one is decoded as usual. Confined to one thread; allocates nothing after init.
public final class OpusFrameDecoder: AudioDecoder {
    /// Frames (of two samples) in the longest packet, 120 ms. RFC 6716 section 2.1.4.
    public static let maximumFrames = 5_760
    /// The most a packet can hold: 48 frames of 1,275 bytes and their header are far less.
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
        _ packet: UnsafeRawBufferPointer?, useFEC: Bool, frames: Int, into samples: UnsafeMutableBufferPointer<Int16>
    ) throws(CodecFailure) -> Int {
        let room = min(samples.count / AudioFormat.channels, Self.maximumFrames)
        guard let output = samples.baseAddress, room > 0 else {
            throw CodecFailure(code: Int(OPUS_BUFFER_TOO_SMALL), message: "no room for sound")
        }
        guard let packet, !useFEC else {
            // Concealment and redundancy are asked for by length, in steps of 2.5 ms.
            let step = AudioFormat.sampleRate / 400
            let length = min(frames, room) / step * step
            guard length > 0 else {
                throw CodecFailure(code: Int(OPUS_BAD_ARG), message: "\(frames) frames cannot be concealed")
            }
            return try decode(packet, frames: length, redundancy: useFEC && packet != nil, into: output)
        }
        return try decode(packet, frames: room, redundancy: false, into: output)
    }

    private func decode(
        _ packet: UnsafeRawBufferPointer?, frames: Int, redundancy: Bool, into output: UnsafeMutablePointer<Int16>
    ) throws(CodecFailure) -> Int {
        // An empty packet would mean "lost" to libopus.
        if let packet, packet.isEmpty || packet.count > Self.maximumPacketBytes {
            throw CodecFailure(code: Int(OPUS_INVALID_PACKET), message: "an Opus packet of \(packet.count) bytes")
        }
        let bytes = packet?.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let decoded = opus_decode(
            decoder, bytes, Int32(packet?.count ?? 0), output, Int32(frames), redundancy ? 1 : 0)
        guard decoded >= 0 else { throw .opus(decoded, "decode a packet") }
        return Int(decoded)
    }
}
