package import MediaCore
internal import OpusCodec
package import Receiving
internal import VPXCodec

extension PlaybackSink {
    /// Decodes VP8 and Opus.
    /// - Parameters: as for the other initialiser.
    package convenience init(
        videoSink: any VideoSink, makeSpeaker: @escaping @Sendable () throws(SourceFailure) -> (any AudioSink)?,
        emit: @escaping @Sendable (PlaybackEvent) -> Void
    ) {
        self.init(
            decoder: { () throws(CodecFailure) in VP8Decoder() }, videoSink: videoSink,
            audioDecoder: { () throws(CodecFailure) in try OpusFrameDecoder() }, makeSpeaker: makeSpeaker, emit: emit)
    }
}
