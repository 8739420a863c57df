import CVPX
import Glibc
import MediaCore
import VPXCodec

/// Motion of the whole screen, or of a window of 800 x 600.
private enum Motion: Sendable {
    case scroll(Int)
    case drag(x: Int, y: Int)

    /// One pixel, then lines of text: 1, 2, 5 and 17.
    static var all: [Motion] {
        let height = page == nil ? Screen.lineHeight : 19
        return [.scroll(1)] + [1, 2, 5, 17].map { .scroll($0 * height) } + [.drag(x: 60, y: 40)]
    }

    var name: String {
        switch self {
        case .scroll(let pixels): "scroll by \(pixels)"
        case .drag(let x, let y): "drag by \(x), \(y)"
        }
    }

    func step(_ screen: Screen, _ index: Int) -> BlockMap {
        switch self {
        case .scroll(let pixels): return screen.scroll(pixels: pixels)
        case .drag(let x, let y):
            // Back and forth within the screen.
            let place = abs(index % 18 - 9)
            return screen.drag(to: PixelRect(x: 100 + place * x, y: 60 + place * y, width: 800, height: 600))
        }
    }
}

/// libvpx alone, as the project sets it, with a quantizer that stays.
private struct PlainEncoder {
    private let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
    private let quantizer: Int
    private var count: Int64 = 0

    init(quantizer: Int) throws(CodecFailure) {
        self.quantizer = quantizer
        context.initialize(to: vpx_codec_ctx_t())
        var settings = vpx_codec_enc_cfg_t()
        vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &settings, 0)
        (settings.g_w, settings.g_h) = (UInt32(Screen.size.width), UInt32(Screen.size.height))
        (settings.g_threads, settings.g_profile) = (1, 2)
        settings.g_timebase = vpx_rational_t(num: 1, den: 1_000)
        settings.g_lag_in_frames = 0
        settings.kf_mode = VPX_KF_DISABLED
        settings.rc_end_usage = VPX_VBR
        settings.rc_target_bitrate = 20_000
        settings.rc_dropframe_thresh = 0
        (settings.rc_min_quantizer, settings.rc_max_quantizer) = (UInt32(quantizer), UInt32(quantizer))
        guard cvpx_open_encoder(context, &settings) == VPX_CODEC_OK else {
            throw CodecFailure(code: -1, message: "libvpx cannot be opened")
        }
        for (control, value) in [
            (VP8E_SET_CPUUSED, -4), (VP8E_SET_SCREEN_CONTENT_MODE, 1), (VP8E_SET_STATIC_THRESHOLD, 0),
            (VP8E_SET_NOISE_SENSITIVITY, 0), (VP8E_SET_TOKEN_PARTITIONS, 0), (VP8E_SET_ENABLEAUTOALTREF, 0),
        ] { _ = cvpx_control(context, Int32(control.rawValue), Int32(value)) }
    }

    /// - Returns: the frame, valid until the next call.
    mutating func encode(_ canvas: I420Buffer, _ changed: BlockMap) throws(CodecFailure) -> UnsafeRawBufferPointer {
        let size = Screen.size
        changed.blocks.withUnsafeBufferPointer { blocks in
            var map = vpx_active_map_t(
                active_map: UnsafeMutablePointer(mutating: blocks.baseAddress), rows: UInt32((size.height + 15) / 16),
                cols: UInt32((size.width + 15) / 16))
            _ = cvpx_set_active_map(context, &map)
        }
        var image = vpx_image_t()
        vpx_img_wrap(&image, VPX_IMG_FMT_I420, UInt32(size.width), UInt32(size.height), 1, canvas.y)
        (image.planes.0, image.planes.1, image.planes.2) = (canvas.y, canvas.u, canvas.v)
        image.stride = (Int32(canvas.strideY), Int32(canvas.strideC), Int32(canvas.strideC), 0)
        let flags = count == 0 ? vpx_enc_frame_flags_t(VPX_EFLAG_FORCE_KF) : cvpx_inter_flags(0, 0, 1)
        count += 1
        guard vpx_codec_encode(context, &image, count * 33, 33, flags, UInt(VPX_DL_REALTIME)) == VPX_CODEC_OK else {
            throw CodecFailure(code: -1, message: "libvpx encodes nothing")
        }
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(context, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
            return UnsafeRawBufferPointer(start: packet.pointee.data.frame.buf, count: packet.pointee.data.frame.sz)
        }
        throw CodecFailure(code: -1, message: "libvpx has dropped a frame")
    }

    func close() {
        vpx_codec_destroy(context)
        context.deallocate()
    }
}

/// What a motion takes: the mean bytes of a frame, and the mean sharpness.
private struct Cost {
    var bytes = 0.0
    var decibels = 0.0
}

