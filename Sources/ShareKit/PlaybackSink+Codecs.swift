internal import DAV1DCodec
internal import FFmpegCodec
package import MediaCore
internal import OpusCodec
internal import VPXCodec
package import Viewer

/// The decoder of a codec, and the library that has to be installed for it.
package struct InstallableDecoder: Sendable {
    package struct Library: Sendable, Equatable {
        /// Debian's package.
        package let package: String
        /// The codecs that it decodes, for people.
        package let codecs: String
    }

    /// Nil for a codec that this program always decodes.
    package var library: Library?
    /// The first call blocks while a library is loaded.
    package var isInstalled: @Sendable () -> Bool = { true }
    let make: @Sendable () throws(CodecFailure) -> any VideoDecoder
}

extension VideoCodec {
    package var decoder: InstallableDecoder {
        switch self {
        case .vp8: InstallableDecoder { VP8Decoder() }
        case .vp9: InstallableDecoder { VP9Decoder() }
        case .h264, .h265:
            InstallableDecoder(
                library: .init(package: "libavcodec59", codecs: "H.264, H.265"),
                isInstalled: { H26xDecoder.codecs.contains(self) },
                make: { () throws(CodecFailure) in try H26xDecoder(self) })
        case .av1:
            InstallableDecoder(
                library: .init(package: "libdav1d6", codecs: "AV1"), isInstalled: { AV1Decoder.isAvailable },
                make: { () throws(CodecFailure) in try AV1Decoder() })
        }
    }
}

extension VideoDecoders {
    /// The decoders of this machine. Libraries are loaded when a codec is asked for that needs one.
    package static let installed = VideoDecoders(
        Set(VideoCodec.allCases.filter { $0.decoder.library == nil }), loadable: { loadable }
    ) { codec throws(CodecFailure) in try codec.decoder.make() }

    private static let loadable = Set(
        VideoCodec.allCases.filter { $0.decoder.library != nil && $0.decoder.isInstalled() })
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
