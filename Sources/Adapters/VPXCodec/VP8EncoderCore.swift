internal import CVPX
internal import MediaCore
internal import VideoBitstream

/// Effort of the search for each block's best coding mode; libvpx's `cpu-used`.
enum MotionSearch: Int32 {
    /// Rate-distortion optimization down to 4 x 4 subblocks: 20 % fewer bytes for new text in five times the time.
    case thorough = -1
    /// Searches far, which finds the motion of most scrolls: for text and graphics.
    case wide = -4
    /// Searches nearby only, as all values from -5 down do: for natural video.
    case near = -6
    /// For continuous large changes: fastest; refinement improves the result.
    case fastest = -12
}

/// Encoder settings of one frame.
struct VP8FrameSettings: Equatable {
    /// 0 (best) ... 63 (worst), for the whole frame.
    var quantizer: Int
    var isKeyframe: Bool
    var search: MotionSearch
    /// No frame refers to this one: it is of layer 1.
    var isDisposable = false
    /// The only reference buffer; nil for the last frame.
    var source: ReferenceSlot?
    /// The reference buffer that the frame is stored in besides the last frame's.
    var stored: ReferenceSlot?
    /// Whether the frame's entropy probabilities persist (`refresh_entropy_probs`, RFC 6386 section 19.2). If later
    /// frames may skip this one, they must not: a decoder without it would use others.
    var refreshesEntropy = true
}

/// The quantizers of a frame's regions (segments, RFC 6386 section 9.3).
struct VP8Segments {
    /// The segment of each block, 0...3.
    var map: [UInt8]
    /// Of the four segments, 0...63; the first one is the frame's.
    var quantizers: [Int]

    /// VP8's quantizer index of libvpx's 0...63 (vp8/encoder/onyx_if.c, q_trans).
    private static let indices: [Int] = [
        0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 33, 35, 37,
        39,
        41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 64, 67, 70, 73, 76, 79, 82, 85, 88, 91, 94, 97, 100, 103, 106, 109,
        112,
        115, 118, 121, 124, 127,
    ]

    static func index(of quantizer: Int) -> Int { indices[min(max(quantizer, 0), 63)] }

    /// The difference that libvpx translates into about the wanted one, as it translates quantizers and differences by
    /// the same table, which is not linear.
    static func difference(from base: Int, to wanted: Int) -> Int {
        let gap = index(of: wanted) - index(of: base)
        let steps = indices.indices.min { abs(indices[$0] - abs(gap)) < abs(indices[$1] - abs(gap)) } ?? 0
        return gap < 0 ? -steps : steps
    }
}

/// One libvpx encoder for one frame size, with the quantizer set for each frame. libvpx's own rate control is bypassed,
/// as it ignores how much of the frame is active.
final class VP8EncoderCore {
    let size: PixelSize
    private let context: UnsafeMutablePointer<vpx_codec_ctx_t>
    private var configuration: vpx_codec_enc_cfg_t
    /// RFC 6386 section 9.1.
    private static let version: UInt8 = 2
    private let all: [UInt8]
    private let columns: Int
    private let rows: Int
    private var lastPTS: Int64 = -1
    private var search = MotionSearch.wide
    /// The last frame had segments.
    private var hasSegments = false
    /// Before the first frame and after a failure; the next frame must be a key frame.
    private(set) var isFresh = true
    /// Of the last frame, 0...63.
    private(set) var lastQuantizer = 0
    /// The golden and alternate buffers that hold the last frame too. libvpx keeps one picture for them all.
    private(set) var buffersOfLastFrame: Set<ReferenceSlot> = []
    private let copies: ReferenceCopies
    private lazy var update = VP8UpdateFrame(size)
    /// What the viewers' decoders have; nil if a frame of libvpx could not be read. Then all frames are libvpx's.
    private var entropy: VP8EntropyState?

