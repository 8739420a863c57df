internal import DAV1DCodec
internal import FFmpegCodec
package import MediaCore
internal import OpusCodec
internal import VPXCodec
package import Viewer

extension VideoDecoders {
    /// What this machine can decode: VP8 and VP9 always, H.264 and H.265 with libavcodec, AV1 with libdav1d. The first
    /// use blocks while these two are loaded, if they are installed.
    package static let installed = VideoDecoders(
        NALUnitDecoder.codecs.union(AV1Decoder.isAvailable ? [.vp8, .vp9, .av1] : [.vp8, .vp9])
    ) { codec throws(CodecFailure) in
        switch codec {
        case .vp8: VP8Decoder()
        case .vp9: VP9Decoder()
        case .h264, .h265: try NALUnitDecoder(codec)
        case .av1: try AV1Decoder()
        }
    }
}

extension PlaybackSink {
    /// Decodes the video that this machine can decode, and Opus.
    /// - Parameters: as for the other initialiser.
    package convenience init(
        videoSink: any VideoSink, makeSpeaker: @escaping @Sendable () throws(SourceFailure) -> (any AudioSink)?,
        emit: @escaping @Sendable (PlaybackEvent) -> Void
    ) {
        self.init(
            decoders: .installed, videoSink: videoSink,
            audioDecoder: { () throws(CodecFailure) in try OpusFrameDecoder() }, makeSpeaker: makeSpeaker, emit: emit)
    }
}
