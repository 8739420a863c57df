package import LinuxRuntime
package import MediaCore
import Synchronization

/// One audio track of a host: takes 10 ms at a time on the source's own thread, encodes 20 ms packets of Opus and
/// queues them.
///
/// Requested values, which other threads set, are in Monitors; the `applied` values are the audio thread's own.
// SAFETY: encoder and buffers are used only in the source's handler, which runs on one thread.
package final class AudioPipeline: @unchecked Sendable {
    /// What decides whether the track is encoded.
    private struct Activity {
        /// The source runs.
        var isCaptured = false
        /// A viewer receives the track.
        var isWanted = false
        var isMuted = false
        /// The host's user holds the broadcast's audio back.
        var isHeld = false

        var isEncoding: Bool { isWanted && !isMuted && !isHeld }
    }

    private struct EncoderSettings {
        /// 0...1.
        var expectedLoss = 0.0
        /// The fraction of `normalBitrate`, 0...1.
        var bitrateFraction = 1.0
    }

    /// The samples of the next packet.
    private struct Pending {
        var samples = [Int16](repeating: 0, count: 2 * AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels)
        var filled = 0
        var since = MediaInstant(nanoseconds: 0)

        /// Adds what was captured.
        /// - Returns: whether the packet is full.
        mutating func add(_ captured: UnsafeBufferPointer<Int16>, at instant: MediaInstant) -> Bool {
            // A gap (silence that was not delivered) starts a new packet.
            if filled > 0, instant - since > .milliseconds(15) { filled = 0 }
            if filled == 0 { since = instant }
            guard filled + captured.count <= samples.count else {
                filled = 0
                return false
            }
            for i in 0..<captured.count { samples[filled + i] = captured[i] }
            filled += captured.count
            guard filled == samples.count else { return false }
            filled = 0
            return true
        }
    }

    package let track: Int
    package let kind: MediaTrackKind
    private let source: any AudioSource
    private let encoder: any AudioEncoder
    private let packets: FrameQueue<AudioPacketInfo>
    private var packetsReady: () -> Void = {}
    private var pending = Pending()
    private let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)
    private let activity = Monitor(Activity())
    private let meter = Mutex(AudioLevelMeter())
    /// The encoder's bitrate when there is enough bandwidth.
    let normalBitrate: Bitrate
    private let requested = Mutex(EncoderSettings())
    private var applied = EncoderSettings()
    /// The lower bound of the bitrate. Speech stays intelligible; it applies even if the path carries less.
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
    ///   - changed: called when the source is interrupted or comes back.
    package func start(
        packetsReady: @escaping @Sendable () -> Void, ended: @escaping @Sendable (SourceFailure) -> Void,
        changed: @escaping @Sendable (AudioSourceChange) -> Void = { _ in }
    ) throws(SourceFailure) {
        self.packetsReady = packetsReady
        let activity = activity
        source.observe { change in
            switch change {
            case .interrupted: activity.with { $0.isCaptured = false }
            case .resumed: activity.with { $0.isCaptured = true }
            case .notice: break
            }
            changed(change)
        }
        activity.with { $0.isCaptured = true }
        do throws(SourceFailure) {
            try source.start(
                handler: { samples, captured in self.take(samples, captured) },
                ended: { failure in
                    activity.with { $0.isCaptured = false }
                    ended(failure)
                })
        } catch {
            activity.with { $0.isCaptured = false }
            throw error
        }
    }

    package var summary: String { source.summary }

    /// The name that people see.
    package var name: String { kind == .microphoneAudio ? "microphone" : "audio" }

    func setExpectedLoss(_ fraction: Double) { requested.withLock { $0.expectedLoss = fraction } }

    /// Returns the fraction of its normal bitrate that all audio together may take.
    ///
    /// The slowest viewer's limit applies, but at least half of the fastest viewer's, so that one slow viewer cannot
    /// degrade the audio of all.
    /// - Parameter limits: of the slowest and the fastest viewer; nil for no limit.
    package static func bitrateFraction(of wanted: Bitrate, within limits: ClosedRange<Bitrate>?) -> Double {
        guard let limits, wanted.bitsPerSecond > 0 else { return 1 }
        let slowest = Double(limits.lowerBound.bitsPerSecond) / Double(wanted.bitsPerSecond)
        let fastest = Double(limits.upperBound.bitsPerSecond) / Double(wanted.bitsPerSecond)
        return min(max(slowest, min(fastest, 1) / 2), 1)
    }

    /// Requests a fraction of the normal bitrate, so that audio leaves room for video. The bitrate stays at 16 kbit/s
    /// or more.
    /// - Parameter fraction: of the normal bitrate; values over 1 count as 1.
    func setBitrateFraction(_ fraction: Double) { requested.withLock { $0.bitrateFraction = min(max(fraction, 0), 1) } }

    /// Sets whether anybody receives the track. Nothing is encoded while nobody does.
    func setWanted(_ wanted: Bool) { activity.with { $0.isWanted = wanted } }

    /// Sets whether the host's user has muted the track. A muted track sends nothing, as in silence (DTX).
    /// - Returns: whether it was the other way round before.
    package func setMuted(_ muted: Bool) -> Bool {
        activity.with { activity in
            defer { activity.isMuted = muted }
            return activity.isMuted != muted
        }
    }

    /// Sets whether the host's user holds the broadcast's audio back. The source is not open meanwhile.
    func setHeld(_ held: Bool) {
        activity.with { $0.isHeld = held }
        source.setHeld(held)
    }

    package var state: AudioTrackState {
        let level = meter.withLock { $0.decibels(at: MonotonicClock.now) }
        return activity.with {
            AudioTrackState(kind: kind, isMuted: $0.isMuted, isCaptured: $0.isCaptured, level: level)
        }
    }

    package func stop() { source.stop() }

    private func take(_ samples: UnsafeBufferPointer<Int16>, _ captured: MediaInstant) {
        let activity = activity.with { $0 }
        // A muted microphone shows its level, too: its owner may speak without knowing that it is muted.
        if !activity.isHeld { meter.withLock { $0.add(samples, at: MonotonicClock.now) } }
        guard activity.isEncoding else {
            pending.filled = 0
            return
        }
        guard pending.add(samples, at: captured) else { return }
        apply(requested.withLock { $0 })
        let length = pending.samples.withUnsafeBufferPointer { (try? encoder.encode($0, into: packet)) ?? 0 }
        guard length > 0 else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: packet[..<length])
        if packets.push(bytes, AudioPacketInfo(track: track, captured: pending.since)) { packetsReady() }
    }

    private func apply(_ settings: EncoderSettings) {
        let (loss, bitrateFraction) = (settings.expectedLoss, settings.bitrateFraction)
        if abs(loss - applied.expectedLoss) >= 0.01 || (loss == 0) != (applied.expectedLoss == 0) {
            applied.expectedLoss = loss
            encoder.setExpectedLoss(loss)
        }
        // Changes of an eighth or less are ignored, except the return to the full bitrate.
        guard abs(bitrateFraction - applied.bitrateFraction) > applied.bitrateFraction / 8 || bitrateFraction == 1,
            bitrateFraction != applied.bitrateFraction
        else { return }
        applied.bitrateFraction = bitrateFraction
        let rate = Bitrate(bitsPerSecond: Int(bitrateFraction * Double(normalBitrate.bitsPerSecond)))
        encoder.setBitrate(max(rate, min(Self.leastBitrate, normalBitrate)))
    }
}
