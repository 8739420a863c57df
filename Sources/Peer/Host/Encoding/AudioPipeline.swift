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
        /// The broadcast is paused.
        var isPaused = false

        var isEncoding: Bool { isWanted && !isMuted && !isPaused }
    }

    package let track: Int
    package let kind: MediaTrackKind
    private let source: any AudioSource
    private let encoder: any AudioEncoder
    private let packets: FrameQueue<AudioPacketInfo>
    private var packetsReady: () -> Void = {}
    private var pending = [Int16](repeating: 0, count: 2 * AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels)
    private var filled = 0
    private var pendingSince = MediaInstant(nanoseconds: 0)
    private let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)
    private let activity = Monitor(Activity())
    private let meter = Mutex(AudioLevelMeter())
    private let loss = Mutex(0.0)
    private var appliedLoss = 0.0
    /// The encoder's bitrate when there is enough bandwidth.
    let normalBitrate: Bitrate
    /// The requested fraction of `normalBitrate`, 0...1.
    private let bitrateFraction = Mutex(1.0)
    private var appliedFraction = 1.0
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

    func setExpectedLoss(_ fraction: Double) { loss.withLock { $0 = fraction } }

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
    func setBitrateFraction(_ fraction: Double) { self.bitrateFraction.withLock { $0 = min(max(fraction, 0), 1) } }

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

    func setPaused(_ paused: Bool) { activity.with { $0.isPaused = paused } }

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
        if !activity.isPaused { meter.withLock { $0.add(samples, at: MonotonicClock.now) } }
        guard activity.isEncoding else {
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
        let loss = loss.withLock { $0 }
        if abs(loss - appliedLoss) >= 0.01 || (loss == 0) != (appliedLoss == 0) {
            appliedLoss = loss
            encoder.setExpectedLoss(loss)
        }
        applyBitrateFraction()
        let length = pending.withUnsafeBufferPointer { (try? encoder.encode($0, into: packet)) ?? 0 }
        guard length > 0 else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: packet[..<length])
        if packets.push(bytes, AudioPacketInfo(track: track, captured: pendingSince)) { packetsReady() }
    }

    private func applyBitrateFraction() {
        let bitrateFraction = bitrateFraction.withLock { $0 }
        // Changes of an eighth or less are ignored, except the return to the full bitrate.
        guard abs(bitrateFraction - appliedFraction) > appliedFraction / 8 || bitrateFraction == 1,
            bitrateFraction != appliedFraction
        else { return }
        appliedFraction = bitrateFraction
        let rate = Bitrate(bitsPerSecond: Int(bitrateFraction * Double(normalBitrate.bitsPerSecond)))
        encoder.setBitrate(max(rate, min(Self.leastBitrate, normalBitrate)))
    }
}