    init(_ size: PixelSize, threads: Int) throws(CodecFailure) {
        guard size.width >= 2, size.height >= 2, size.width <= 16_382, size.height <= 16_382 else {
            throw CodecFailure(code: -1, message: "VP8 cannot code a picture of \(size.width) x \(size.height)")
        }
        self.size = size
        columns = (size.width + 15) / 16
        rows = (size.height + 15) / 16
        all = [UInt8](repeating: 1, count: columns * rows)
        copies = ReferenceCopies(columns: columns, rows: rows)
        configuration = vpx_codec_enc_cfg_t()
        let code = vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &configuration, 0)
        guard code == VPX_CODEC_OK else { throw .vpx(code, nil, "describe its VP8 encoder") }
        configuration.g_w = UInt32(size.width)
        configuration.g_h = UInt32(size.height)
        configuration.g_threads = UInt32(threads)
        // No loop filter: it would change inactive blocks, blur text with each frame, and take a third of a frame's
        // time here and at each viewer. Every VP8 decoder supports versions 0 to 3 (RFC 6386 section 9.1).
        configuration.g_profile = UInt32(Self.version)
        configuration.g_timebase = vpx_rational_t(num: 1, den: 1_000_000)
        configuration.g_lag_in_frames = 0
        configuration.g_error_resilient = 0
        configuration.kf_mode = VPX_KF_DISABLED
        // With VPX_CBR and screen content libvpx lowers the quantizer by at most 12 steps a frame (ratectrl.c,
        // limit_q_cbr_inter).
        configuration.rc_end_usage = VPX_VBR
        configuration.rc_target_bitrate = 20_000
        configuration.rc_dropframe_thresh = 0
        configuration.rc_resize_allowed = 0
        configuration.rc_min_quantizer = 20
        configuration.rc_max_quantizer = 20
        context = .allocate(capacity: 1)
        context.initialize(to: vpx_codec_ctx_t())
        let opened = cvpx_open_encoder(context, &configuration)
        guard opened == VPX_CODEC_OK else {
            context.deallocate()
            throw .vpx(opened, nil, "open a VP8 encoder for \(size.width) x \(size.height)")
        }
        VPXTokenBuffer.release(for: size)
        // Without these controls the encoder works, but slower or softer. A static threshold above 0 leaves blank
        // blocks in place during a scroll. That doubles its bytes, as motion vectors are predicted from their
        // neighbours.
        _ = cvpx_control(context, Int32(VP8E_SET_CPUUSED.rawValue), search.rawValue)
        _ = cvpx_control(context, Int32(VP8E_SET_SCREEN_CONTENT_MODE.rawValue), 1)
        _ = cvpx_control(context, Int32(VP8E_SET_STATIC_THRESHOLD.rawValue), 0)
        _ = cvpx_control(context, Int32(VP8E_SET_NOISE_SENSITIVITY.rawValue), 0)
        _ = cvpx_control(context, Int32(VP8E_SET_TOKEN_PARTITIONS.rawValue), 0)
        _ = cvpx_control(context, Int32(VP8E_SET_ENABLEAUTOALTREF.rawValue), 0)
    }

    deinit {
        vpx_codec_destroy(context)
        context.deallocate()
    }

    /// Encodes one frame. Its bytes are valid until the next call.
    /// - Parameters:
    ///   - active: the blocks to code; nil for all.
    ///   - segments: quantizers of regions; nil: all blocks have that of the frame.
    /// - Returns: nil if libvpx produced no frame.
    func encode(
        _ input: I420Frame, active: BlockMap?, segments: VP8Segments? = nil, at instant: MediaInstant,
        _ settings: VP8FrameSettings
    ) throws(CodecFailure) -> EncodedFrame? {
        precondition(input.size == size, "encoder of \(size) got a picture of \(input.size)")
        precondition(active == nil || active?.size == size, "the map is of another size than the picture")
        try apply(settings)
        let code = setActive(active)
        guard code == VPX_CODEC_OK else { throw .vpx(code, context, "take the map of changed blocks") }
        let segmented = setSegments(segments, settings.quantizer)
        guard segmented == VPX_CODEC_OK else { throw .vpx(segmented, context, "take the map of segments") }

        // A key frame refers to no other.
        if !settings.isKeyframe { try writeLastFrame() }
        var image = vpx_image_t()
        vpx_img_wrap(
            &image, VPX_IMG_FMT_I420, UInt32(size.width), UInt32(size.height), 1,
            UnsafeMutablePointer(mutating: input.y))
        image.planes.0 = UnsafeMutablePointer(mutating: input.y)
        image.planes.1 = UnsafeMutablePointer(mutating: input.u)
        image.planes.2 = UnsafeMutablePointer(mutating: input.v)
        image.stride.0 = Int32(input.strideY)
        image.stride.1 = Int32(input.strideC)
        image.stride.2 = Int32(input.strideC)

        let pts = max(instant.nanoseconds / 1_000, lastPTS + 1)
        lastPTS = pts
        let flags =
            settings.isKeyframe
            ? vpx_enc_frame_flags_t(VPX_EFLAG_FORCE_KF)
            : settings.isDisposable
                ? cvpx_disposable_flags()
                : cvpx_inter_flags(
                    settings.source.libraryBuffer, settings.stored.libraryBuffer,
                    settings.refreshesEntropy ? 1 : 0)
        let encoded = vpx_codec_encode(context, &image, pts, 33_333, flags, UInt(VPX_DL_REALTIME))
        guard encoded == VPX_CODEC_OK else {
            isFresh = true
            throw .vpx(encoded, context, "encode a frame")
        }
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(context, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
            let frame = packet.pointee.data.frame
            isFresh = false
            noteBuffers(settings)
            lastQuantizer = Int(cvpx_last_quantizer(context))
            let bytes = UnsafeRawBufferPointer(start: frame.buf, count: frame.sz)
            if settings.isKeyframe { entropy = VP8EntropyState() }
            if entropy?.note(bytes) == false { entropy = nil }
            return EncodedFrame(
                bytes: bytes,
                isKeyframe: frame.flags & UInt32(VPX_FRAME_IS_KEY) != 0, quantizer: lastQuantizer,
                layer: settings.isDisposable ? 1 : 0)
        }
        return nil
    }

    private func noteBuffers(_ settings: VP8FrameSettings) {
        if settings.isKeyframe {
            buffersOfLastFrame = Set(ReferenceSlot.allCases)
        } else if !settings.isDisposable {
            buffersOfLastFrame = settings.stored.map { [$0] } ?? []
        } else {
            return
        }
        copies.isLibraryCurrent = true
        copies.isCurrent = false
    }

    /// Before a frame that is made without libvpx.
    /// - Returns: what decoders have then.
    func readLastFrame() throws(CodecFailure) -> VP8EntropyState {
        guard let entropy else { throw CodecFailure(code: -1, message: "libvpx made a frame that cannot be read") }
        guard !copies.isCurrent else { return entropy }
        let read = cvpx_last_frame(context, 0, copies.picture.y, UInt32(columns * 16), UInt32(rows * 16))
        guard read == VPX_CODEC_OK else { throw .vpx(read, context, "read its last frame") }
        copies.isCurrent = true
        return entropy
    }

    private func writeLastFrame() throws(CodecFailure) {
        guard !copies.isLibraryCurrent else { return }
        let written = cvpx_last_frame(context, 1, copies.picture.y, UInt32(columns * 16), UInt32(rows * 16))
        guard written == VPX_CODEC_OK else {
            // The viewers have it already.
            isFresh = true
            throw .vpx(written, context, "replace its last frame")
        }
        copies.isLibraryCurrent = true
    }

    /// Makes a frame that only moves content, and has libvpx go on from what the viewers see after it. Its bytes are
    /// valid until the next call. The frame is stored in `buffersOfLastFrame` too.
    /// - Parameter entropy: what `readLastFrame` has returned.
    func encode(_ frame: VP8CopyFrame, _ entropy: VP8EntropyState) -> UnsafeRawBufferPointer {
        frame.apply(to: copies.picture, scratch: copies.scratch)
        copies.isLibraryCurrent = false
        return copies.keep(frame.encode(version: Self.version, stored: buffersOfLastFrame, entropy: entropy))
    }

    /// Codes some blocks without libvpx, which copies the whole picture for each frame. libvpx goes on from what the
    /// viewers see after it. The bytes are valid until the next call.
    /// - Parameter moved: what a copy frame moves first.
    func update(
        _ input: I420Frame, _ active: BlockMap, quantizer: Int, after moved: VP8CopyFrame? = nil
    ) throws(CodecFailure) -> EncodedFrame {
        precondition(buffersOfLastFrame.isEmpty, "libvpx would change a reference, too")
        let entropy = try readLastFrame()
        moved?.apply(to: copies.picture, scratch: copies.scratch)
        copies.isLibraryCurrent = false
        let settings = VP8UpdateFrame.Settings(
            quantizer: VP8Segments.index(of: quantizer), version: Self.version, entropy: entropy)
        let bytes = update.encode(input, active.blocks, after: moved, onto: copies.picture, settings)
        lastQuantizer = quantizer
        return EncodedFrame(bytes: copies.keep(bytes), isKeyframe: false, quantizer: quantizer)
    }

    private func apply(_ settings: VP8FrameSettings) throws(CodecFailure) {
        if settings.search != search {
            search = settings.search
            _ = cvpx_control(context, Int32(VP8E_SET_CPUUSED.rawValue), search.rawValue)
        }
        let quantizer = UInt32(min(max(settings.quantizer, 0), 63))
        // Without error resilience libvpx overwrites the golden frame on its own (ratectrl.c, calc_pframe_target_size).
        // If it is on when the encoder opens, libvpx also refreshes blocks in turn, through segments (onyx_if.c,
        // vp8_create_compressor).
        let resilience: UInt32 = settings.isKeyframe || settings.refreshesEntropy ? 0 : 1
        guard configuration.rc_min_quantizer != quantizer || configuration.g_error_resilient != resilience else {
            return
        }
        configuration.g_error_resilient = resilience
        configuration.rc_min_quantizer = quantizer
        configuration.rc_max_quantizer = quantizer
        let code = vpx_codec_enc_config_set(context, &configuration)
        guard code == VPX_CODEC_OK else { throw .vpx(code, context, "set the quantizer to \(quantizer)") }
    }

    /// libvpx keeps segments for later frames. Each frame with segments has its own map and quantizers here, so that a
    /// decoder needs no frame of layer 1 for them.
    private func setSegments(_ segments: VP8Segments?, _ quantizer: Int) -> vpx_codec_err_t {
        guard let segments else {
            guard hasSegments else { return VPX_CODEC_OK }
            hasSegments = false
            return cvpx_set_segments(context, nil, UInt32(rows), UInt32(columns), nil)
        }
        precondition(segments.map.count == columns * rows, "a map of another size")
        let differences = segments.quantizers.map { Int32(VP8Segments.difference(from: quantizer, to: $0)) }
        // libvpx turns segments off if none differs.
        hasSegments = differences.contains { $0 != 0 }
        return segments.map.withUnsafeBufferPointer {
            cvpx_set_segments(context, $0.baseAddress, UInt32(rows), UInt32(columns), differences)
        }
    }

    private func setActive(_ active: BlockMap?) -> vpx_codec_err_t {
        let (columns, rows) = (self.columns, self.rows)
        return (active?.blocks ?? all).withUnsafeBufferPointer { blocks in
            // libvpx copies the map and does not change it.
            var map = vpx_active_map_t(
                active_map: UnsafeMutablePointer(mutating: blocks.baseAddress), rows: UInt32(rows),
                cols: UInt32(columns))
            return cvpx_set_active_map(context, &map)
        }
    }
}

extension ReferenceSlot? {
    fileprivate var libraryBuffer: Int32 {
        switch self {
        case nil: 0
        case .golden: 1
        case .alternate: 2
        }
    }
}
