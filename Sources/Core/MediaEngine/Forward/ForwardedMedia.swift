/// What is forwarded of one session: a `MediaReceiver` puts it in, and `MediaSender`s send it.
public struct ForwardedMedia {
    /// Nil without video.
    public let video: ForwardedVideo?
    /// In the order of the tracks.
    public let audio: [ForwardedAudio]

    public init(video: ForwardedVideo? = nil, audio: [ForwardedAudio] = []) {
        self.video = video
        self.audio = audio
    }
}
