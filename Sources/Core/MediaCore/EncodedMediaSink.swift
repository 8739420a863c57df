/// The format of the media that a session receives, from the session description.
public struct EncodedMediaFormat: Equatable, Sendable {
    /// Nil without video.
    public var video: VideoCodec?
    /// The video's format parameters in the session description; nil for none.
    public var videoParameters: String?
    /// The kind of each Opus track, in the order of `EncodedAudioPacket.track`; nil if the description does not say.
    public var audio: [MediaTrackKind?]

    public init(video: VideoCodec?, videoParameters: String? = nil, audio: [MediaTrackKind?]) {
        self.video = video
        self.videoParameters = videoParameters
        self.audio = audio
    }
}

/// Why a sink cannot take media. `message` is a phrase for people; `remedy` says what to do about it.
public struct MediaSinkFailure: Error, Equatable, Sendable {
    public var message: String
    public var remedy: String

    public init(_ message: String, remedy: String = "") {
        self.message = message
        self.remedy = remedy
    }
}

/// Why a sink asks for a key frame.
public enum KeyframeRequest: Equatable, Sendable {
    /// Video cannot go on without one: no frame comes before it.
    case cannotContinue
    /// A key frame is wanted, and frames go on until it comes. The request is made once, and may be lost or ignored.
    case wanted
}

/// Takes the media that a session receives, still encoded: a viewer plays it, a recorder writes it, a service forwards
/// it.
///
/// - Isolation: all calls are made on the session's network thread, and must not block it.
public protocol EncodedMediaSink: AnyObject, Sendable {
    /// The video codecs that the sink takes. Only these are negotiated. May block while libraries are loaded.
    var videoCodecs: Set<VideoCodec> { get }

    /// What is negotiated with a server that has announced its codec: at least that one, if the sink takes it.
    func videoCodecs(for announced: VideoCodec) -> Set<VideoCodec>

    /// Called before any media. Called again when another session replaces a lost one: RTP timestamps start anew then,
    /// and video goes on with a key frame.
    /// - Parameter requestKeyframe: to be called, from any thread, when a key frame is needed.
    /// - Throws: when the sink cannot take the format; the session then ends with that reason.
    func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure)

    /// Takes a frame; frames come in decoding order.
    func receive(_ frame: EncodedVideoFrame)

    /// Takes a packet; the packets of a track come in order and when they are due, lost ones in their place.
    func receive(_ packet: EncodedAudioPacket)

    /// Ends the sink; no other call follows. May be called twice, and without `start`.
    /// - Parameter done: called on any thread when all threads, files and devices are released.
    func close(_ done: @escaping @Sendable () -> Void)
}

extension EncodedMediaSink {
    /// For sinks that decode: VP8.
    public var videoCodecs: Set<VideoCodec> { [.vp8] }
    public func videoCodecs(for announced: VideoCodec) -> Set<VideoCodec> { videoCodecs }
}
