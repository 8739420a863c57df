internal import CDAV1D
public import MediaCore
internal import VideoBitstream

/// AV1 decoder on libdav1d for hostile input, with one thread. Sequence headers are checked before libdav1d reads them.
/// After a corrupt frame the libdav1d decoder is closed; a new one opens with the next key frame.
///
/// - Isolation: confined to one thread.
public final class AV1Decoder: VideoDecoder {
    /// Whether libdav1d is installed. The first call blocks while it is loaded.
    public static var isAvailable: Bool { DAV1DLibrary.shared != nil }

    public private(set) var statistics = VideoDecoderStatistics()
    /// Whether only a key frame can be decoded next.
    public private(set) var needsKeyframe = true
    private let library: DAV1DLibrary
    private var context: OpaquePointer?
    /// The frame that is shown; its planes are libdav1d's.
    private var picture: cdav1d_picture?
    private var images = DecodedImageConverter()
    /// At most so many frames come out for one that goes in.
    private static let mostFrames = 32

    /// - Throws: if libdav1d is not installed.
    public init() throws(CodecFailure) {
        guard let library = DAV1DLibrary.shared else {
            throw CodecFailure(code: -1, message: "libdav1d 1.0 is not installed, which decodes AV1")
        }
        self.library = library
    }

    deinit { closeLibrary() }

    public func decode(
        _ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?
    ) throws(CodecFailure) -> I420Frame? {
        do {
            return try decodeChecked(frame, colorSpace)
        } catch {
            statistics.corrupt += 1
            needsKeyframe = true
            closeLibrary()
            throw error
        }
    }

    private func decodeChecked(
        _ frame: UnsafeRawBufferPointer, _ colorSpace: ColorSpace?
    ) throws(CodecFailure) -> I420Frame? {
        guard (1...DecoderLimits.maximumBytes).contains(frame.count) else {
            throw CodecFailure(code: -1, message: "not a frame of AV1: its length is \(frame.count)")
        }
        guard let sizes = AV1Units.sequenceSizes(in: frame) else {
            throw CodecFailure(code: -1, message: "not a frame of AV1: its units are malformed")
        }
        for size in sizes { try DecoderLimits.check(size) }
        if needsKeyframe, sizes.isEmpty {
            statistics.unusable += 1
            throw CodecFailure(code: -1, message: "a frame came before its key frame")
        }
        let context = try openLibrary()
        releasePicture()
        try send(frame, to: context)
        needsKeyframe = false
        statistics.frames += 1
        return try picture.map { (picture) throws(CodecFailure) in try show(picture, colorSpace) }
    }

    /// Gives the library a frame, and takes what it has decoded.
    private func send(_ frame: UnsafeRawBufferPointer, to context: OpaquePointer) throws(CodecFailure) {
        var data = cdav1d_data()
        guard let bytes = library.createData(&data, frame.count) else {
            throw CodecFailure(code: -1, message: "libdav1d has no memory for a frame")
        }
        defer { library.releaseData(&data) }
        UnsafeMutableRawBufferPointer(start: bytes, count: frame.count).copyMemory(from: frame)
        for _ in 0..<Self.mostFrames {
            if data.size > 0 {
                let code = library.sendData(context, &data)
                guard code == 0 || code == cdav1d_error_again else { throw failure(code, "decode a frame") }
            }
            var next = cdav1d_picture()
            let code = library.getPicture(context, &next)
            guard code != cdav1d_error_again || data.size > 0 else { return }
            guard code == 0 else {
                if code == cdav1d_error_again { continue }
                throw failure(code, "decode a frame")
            }
            releasePicture()
            picture = next
        }
        guard data.size == 0 else { throw CodecFailure(code: -1, message: "one frame of AV1 has too many pictures") }
    }

    private func show(_ picture: cdav1d_picture, _ colorSpace: ColorSpace?) throws(CodecFailure) -> I420Frame {
        let size = PixelSize(width: Int(picture.width), height: Int(picture.height))
        guard let y = picture.data.0, (0...3).contains(picture.layout), (8...12).contains(picture.bits) else {
            throw CodecFailure(code: -1, message: "libdav1d gave a picture of an unknown format")
        }
        var image = PlanarImage(
            size: size, y: .init(bytes: y, stride: picture.stride.0), chroma: nil, bits: Int(picture.bits),
            isHalfWidth: picture.layout < 3, isHalfHeight: picture.layout < 2)
        if let header = picture.sequence_header?.pointee {
            image.color = VideoColor(matrixCoefficients: Int(header.matrix), isFullRange: header.color_range != 0)
        }
        if picture.layout > 0, let u = picture.data.1, let v = picture.data.2 {
            image.chroma = (
                .init(bytes: u, stride: picture.stride.1), .init(bytes: v, stride: picture.stride.1)
            )
        }
        image.color = image.color.overridden(by: colorSpace)
        return try images.frame(image)
    }

    private func openLibrary() throws(CodecFailure) -> OpaquePointer {
        if let context { return context }
        var settings = cdav1d_settings()
        library.setDefaults(&settings)
        settings.threads = 1
        settings.frame_delay = 1
        settings.all_layers = 0
        settings.frame_size_limit = UInt32(DecoderLimits.maximumPixels)
        // Messages about hostile streams do not belong into a terminal.
        settings.logger = (nil, nil)
        let code = library.open(&context, &settings)
        guard code == 0, let context else { throw failure(code, "open a decoder") }
        return context
    }

    private func failure(_ code: Int32, _ action: String) -> CodecFailure {
        CodecFailure(code: Int(code), message: "libdav1d could not \(action): error \(-Int(code))")
    }

    private func releasePicture() {
        guard var shown = picture else { return }
        picture = nil
        library.releasePicture(&shown)
    }

    private func closeLibrary() {
        releasePicture()
        if context != nil { library.close(&context) }
        context = nil
    }
}
