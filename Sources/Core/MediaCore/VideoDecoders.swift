/// The video decoders that a process has, by codec.
public struct VideoDecoders: Sendable {
    /// What can be decoded without a library that is loaded for it.
    public let builtIn: Set<VideoCodec>
    private let loadable: @Sendable () -> Set<VideoCodec>
    private let makeDecoder: @Sendable (VideoCodec) throws(CodecFailure) -> any VideoDecoder

    /// - Parameters:
    ///   - builtIn: the codecs that need no library to be loaded.
    ///   - loadable: the other ones; called on any thread, and may block.
    ///   - make: makes a decoder of one of the codecs; called on any thread.
    public init(
        _ builtIn: Set<VideoCodec>, loadable: @escaping @Sendable () -> Set<VideoCodec> = { [] },
        make: @escaping @Sendable (VideoCodec) throws(CodecFailure) -> any VideoDecoder
    ) {
        self.builtIn = builtIn
        self.loadable = loadable
        makeDecoder = make
    }

    /// What can be decoded. Blocks while libraries are loaded.
    public var codecs: Set<VideoCodec> { builtIn.union(loadable()) }

    /// Loads no library for a built-in codec.
    public func canDecode(_ codec: VideoCodec) -> Bool { builtIn.contains(codec) || loadable().contains(codec) }

    /// - Throws: if there is no decoder of the codec, or it cannot be opened.
    public func make(_ codec: VideoCodec) throws(CodecFailure) -> any VideoDecoder {
        guard canDecode(codec) else {
            throw CodecFailure(code: -1, message: "\(codec.rawValue) cannot be decoded here")
        }
        return try makeDecoder(codec)
    }
}

/// Limits of what decoders of hostile streams take. Beyond VP8 a stream can make its decoder hold up to 17 frames.
public enum DecoderLimits {
    /// Of a frame's width and height, in pixels.
    public static let maximumSide = 8_192
    /// Of a frame's area, in pixels: 5120 x 2880 is below. 17 frames take 430 MB at 8 bits.
    public static let maximumPixels = 16 << 20
    /// Of an encoded frame, in bytes.
    public static let maximumBytes = 16 << 20

    /// - Throws: if a frame of this size is too large, or empty.
    public static func check(_ size: PixelSize) throws(CodecFailure) {
        guard (1...maximumSide).contains(size.width), (1...maximumSide).contains(size.height),
            size.width * size.height <= maximumPixels
        else { throw CodecFailure(code: -1, message: "a picture of \(size.width) x \(size.height) is too large") }
    }
}
