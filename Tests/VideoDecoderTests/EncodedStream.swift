import Foundation
import MediaCore
import TestSupport
import Testing
import VideoBitstream

/// What ffmpeg's encoders make of a test picture, one frame a packet, and what ffmpeg decodes of it.
struct EncodedStream {
    let codec: VideoCodec
    let size: PixelSize
    /// As a session's receiver gives them.
    let frames: [[UInt8]]
    /// The decoded pictures, each Y, U and V without padding, as 8-bit 4:2:0.
    let pictures: [[UInt8]]

    static let encoders: [VideoCodec: [String]] = [
        .vp9: ["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"],
        // In four slices, as encoders with several threads make them.
        .h264: ["libx264", "-bf", "0", "-preset", "veryfast", "-tune", "zerolatency", "-slices", "4"],
        .h265: [
            "libx265", "-bf", "0", "-preset", "ultrafast", "-tune", "zerolatency", "-x265-params", "log-level=error",
        ],
        .av1: ["libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"],
    ]

    /// Encodes frames in groups of ten.
    /// - Parameter format: ffmpeg's name of the pixel format.
    init(
        _ codec: VideoCodec, picture: String = "testsrc", width: Int = 322, height: Int = 182, count: Int = 20,
        format: String = "yuv420p", more: [String] = []
    ) async throws {
        self.codec = codec
        size = PixelSize(width: width, height: height)
        let folder = try TemporaryFolder()
        let container = codec == .h264 ? "h264" : codec == .h265 ? "hevc" : "ivf"
        let file = folder.file("stream.\(container)")
        let raw = folder.file("pictures.yuv")
        try await Self.ffmpeg(
            [
                "-f", "lavfi", "-i", "\(picture)=size=\(width)x\(height):rate=10", "-frames:v", "\(count)", "-threads",
                "1",
                "-g", "10",
                "-pix_fmt", format,
            ] + more + ["-c:v"] + (Self.encoders[codec] ?? [])
                + (codec.hasNALUnits ? ["-bsf:v", Self.delimiters(codec)] : [])
                + ["-f", container, file])
        try await Self.ffmpeg(["-i", file, "-f", "rawvideo", "-pix_fmt", "yuv420p", raw])
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        frames = codec.hasNALUnits ? Self.accessUnits(bytes, codec) : Self.ivfFrames(bytes)
        let decoded = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)))
        let length = width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
        pictures = stride(from: 0, to: decoded.count - length + 1, by: length).map {
            Array(decoded[$0..<($0 + length)])
        }
    }

    static func ffmpeg(_ arguments: [String]) async throws {
        let program = try Program("ffmpeg", ["-v", "error", "-nostdin", "-y"] + arguments)
        let status = await program.exitCode()
        guard status == 0 else { throw Program.Failure("ffmpeg \(arguments): \(program.text.errors)") }
    }

    private static func delimiters(_ codec: VideoCodec) -> String {
        codec == .h264 ? "h264_metadata=aud=insert" : "hevc_metadata=aud=insert"
    }

    /// Splits a byte stream in front of its access unit delimiters.
    private static func accessUnits(_ stream: [UInt8], _ codec: VideoCodec) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        stream.withUnsafeBytes { stream in
            NALUnits.forEach(in: stream) { unit in
                let isDelimiter = codec == .h264 ? unit[0] & 0x1F == 9 : unit[0] >> 1 == 35
                if isDelimiter { frames.append([]) }
                guard !frames.isEmpty else { return }
                frames[frames.count - 1] += [0, 0, 0, 1] + Array(unit)
            }
        }
        return frames
    }

    private static func ivfFrames(_ file: [UInt8]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var position = 32
        while position + 12 <= file.count {
            let length = (0..<4).reduce(0) { $0 | Int(file[position + $1]) << (8 * $1) }
            position += 12
            guard length <= file.count - position else { break }
            frames.append(Array(file[position..<(position + length)]))
            position += length
        }
        return frames
    }
}

extension I420Frame {
    /// Y, U and V without padding.
    var planes: [UInt8] {
        var result: [UInt8] = []
        func append(_ plane: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) {
            for row in 0..<height { result += UnsafeBufferPointer(start: plane + row * stride, count: width) }
        }
        append(y, strideY, size.width, size.height)
        append(u, strideC, (size.width + 1) / 2, (size.height + 1) / 2)
        append(v, strideC, (size.width + 1) / 2, (size.height + 1) / 2)
        return result
    }
}