/// libvpx alone.
private func plain(_ motion: Motion, quantizer: Int, frames: Int) throws(CodecFailure) -> Cost {
    let screen = Screen(page: page)
    var encoder = try PlainEncoder(quantizer: quantizer)
    let decoder = VP8Decoder()
    defer { encoder.close() }
    _ = try decoder.decode(try encoder.encode(screen.canvas, BlockMap(Screen.size, filled: true)))
    _ = try decoder.decode(try encoder.encode(screen.canvas, motion.step(screen, 0)))
    var cost = Cost()
    for index in 1...frames {
        let frame = try encoder.encode(screen.canvas, motion.step(screen, index))
        cost.bytes += Double(frame.count) / Double(frames)
        guard let picture = try decoder.decode(frame) else { continue }
        cost.decibels += psnr(picture, screen.canvas.frame) / Double(frames)
    }
    return cost
}

/// What libvpx needs for the new part of a scroll alone, at a quantizer: a still screen whose last rows are new.
private func strip(_ rows: Int, quantizer: Int, frames: Int) throws(CodecFailure) -> Double {
    let screen = Screen(page: page)
    var encoder = try PlainEncoder(quantizer: quantizer)
    defer { encoder.close() }
    _ = try encoder.encode(screen.canvas, BlockMap(Screen.size, filled: true))
    var bytes = 0.0
    for _ in 0..<frames { bytes += Double(try encoder.encode(screen.canvas, screen.renew(lastRows: rows)).count) }
    return bytes / Double(frames)
}

/// Compares copy frames with libvpx alone, at the sharpness that they have, and their rest with the new part alone.
func compareCopies(frames: Int, bitrate: Bitrate) throws(CodecFailure) {
    let columns = [
        "motion", "with copy frames: bytes", "dB", "copy frame", "its rest", "q", "new rows alone at that q",
        "libvpx alone at that dB", "factor",
    ]
    print("| " + columns.joined(separator: " | ") + " |")
    print("|" + columns.map { _ in "---|" }.joined())
    for motion in Motion.all {
        var run = Run(bitrate: bitrate)
        _ = try run.frame(BlockMap(Screen.size, filled: true))
        for _ in 0..<200 where run.encoder.unrefined != nil {
            _ = try run.frame(BlockMap(Screen.size), isRefinement: true)
        }
        // The first change after a key frame is never a copy frame.
        _ = try run.frame(motion.step(run.screen, 0))
        var own = Cost()
        var taken = 0
        var (copies, copyBytes, restBytes, quantizers) = (0, 0, 0, 0)
        for index in 1...frames {
            let changed = motion.step(run.screen, index)
            guard let sample = try run.frame(changed, measures: true), let sharpness = sample.psnr else { continue }
            taken += 1
            own.bytes += Double(sample.bytes)
            own.decibels += sharpness
            quantizers += sample.quantizer
            guard let rest = sample.rest else { continue }
            (copies, copyBytes, restBytes) = (copies + 1, copyBytes + sample.bytes - rest, restBytes + rest)
        }
        own.bytes /= Double(max(taken, 1))
        own.decibels /= Double(max(taken, 1))
        let quantizer = quantizers / max(taken, 1)
        var alone = ""
        if case .scroll(let rows) = motion {
            alone = fixed(try strip(rows, quantizer: quantizer, frames: frames), 0)
        }
        // None where both are one frame.
        let parts = copies > 0 ? "\(copyBytes / copies) (\(copies)) | \(restBytes / copies)" : " | "
        let (bytes, isReached) = try plainBytes(motion, at: own.decibels, frames: frames)
        print(
            "| \(motion.name) | \(fixed(own.bytes, 0)) (\(taken) frames) | \(fixed(own.decibels, 1)) | \(parts) "
                + "| \(quantizer) | \(alone) | \(isReached ? "" : "over ")\(fixed(bytes, 0)) "
                + "| \(isReached ? "" : "over ")\(fixed(bytes / max(own.bytes, 1), 1)) |")
    }
}

/// The bytes of libvpx alone at a sharpness, between those of two quantizers.
/// - Returns: also whether it can be that sharp at all.
private func plainBytes(
    _ motion: Motion, at decibels: Double, frames: Int
) throws(CodecFailure) -> (bytes: Double, isReached: Bool) {
    var sharper: Cost?
    for quantizer in [0, 4, 8, 12, 16, 20, 26, 32, 40, 50, 63] {
        let cost = try plain(motion, quantizer: quantizer, frames: frames)
        if cost.decibels <= decibels {
            guard let sharper else { return (cost.bytes, false) }
            let share = (decibels - cost.decibels) / max(sharper.decibels - cost.decibels, 0.001)
            return (exp(log(cost.bytes) + share * (log(sharper.bytes) - log(cost.bytes))), true)
        }
        sharper = cost
    }
    // Sharper even at the coarsest.
    return (sharper?.bytes ?? 0, true)
}
