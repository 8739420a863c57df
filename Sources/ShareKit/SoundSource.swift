internal import MediaCore
internal import PulseAudio

/// Something whose sound can be captured: an application that plays, an output, or a microphone.
public struct SoundSource: Sendable, Hashable {
    /// What a sound is captured from.
    public enum Kind: String, Sendable, Hashable {
        /// An application that plays.
        case application
        /// An output device, with all that plays on it.
        case output
        /// An input device of the sound server, such as a microphone or a line input.
        case microphone
    }

    /// Whether it is an application, an output or a microphone.
    public let kind: Kind
    /// What names it to ``ScreenRecorder`` or to `share host`: the program of an application, the sound server's name
    /// of a device.
    public let id: String
    /// Its name for people.
    public let name: String
    /// What an application plays now; empty for devices.
    public let titles: [String]
    /// The sound server's default device of its kind; false for applications.
    public let isDefault: Bool
    /// False for an application that has paused all that it plays.
    public let isPlaying: Bool

    /// Everything that the user's sound server has now: applications, outputs, microphones.
    /// - Throws: `.noSoundServer`.
    public static func available() async throws(ShareKitError) -> [SoundSource] {
        try await available(server: nil)
    }

    static func available(server: String?) async throws(ShareKitError) -> [SoundSource] {
        let result = await onThread("sound") { () -> Result<SoundSources, SourceFailure> in
            Result { () throws(SourceFailure) in try SoundSources(server: server) }
        }
        guard let result else { throw ShareKitError(.failed, "no thread is left to ask the sound server") }
        switch result {
        case .success(let sources): return all(of: sources)
        case .failure(let failure): throw ShareKitError(.noSoundServer, failure.message, remedy: failure.remedy)
        }
    }

    private static func all(of sources: SoundSources) -> [SoundSource] {
        sources.applications.map {
            SoundSource(
                kind: .application, id: $0.identifier, name: $0.name, titles: $0.titles, isDefault: false,
                isPlaying: $0.isPlaying)
        } + sources.outputs.map { SoundSource(.output, $0) } + sources.microphones.map { SoundSource(.microphone, $0) }
    }

    private init(_ kind: Kind, _ device: SoundSources.Device) {
        self.init(
            kind: kind, id: device.name, name: device.description, titles: [], isDefault: device.isDefault,
            isPlaying: true)
    }

    private init(kind: Kind, id: String, name: String, titles: [String], isDefault: Bool, isPlaying: Bool) {
        self.kind = kind
        self.id = id
        self.name = name
        self.titles = titles
        self.isDefault = isDefault
        self.isPlaying = isPlaying
    }
}
