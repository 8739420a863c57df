import Host
import MediaCore
import PeerConnection

/// Captures and passes samples to a program.
protocol SampleUploader: Sendable {
    func start(_ emit: @escaping @Sendable (BroadcastEvent) -> Void)
    /// - Parameter hold: nil: everything is captured.
    func set(_ hold: BroadcastHold?)
    func requestKeyframe()
    /// - Parameter bitrate: nil: no frame is to be made now.
    func setBitrate(_ bitrate: Bitrate?)
    var statistics: VideoPipelineStatistics { get }
    /// In their order.
    var audioTracks: [AudioTrackState] { get }
    /// A muted track passes nothing.
    /// - Returns: false if there is no track of this kind.
    func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool
    /// Adds a sink of this process, which `stop` closes.
    /// - Returns: false if the uploader has stopped.
    /// - Throws: if the sink cannot take what is encoded, or nothing can be encoded. It is not added then.
    func add(_ sink: any EncodedMediaSink) throws(MediaSinkFailure) -> Bool
    func remove(_ sink: any EncodedMediaSink) async
    /// Returns when no sample is passed any more and the sources are closed.
    func stop() async
}

extension SampleUploader {
    func requestKeyframe() {}
    func setBitrate(_ bitrate: Bitrate?) {}
}

/// The sources of a broadcast.
// SAFETY: the screen is used by one thread at a time: the one that starts the uploader, then the video thread.
struct SampleSources: @unchecked Sendable {
    let screen: any ScreenSource
    /// At the beginning.
    let screenSize: PixelSize
    let makeEncoder: @Sendable () throws(CodecFailure) -> any VideoEncoder
    let audio: [AudioInput]

    init(
        screen: any ScreenSource,
        makeEncoder: @escaping @Sendable () throws(CodecFailure) -> any VideoEncoder, audio: [AudioInput]
    ) {
        self.screen = screen
        screenSize = screen.size
        self.makeEncoder = makeEncoder
        self.audio = audio
    }

    /// Uses the screen and the audio up.
    func makeEncoding(_ configuration: ExtensionBroadcast.Configuration) throws(CodecFailure) -> LocalEncoding {
        try LocalEncoding(
            source: screen, encoder: makeEncoder(), audio: audio, framesPerSecond: configuration.framesPerSecond,
            maximumBitrate: configuration.maximumBitrate)
    }
}
