internal import LinuxRuntime
public import MediaCore

/// The audio of an app, which the app hands in as it plays it.
///
/// - Isolation: `submit` may be called from any thread, one at a time; it never waits for the encoder.
public final class InAppAudio: AudioSource, Sendable {
    private struct State {
        /// Interleaved samples that were not taken yet.
        var samples: [Int16] = []
        /// When the first of them was handed in.
        var since: MediaInstant?
        var isStopped = false
    }

    /// The longest time of audio that waits for the encoder; the oldest is dropped beyond that.
    static let capacity = MediaDuration.milliseconds(200)
    private static let packet = AudioFormat.samplesPerChannelIn10ms * AudioFormat.channels

    private let state = Monitor(State())
    private let thread = Monitor<NamedThread?>(nil)
    public let summary: String

    /// - Parameter name: the app's name, for people.
    public init(name: String) { summary = "the audio of \(name)" }

    deinit { stop() }

    /// Takes samples: 48 kHz, two channels, interleaved; any number of them.
    public func submit(_ samples: UnsafeBufferPointer<Int16>) {
        let now = MonotonicClock.now
        let limit = Int(Self.capacity.nanoseconds / 10_000_000) * Self.packet
        state.change { state in
            if state.samples.isEmpty { state.since = now }
            state.samples.append(contentsOf: samples.suffix(limit))
            let excess = state.samples.count - limit
            if excess > 0 {
                // Whole packets, so that the channels keep their places.
                let dropped = (excess + Self.packet - 1) / Self.packet
                state.samples.removeFirst(min(dropped * Self.packet, state.samples.count))
                state.since = state.since.map { $0 + .milliseconds(10 * dropped) }
            }
        }
    }

    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        let failure = thread.with { thread -> NamedThread.Failure? in
            guard thread == nil else { return nil }
            state.with { $0 = State() }
            do throws(NamedThread.Failure) {
                thread = try NamedThread.start("audio") { [state] in Self.run(state, handler) }
                return nil
            } catch {
                return error
            }
        }
        if let failure {
            throw SourceFailure(.unsupported, "no thread is left for the app's audio (error \(failure.code))")
        }
    }

    private static func run(
        _ state: Monitor<State>, _ handler: @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void
    ) {
        var buffer = [Int16](repeating: 0, count: packet)
        while true {
            let since: MediaInstant? = state.wait { state -> MediaInstant?? in
                if state.isStopped { return .some(nil) }
                guard state.samples.count >= packet else { return nil }
                buffer.replaceSubrange(0..<packet, with: state.samples[..<packet])
                state.samples.removeFirst(packet)
                defer { state.since = state.since.map { $0 + .milliseconds(10) } }
                return .some(state.since)
            }
            guard let since else { return }
            buffer.withUnsafeBufferPointer { handler($0, since) }
        }
    }

    public func stop() {
        let ending = thread.with { thread in
            defer { thread = nil }
            return thread
        }
        state.change { $0.isStopped = true }
        ending?.join()
    }
}
