import Foundation

/// How far the sound of a recorded test source (`share host --source test`) is from its picture: the counter in the
/// picture and the beeps of the tone tell the sender's clock. Needs ffmpeg.
public struct RecordedOffsets: Sendable {
    /// Of each beep, in ms: positive if the sound is later than the picture.
    public var milliseconds: [Double]

    public var median: Double { milliseconds.sorted()[milliseconds.count / 2] }
    /// The one that is farthest from 0.
    public var worst: Double { milliseconds.max { abs($0) < abs($1) } ?? 0 }

    private static let rate = 48_000.0

    /// - Parameters:
    ///   - begin: seconds from the recording's beginning.
    ///   - seconds: of the part that is looked at.
    ///   - framesPerSecond: of the test source.
    ///   - width: of the picture.
    /// - Throws: if the part has no frame or no beep.
    public init(of path: String, from begin: Double, seconds: Double, width: Int, framesPerSecond: Double) throws {
        let folder = try TemporaryFolder()
        let side = width < 736 ? 16 : 32
        let left = (width - 18 * side) / 2 & ~15
        // Each cell of the counter becomes one pixel.
        let cells = "crop=\(18 * side):\(side):\(left):16,scale=18:1:flags=area,format=gray"
        let program = try Program(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-ss", "\(begin)", "-t", "\(seconds)", "-i", path,
                "-map", "0:v", "-vf", cells, "-fps_mode", "passthrough", "-f", "rawvideo", folder.file("video"),
                "-map", "0:v", "-vf", cells, "-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-f", "framecrc",
                folder.file("times"),
                "-map", "0:a:0", "-af", "aresample=async=1:min_hard_comp=0.01:first_pts=0", "-ac", "1", "-ar", "48000",
                "-f", "s16le", folder.file("audio"),
            ])
        guard program.exitCode(seconds: 120) == 0 else { throw Program.Failure(program.text.errors) }
        let picture = try Self.picture(folder, framesPerSecond, begin)
        let sound = Self.beeps(try Data(contentsOf: URL(fileURLWithPath: folder.file("audio"))))
        milliseconds = sound.compactMap { beep in
            // The frames beside the beep say where whole seconds are.
            let near = picture.filter { abs($0.time - beep) < 2 }.map(\.phase)
            guard let reference = near.first else { return nil }
            let deviations = near.map { Self.wrapped($0 - reference) }.sorted()
            let phase = reference + deviations[deviations.count / 2]
            return Self.wrapped(beep - phase) * 1_000
        }
        guard !milliseconds.isEmpty else { throw Program.Failure("no beep beside a frame in \(path) at \(begin) s") }
    }

    /// To -0.5...0.5.
    private static func wrapped(_ seconds: Double) -> Double { seconds - seconds.rounded() }

    /// For each frame its time, and where the sender's last whole second was, in seconds modulo 1.
    private static func picture(
        _ folder: TemporaryFolder, _ framesPerSecond: Double, _ begin: Double
    ) throws -> [(time: Double, phase: Double)] {
        let rows = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("video"))))
        let times = try String(contentsOfFile: folder.file("times"), encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.compactMap { line -> Double? in
                let fields = line.split(separator: ",")
                return fields.count > 2 ? Double(fields[2].trimmingCharacters(in: .whitespaces)) : nil
            }
        guard rows.count == times.count * 18 else {
            throw Program.Failure("\(rows.count / 18) frames with \(times.count) times")
        }
        return times.indices.compactMap { index in
            let cells = rows[(index * 18)..<(index * 18 + 18)].map { $0 > 128 }
            guard cells[0], !cells[1] else { return nil }
            let counter = Double(cells[2...].reduce(0) { $0 << 1 | ($1 ? 1 : 0) })
            let time = times[index] / 1_000
            // The counter has 16 bits, and begins shortly before the recording.
            let turns = (((begin + time) * framesPerSecond - counter) / 65_536).rounded()
            return (time, time - (counter + turns * 65_536) / framesPerSecond)
        }
    }

    /// Where the tone of the beep begins, in seconds.
    private static func beeps(_ audio: Data) -> [Double] {
        audio.withUnsafeBytes { raw in
            let samples = raw.bindMemory(to: Int16.self)
            var result: [Double] = []
            var quietSince = 0
            for (index, sample) in samples.enumerated() where abs(Int(sample)) > 6_000 {
                // A beep lasts 0.1 s and comes after 0.9 s; the start of the part may be within one.
                if index - quietSince > Int(rate / 2) { result.append(Double(index) / rate) }
                quietSince = index
            }
            return result
        }
    }
}
