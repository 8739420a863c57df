/// One frame, or one piece of audio: what a capture hands to its app, and a host to its upload extension.
///
/// A buffer lends memory of its source until it is released. A source has few of them: it drops frames while all are
/// in use, so copy what is needed for longer than the next frame.
// SAFETY: the memory is not written to while a buffer refers to it; `release` is called once, in `deinit`.
public final class SampleBuffer: @unchecked Sendable {
    /// A frame in I420 (BT.601, limited range). The pointers are valid as long as the buffer.
    public struct VideoPlanes {
        /// In pixels; both sides are even.
        public let width: Int
        /// In pixels.
        public let height: Int
        /// Luma: `height` rows of `strideY` bytes.
        public let y: UnsafePointer<UInt8>
        /// Chroma: `height / 2` rows of `strideC` bytes.
        public let u: UnsafePointer<UInt8>
        /// Chroma, in the form of `u`.
        public let v: UnsafePointer<UInt8>
        /// Bytes from one row of `y` to the next, at least `width`.
        public let strideY: Int
        /// Bytes from one row of `u`, or of `v`, to the next, at least `width / 2`.
        public let strideC: Int

        init(
            width: Int, height: Int, y: UnsafePointer<UInt8>, u: UnsafePointer<UInt8>, v: UnsafePointer<UInt8>,
            strideY: Int, strideC: Int
        ) {
            self.width = width
            self.height = height
            self.y = y
            self.u = u
            self.v = v
            self.strideY = strideY
            self.strideC = strideC
        }
    }

    /// A frame or a packet as the host has encoded it, for a `SampleHandler` that asks for such.
    public struct EncodedSample {
        /// What the bytes of a sample are.
        public enum Media: Sendable, Hashable {
            /// A frame in VP8 (RFC 6386), of a size in pixels. A key frame can be decoded without another one; temporal
            /// layer 0 is the base.
            case video(isKeyframe: Bool, temporalLayer: Int, width: Int, height: Int)
            /// The audio of the app: a packet of Opus (RFC 6716) of 20 ms.
            case applicationAudio
            /// The audio of the microphone, in the same form.
            case microphoneAudio
        }
        /// What `bytes` is, and how it is encoded.
        public let media: Media
        /// Valid as long as the buffer.
        public let bytes: UnsafeRawBufferPointer
    }

    /// A frame or audio, raw or encoded.
    public enum Content {
        /// A whole frame, as planes.
        case video(VideoPlanes)
        /// The audio of the app: interleaved samples of 16 bits, 48 kHz, two channels.
        case applicationAudio(UnsafeBufferPointer<Int16>)
        /// The audio of the microphone, in the same form.
        case microphoneAudio(UnsafeBufferPointer<Int16>)
        /// A frame or a packet of audio, for a program whose ``SampleHandler/sampleFormat`` is `.encoded`.
        case encoded(EncodedSample)
    }

    /// What was captured. The pointers in it are valid as long as the buffer.
    public let content: Content
    /// When it was captured, on `CLOCK_MONOTONIC` (since an
    /// arbitrary start). Video and audio have the same clock.
    public let time: Duration
    private let release: @Sendable () -> Void

    /// - Parameter release: called when nobody uses the memory of `content` any more.
    init(_ content: Content, time: Duration, release: @escaping @Sendable () -> Void) {
        self.content = content
        self.time = time
        self.release = release
    }

    deinit { release() }
}
