internal import LinuxRuntime
public import MediaCore

/// The audio of an app, which the app hands in as it plays it. Each consumer takes it through a source of its own.
///
/// - Isolation: `submit` may be called from any thread, one at a time; it never waits for a consumer's work.
public final class InAppAudio: Sendable {
    private let name: String
    /// The buffers of the sources that run.
    private let outputs: Monitor<[Monitor<InAppAudioBuffer>]> = Monitor([])

    /// - Parameter name: the app's name, for people.
    public init(name: String) { self.name = name }

    /// Takes samples: 48 kHz, two channels, interleaved; any number of them.
    public func submit(_ samples: UnsafeBufferPointer<Int16>) {
        let now = MonotonicClock.now
        for output in outputs.with({ $0 }) { output.change { $0.append(samples, at: now) } }
    }

    /// - Parameter capacity: the longest time of audio that waits for the consumer; the oldest is dropped beyond that.
    public func makeSource(capacity: MediaDuration = .milliseconds(200)) -> InAppAudioSource {
        InAppAudioSource(self, summary: "the audio of \(name)", capacity: capacity)
    }

    func add(_ output: Monitor<InAppAudioBuffer>) { outputs.with { $0.append(output) } }

    func remove(_ output: Monitor<InAppAudioBuffer>) { outputs.with { $0.removeAll { $0 === output } } }
}
