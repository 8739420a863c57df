internal import COpus
public import MediaCore

/// Opus encoder on libopus: 48 kHz stereo, 10 or 20 ms a packet.
/// - Isolation: confined to one thread. Allocates: only in `init`.
public final class OpusFrameEncoder: AudioEncoder {
    /// The kind of audio, which selects libopus's application: AUDIO or VOIP.
    public enum Content: Sendable { case systemAudio, microphone }

    /// The largest packet in bytes, which is one frame (RFC 6716 section 3.4).
    public static let maximumPacketBytes = 1_275
    /// Number of packets of digital silence that are still encoded, so that the decoder fades out on real data.
    static let tailPackets = 2

    private let encoder: OpaquePointer
    private var silentPackets = tailPackets
    private var lossPercent = 0
    public private(set) var bitrate: Bitrate

    /// - Parameters:
    ///   - bitrate: 6...510 kbit/s; nil is 128 kbit/s for system audio and 48 kbit/s for a microphone.
    ///   - usesDTX: sends nothing while nobody speaks; nil turns it on for a microphone only.
    public init(_ content: Content, bitrate: Bitrate? = nil, usesDTX: Bool? = nil) throws(CodecFailure) {
        var code: Int32 = OPUS_OK
        let application = content == .microphone ? OPUS_APPLICATION_VOIP : OPUS_APPLICATION_AUDIO
        let created = opus_encoder_create(
            Int32(AudioFormat.sampleRate), Int32(AudioFormat.channels), application, &code)
        guard let created, code == OPUS_OK else { throw .opus(code, "open an encoder") }
        encoder = created
        self.bitrate = Self.clamped(bitrate ?? .kilobits(content == .microphone ? 48 : 128))
        set(OPUS_SET_BITRATE_REQUEST, self.bitrate.bitsPerSecond)
        set(OPUS_SET_DTX_REQUEST, usesDTX ?? (content == .microphone) ? 1 : 0)
        // 10 is the maximum; 5 sounds almost the same at half the CPU time.
        set(OPUS_SET_COMPLEXITY_REQUEST, 5)
        set(OPUS_SET_LSB_DEPTH_REQUEST, 16)
    }

    deinit { opus_encoder_destroy(encoder) }

    public func encode(
        _ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableRawBufferPointer
    ) throws(CodecFailure) -> Int {
        let frames = samples.count / AudioFormat.channels
        let ten = AudioFormat.samplesPerChannelIn10ms
        guard samples.count % AudioFormat.channels == 0, frames == ten || frames == 2 * ten,
            let input = samples.baseAddress, let output = bytes.baseAddress
        else {
            throw CodecFailure(
                code: Int(OPUS_BAD_ARG), message: "\(samples.count) samples are not 10 or 20 ms of stereo")
        }
        if Self.isSilent(samples) {
            if silentPackets >= Self.tailPackets { return 0 }
            silentPackets += 1
        } else {
            silentPackets = 0
        }
        let room = Int32(min(bytes.count, Self.maximumPacketBytes))
        let written = opus_encode(
            encoder, input, Int32(frames), output.assumingMemoryBound(to: UInt8.self), room)
        guard written >= 0 else { throw .opus(written, "encode a packet") }
        // libopus returns at most 2 bytes for a packet that need not be sent (DTX).
        return written <= 2 ? 0 : Int(written)
    }

    public func setExpectedLoss(_ fraction: Double) {
        let percent = fraction.isFinite ? Int((min(max(fraction, 0), 1) * 100).rounded(.up)) : 0
        // FEC takes bits; for more than 30 % of loss it does not improve further.
        let bounded = min(percent, 30)
        guard bounded != lossPercent else { return }
        lossPercent = bounded
        set(OPUS_SET_INBAND_FEC_REQUEST, bounded > 0 ? 1 : 0)
        set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, bounded)
    }

    public func setBitrate(_ bitrate: Bitrate) {
        let wanted = Self.clamped(bitrate)
        guard wanted != self.bitrate else { return }
        self.bitrate = wanted
        set(OPUS_SET_BITRATE_REQUEST, wanted.bitsPerSecond)
    }

    private static func clamped(_ bitrate: Bitrate) -> Bitrate { min(max(bitrate, .kilobits(6)), .kilobits(510)) }

    private func set(_ request: Int32, _ value: Int) {
        let code = copus_set(encoder, request, Int32(value))
        assert(code == OPUS_OK, "libopus refused \(value) for request \(request)")
    }

    /// Whether every sample is 0. Compares eight bytes at a time.
    private static func isSilent(_ samples: UnsafeBufferPointer<Int16>) -> Bool {
        let bytes = UnsafeRawBufferPointer(samples)
        var offset = 0
        while offset + 8 <= bytes.count {
            if bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) != 0 { return false }
            offset += 8
        }
        return !samples[(offset / 2)...].contains { $0 != 0 }
    }
}

extension CodecFailure {
    static func opus(_ code: Int32, _ action: String) -> Self {
        CodecFailure(code: Int(code), message: "libopus could not \(action): \(String(cString: opus_strerror(code)))")
    }
}
