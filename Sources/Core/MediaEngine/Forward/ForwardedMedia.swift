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

    /// Nil if there is no such track.
    public func track(_ index: Int) -> ForwardedAudio? { audio.indices.contains(index) ? audio[index] : nil }
}
