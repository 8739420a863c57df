import Foundation
import LinuxRuntime
import Matroska
import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing
import VideoBitstream
import WebMContainer

@testable import Recording

/// Video that ffmpeg encodes and packetizes goes through the receiver into a file, which ffmpeg decodes.
@Suite struct ForeignCodecTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Two seconds in two groups, 322 x 182 pixels: the size in macroblocks is another one.
    private static let picture = [
        "-v", "error", "-f", "lavfi", "-i", "testsrc=size=322x182:rate=10:duration=2", "-threads", "1", "-g", "10",
        "-pix_fmt", "yuv420p",
    ]

    private struct Case {
        var codec: VideoCodec
        var encoder: [String]
        /// For the encoded stream itself.
        var format: String
        var isWebM: Bool
    }

    private static let cases = [
        Case(
            codec: .vp9, encoder: ["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"], format: "ivf", isWebM: true
        ),
        Case(codec: .h264, encoder: ["libx264", "-bf", "0", "-preset", "ultrafast"], format: "h264", isWebM: false),
        Case(
            codec: .h265, encoder: ["libx265", "-bf", "0", "-preset", "ultrafast", "-x265-params", "log-level=error"],
            format: "hevc", isWebM: false),
    ]

    private func run(_ name: String, _ arguments: [String]) async throws -> String {
        let program = try Program(name, arguments)
        let status = await program.exitCode()
        #expect(status == 0, "\(arguments): \(program.text.errors)")
        return program.text.output
    }

    /// The checksums of the decoded pictures.
    private func pictures(of path: String) async throws -> [Substring] {
        try await run("ffmpeg", ["-v", "error", "-i", path, "-map", "0:v", "-f", "framemd5", "-"]).split(
            separator: "\n"
        )
        .filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
    }

    /// What a session's receiver makes of the packets.
    private func record(_ packets: [[UInt8]], _ codec: VideoCodec, to recorder: Recorder) throws {
        let receiver = MediaReceiver(
            ReceiverParameters(
                video: VideoStreamParameters(ssrc: 0, codec: codec, payloadType: 96, mid: "0"), audio: [],
                extensions: [:], cname: "r", localSSRC: 9, usesTransportFeedback: false), seed: 1,
            ntpEpoch: NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0), now: MonotonicClock.now)
        try recorder.start(EncodedMediaFormat(video: codec, audio: [])) { _ in }
        var buffer = [UInt8](repeating: 0, count: 1_500)
        for packet in packets {
            packet.withUnsafeBytes {
                guard PacketKind(of: $0) == .rtp else { return }
                receiver.handleRTP($0, now: MonotonicClock.now)
            }
            buffer.withUnsafeMutableBytes { buffer in
                while true {
                    switch receiver.poll(now: MonotonicClock.now, into: buffer) {
                    case .frame(let bytes, let frame):
                        recorder.receive(
                            EncodedVideoFrame(
                                bytes: bytes, codec: frame.codec, isKeyframe: frame.isKeyframe, size: frame.size,
                                layer: frame.layer, rtpTimestamp: frame.timestamp.rawValue))
                    case .wait: return
                    default: break
                    }
                }
            }
        }
        #expect(receiver.statistics.drops.total == 0)
        #expect(receiver.statistics.video.keyframes == 2)
    }

    private func close(_ recorder: Recorder) async {
        await withCheckedContinuation { continuation in recorder.close { continuation.resume() } }
    }

    @Test(arguments: cases.indices) func aForeignCodecIsRecordedAsItWasSent(_ index: Int) async throws {
        let sample = Self.cases[index]
        let receiver = try DatagramReceiver()
        _ = try await run(
            "ffmpeg",
            Self.picture + ["-c:v"] + sample.encoder + [
                "-strict", "experimental", "-f", "rtp",
                "rtp://127.0.0.1:\(receiver.port)?rtcpport=\(receiver.port)&pkt_size=1200",
            ])
        let direct = folder.file("direct." + sample.format)
        _ = try await run("ffmpeg", Self.picture + ["-c:v"] + sample.encoder + ["-f", sample.format, direct])
        let events = Monitor<[RecordingEvent]>([])
        let recorder = try Recorder(
            to: .file(folder.file("a.webm")), emit: { event in events.change { $0.append(event) } })
        try record(receiver.takeAll(), sample.codec, to: recorder)
        await close(recorder)
        let path = try #require(
            events.with { events in
                events.compactMap { if case .finished(let file) = $0 { file.path } else { nil } }.first
            })
        #expect(path.hasSuffix(sample.isWebM ? "/a.webm" : "/a.mkv"))
        let expected = try await pictures(of: direct)
        #expect(expected.count == 20)
        #expect(try await pictures(of: path) == expected)
        let described = try await run(
            "ffprobe",
            ["-v", "error", "-show_entries", "stream=codec_name,width,height", "-of", "csv=p=0", path])
        let name = sample.codec == .h265 ? "hevc" : sample.codec.rawValue.lowercased()
        #expect(described == "\(name),322,182\n")
        // A part of it can be cut without encoding.
        let blocks = try MatroskaFile(RecordedFileSource(path)).blocks
        let second = try #require(blocks.last { $0.isKeyframe })
        let part = try RecordingEditor.trim(
            path, from: .milliseconds(Int(second.time)), to: nil, isExact: false,
            destination: .file(folder.file("part.mkv")))
        #expect(try await pictures(of: part.path) == Array(expected[10...]))
    }

    /// The sets that a file's header has; a damaged header has those that are whole.
    @Test(arguments: [1, 2]) func aRecordGivesItsParameterSetsBack(_ index: Int) async throws {
        let sample = Self.cases[index]
        let direct = folder.file("direct." + sample.format)
        _ = try await run("ffmpeg", Self.picture + ["-c:v"] + sample.encoder + ["-f", sample.format, direct])
        let stream = [UInt8](try Data(contentsOf: URL(fileURLWithPath: direct)))
        let record = try #require(
            stream.withUnsafeBytes { DecoderConfiguration(sample.codec, keyframe: $0)?.record })
        var sets: [UInt8: [UInt8]] = [:]
        stream.withUnsafeBytes { stream in
            NALUnits.forEach(in: stream) { unit in
                let type = sample.codec == .h265 ? unit[0] >> 1 & 0x3F : unit[0] & 0x1F
                sets[type, default: []] += [0, 0, UInt8(unit.count >> 8), UInt8(unit.count & 0xFF)] + Array(unit)
            }
        }
        let types: [UInt8] = sample.codec == .h265 ? [32, 33, 34] : [7, 8]
        let expected = types.flatMap { sets[$0] ?? [] }
        #expect(DecoderConfiguration.parameterSets(of: record, sample.codec) == expected)
        #expect(DecoderConfiguration.parameterSets(of: record, .vp8).isEmpty)
        var lengths: Set<Int> = []
        for length in 0..<record.count {
            let sets = DecoderConfiguration.parameterSets(of: Array(record.prefix(length)), sample.codec)
            #expect(expected.starts(with: sets), "\(length)")
            lengths.insert(sets.count)
        }
        // The sets come one by one, and never a part of one. Two key frames have them.
        #expect(lengths.count >= types.count * 2)
    }
}
