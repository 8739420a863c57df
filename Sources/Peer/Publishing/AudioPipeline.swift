package import LinuxRuntime
package import MediaCore

/// One sound track of a host: takes 10 ms at a time on the source's own thread, makes 20 ms packets of Opus and hands
/// them over.
///
/// Its properties are those of one encoder: what others ask of it, each in a Monitor, and what was applied of that.
// SAFETY: encoder and buffers are used only in the source's handler, which runs on one thread.
package final class AudioPipeline: @unchecked Sendable {
    package let track: Int
    package let kind: MediaTrackKind
    private let source: any AudioSource
    private let encoder: any AudioEncoder
    private let packets: FrameQueue<AudioPacketInfo>
    private var packetsReady: () -> Void = {}
    private var pending = [Int16](repeating: 0, count: 2 * AudioFormat.framesPerTenMilliseconds * AudioFormat.channels)
    private var filled = 0
    private var pendingSince = MediaInstant(nanoseconds: 0)
    private let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)
    private let isWanted = Monitor(false)
    private let loss = Monitor(0.0)
    private var appliedLoss = 0.0
    /// What the encoder takes where there is room.
    let normalBitrate: Bitrate
    /// Of that, 0...1.
    private let share = Monitor(1.0)
    private var appliedShare = 1.0
    /// Speech can still be understood, if the path takes it or not.
    private static let leastBitrate = Bitrate.kilobits(16)

    package init(
        track: Int, kind: MediaTrackKind, source: any AudioSource, encoder: any AudioEncoder,
        packets: FrameQueue<AudioPacketInfo>
    ) {
        self.track = track
        self.kind = kind
        self.source = source
        self.encoder = encoder
        normalBitrate = encoder.bitrate
        self.packets = packets
    }

    deinit { packet.deallocate() }

    /// Starts the source.
    /// - Parameters:
    ///   - packetsReady: called on the source's thread after a packet was queued.
    ///   - ended: called when the source has gone.
    package func start(
        packetsReady: @escaping @Sendable () -> Void, ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        self.packetsReady = packetsReady
        try source.start(handler: { samples, captured in self.take(samples, captured) }, ended: ended)
    }

    package var summary: String { source.summary }

    /// For a person.
    package var name: String { kind == .microphoneAudio ? "microphone" : "audio" }

    func setExpectedLoss(_ fraction: Double) { loss.with { $0 = fraction } }

    /// Which part of its normal bitrate all sound together may take.
    ///
    /// The slowest viewer decides; but for others it is at least half of what the fastest could have, so that nobody
    /// can take more from them.
    /// - Parameter limits: of the slowest and the fastest viewer; nil: as much as it likes.
    package static func share(of wanted: Bitrate, within limits: ClosedRange<Bitrate>?) -> Double {
        guard let limits, wanted.bitsPerSecond > 0 else { return 1 }
        let slowest = Double(limits.lowerBound.bitsPerSecond) / Double(wanted.bitsPerSecond)
        let fastest = Double(limits.upperBound.bitsPerSecond) / Double(wanted.bitsPerSecond)
        return min(max(slowest, min(fastest, 1) / 2), 1)
    }

    /// Takes less than the normal bitrate where the path has no room for it beside pictures; never under 16 kbit/s.
    /// - Parameter share: of the normal bitrate; over 1 is 1.
    func setShare(_ share: Double) { self.share.with { $0 = min(max(share, 0), 1) } }

    /// Without viewers nothing is encoded.
    func setWanted(_ wanted: Bool) { isWanted.with { $0 = wanted } }

    package func stop() { source.stop() }

    private func take(_ samples: UnsafeBufferPointer<Int16>, _ captured: MediaInstant) {
        guard isWanted.with({ $0 }) else {
            filled = 0
            return
        }
        // A gap (silence that was not delivered) starts a new packet.
        if filled > 0, captured - pendingSince > .milliseconds(15) { filled = 0 }
        if filled == 0 { pendingSince = captured }
        guard filled + samples.count <= pending.count else {
            filled = 0
            return
        }
        for i in 0..<samples.count { pending[filled + i] = samples[i] }
        filled += samples.count
        guard filled == pending.count else { return }
        filled = 0
        let loss = loss.with { $0 }
        if abs(loss - appliedLoss) >= 0.01 || (loss == 0) != (appliedLoss == 0) {
            appliedLoss = loss
            encoder.setExpectedLoss(loss)
        }
        applyShare()
        let length = pending.withUnsafeBufferPointer { (try? encoder.encode($0, into: packet)) ?? 0 }
        guard length > 0 else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: packet[..<length])
        if packets.push(bytes, AudioPacketInfo(track: track, captured: pendingSince)) { packetsReady() }
    }

    private func applyShare() {
        let share = share.with { $0 }
        // An eighth more or less is not worth a change; all of it is.
        guard abs(share - appliedShare) > appliedShare / 8 || share == 1, share != appliedShare else { return }
        appliedShare = share
        let rate = Bitrate(bitsPerSecond: Int(share * Double(normalBitrate.bitsPerSecond)))
        encoder.setBitrate(max(rate, min(Self.leastBitrate, normalBitrate)))
    }
}
