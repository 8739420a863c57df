import CommandSupport
import FoundationEssentials
import Glibc
import MediaCore
import Recording

/// ffmpeg decodes and encodes what `share` itself does not.
enum FFmpeg {
    /// Nil if it is not installed.
    static var path: String? { ExecutablePath.find("ffmpeg") }
    /// What to do if it is not installed.
    static let remedy = "Install it: apt install ffmpeg."

    /// - Throws: if it is not installed.
    private static func path(for purpose: String) throws(RecordingFailure) -> String {
        guard let path else { throw RecordingFailure("\(purpose) needs ffmpeg", remedy: remedy) }
        return path
    }

    /// Encodes the beginning of an exact part.
    static let encoder = GroupEncoder { group, time throws(RecordingFailure) in
        let program = try path(for: "a part of \(group.codec.rawValue) video that begins between key frames")
        let failure = RecordingFailure("ffmpeg cannot encode \(group.codec.rawValue) video")
        guard let encoding = encodings[group.codec] else { throw failure }
        return try withFolder { folder throws(RecordingFailure) in
            try group.write(to: folder + "/group.mkv")
            let start = Double(time - (group.frames.first?.time ?? 0)) / 1_000
            // Half a millisecond earlier, as times are decimal fractions. Time stamps stay as they are.
            let arguments =
                ["-i", "file:\(folder)/group.mkv", "-an", "-vf", "trim=start=\(max(start - 0.0005, 0))"]
                + ["-fps_mode", "passthrough", "-enc_time_base", "-1"] + encoding
                + ["file:\(folder)/head.mkv"]
            guard try run(program, arguments), let head = try? FrameGroup(reading: folder + "/head.mkv") else {
                throw failure
            }
            return head
        }
    }

    /// The options of each encoder: without frames that come out of order, and with parameter sets in the frames.
    private static let encodings: [VideoCodec: [String]] = [
        .vp8: ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "4", "-crf", "8", "-b:v", "20M"],
        .vp9: [
            "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "6", "-lag-in-frames", "0", "-crf", "18",
            "-b:v", "0",
        ],
        .av1: [
            "-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-lag-in-frames", "0", "-crf", "20",
            "-b:v", "0",
        ],
        .h264: ["-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-crf", "15", "-bsf:v", "dump_extra"],
        .h265: [
            "-c:v", "libx265", "-preset", "veryfast", "-bf", "0", "-crf", "17", "-x265-params", "log-level=error",
            "-bsf:v", "dump_extra",
        ],
    ]

    /// Decodes a group.
    /// - Returns: its last picture in a size, which has even sides; nil if it cannot be decoded.
    /// - Throws: if ffmpeg is not installed.
    static func lastPicture(of group: FrameGroup, size: PixelSize) throws(RecordingFailure) -> I420Buffer? {
        let program = try path(for: "a picture of \(group.codec.rawValue) video")
        return try withFolder { folder throws(RecordingFailure) in
            try group.write(to: folder + "/group.mkv")
            let filter =
                "select=eq(n\\,\(group.frames.count - 1))," + conversion(of: group.colorSpace)
                + "scale=\(size.width):\(size.height)"
            guard
                try run(
                    program,
                    [
                        "-i", "file:\(folder)/group.mkv", "-an", "-vf", filter, "-fps_mode", "passthrough", "-pix_fmt",
                        "yuv420p", "-f", "rawvideo", "file:\(folder)/picture",
                    ]), let bytes = FileManager.default.contents(atPath: folder + "/picture"),
                bytes.count == size.width * size.height * 3 / 2
            else { return nil }
            return I420Buffer(size, planes: [UInt8](bytes))
        }
    }

    /// Filters that convert pictures to BT.601 in limited range, before others: ffmpeg does not heed what the file says
    /// of the colours of VP8 and VP9. Empty if it says nothing.
    static func conversion(of space: ColorSpace?) -> String {
        guard let space else { return "" }
        var options = ["out_range=limited", "out_color_matrix=bt601"]
        switch space.range {
        case .full: options.append("in_range=full")
        case .limited: options.append("in_range=limited")
        case .derived, .unspecified: break
        }
        switch space.matrix {
        case 1: options.append("in_color_matrix=bt709")
        case 5, 6: options.append("in_color_matrix=bt601")
        case 7: options.append("in_color_matrix=smpte240m")
        case 9, 10: options.append("in_color_matrix=bt2020")
        default: break
        }
        guard options.count > 2 else { return "" }
        return "scale=\(options.joined(separator: ":")),setparams=range=limited:colorspace=smpte170m,"
    }

    private static func run(_ program: String, _ arguments: [String]) throws(RecordingFailure) -> Bool {
        do throws(CommandError) {
            return try ForegroundProgram.runBeside(
                program, ["-nostdin", "-v", "error", "-n"] + arguments, memory: ForegroundProgram.foreignFileMemory)
                == 0
        } catch {
            throw RecordingFailure(error.sentence, remedy: error.remedy)
        }
    }

    /// Runs `body` with a new folder, which is removed afterwards.
    private static func withFolder<R>(
        _ body: (String) throws(RecordingFailure) -> R
    ) throws(RecordingFailure) -> R {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("share-\(UUID().uuidString)").path
        guard mkdir(folder, 0o700) == 0 else {
            throw RecordingFailure("no folder for temporary files: \(String(cString: strerror(errno)))")
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }
}

extension I420Buffer {
    /// - Parameter planes: Y, U and V without padding.
    fileprivate convenience init(_ size: PixelSize, planes: [UInt8]) {
        self.init(size)
        let (width, height) = (size.width, size.height)
        planes.withUnsafeBufferPointer { planes in
            guard var next = planes.baseAddress else { return }
            func copy(to plane: UnsafeMutablePointer<UInt8>, stride: Int, width: Int, rows: Int) {
                for row in 0..<rows {
                    (plane + row * stride).update(from: next, count: width)
                    next += width
                }
            }
            copy(to: y, stride: strideY, width: width, rows: height)
            copy(to: u, stride: strideC, width: width / 2, rows: height / 2)
            copy(to: v, stride: strideC, width: width / 2, rows: height / 2)
        }
    }
}
