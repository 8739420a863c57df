package import Host
internal import InAppCapture
package import MediaCore
internal import OpusCodec

/// What a broadcast captures: one screen and its audio tracks.
// SAFETY: `takeScreen` is called once, by the session that gets the value.
package struct CapturedMedia: @unchecked Sendable {
    private let screen: any ScreenSource
    package let audio: [AudioInput]
    /// What is captured, for people.
    package let summary: String

    package init(screen: sending any ScreenSource, audio: [AudioInput]) {
        summary = screen.summary
        self.screen = screen
        self.audio = audio
    }

    init(_ source: ApplicationSource) {
        let audio = source.audio.map { AudioInput(.applicationAudio, $0.makeSource()) }
        self.init(screen: source.makeScreen(), audio: audio.map { [$0] } ?? [])
    }

    /// The screen, for the thread that captures it.
    package func takeScreen() -> sending any ScreenSource {
        nonisolated(unsafe) let screen = screen
        return screen
    }
}

extension AudioInput {
    /// A track that is encoded as Opus: the microphone as a voice, with silence suppression.
    package init(_ kind: MediaTrackKind, _ source: any AudioSource) {
        let isVoice = kind == .microphoneAudio
        self.init(kind: kind, source: source, hasSilenceSuppression: isVoice) { () throws(CodecFailure) in
            try OpusFrameEncoder(isVoice ? .microphone : .systemAudio)
        }
    }
}
