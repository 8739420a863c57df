// Measures encoding and decoding of a 1920 x 1080 screen: CPU milliseconds a frame, bytes, and sharpness.
// usage: codec-bench [FRAMES [KBIT [SCENE|all [PAGE]]]]
// A page is a binary PGM or PPM of 1920 x 8192, such as a browser's screen shot of a long text.
//        codec-bench without-copies ...                               the same without copy frames
//        codec-bench copies [FRAMES [KBIT [all [PAGE]]]]              copy frames beside libvpx alone, equally sharp; a page
//                                                                     with lines of 19 pixels
//        codec-bench viewers [FRAMES [KBIT [SLOW-KBIT]]]             what two viewers of different speed cost
import Glibc
import MediaCore
import VPXCodec

let comparesViewers = CommandLine.arguments.count > 1 && CommandLine.arguments[1] == "viewers"
let comparesCopies = CommandLine.arguments.count > 1 && CommandLine.arguments[1] == "copies"
let usesCopyFrames = !CommandLine.arguments.contains("without-copies")
let arguments = CommandLine.arguments.filter { !["viewers", "copies", "without-copies"].contains($0) }
let frames = arguments.count > 1 ? Int(arguments[1]) ?? 150 : 150
let kilobits = arguments.count > 2 ? Int(arguments[2]) ?? 6_000 : 6_000
let scenes =
    !comparesViewers && arguments.count > 3 && arguments[3] != "all"
    ? Scene.allCases.filter { $0.rawValue == arguments[3] } : Scene.allCases
let page = !comparesViewers && arguments.count > 4 ? Page(file: arguments[4]) : nil

/// CPU time of the process in milliseconds.
func cpuMilliseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
}

/// Returns the PSNR of luma in decibels.
func psnr(_ a: I420Frame, _ b: I420Frame) -> Double {
    var sum = 0
    for row in 0..<a.size.height {
        let lineA = a.y + row * a.strideY
        let lineB = b.y + row * b.strideY
        for column in 0..<a.size.width {
            let difference = Int(lineA[column]) - Int(lineB[column])
            sum += difference * difference
        }
    }
    return sum == 0 ? 99 : 10 * log10(255 * 255 * Double(a.size.width * a.size.height) / Double(sum))
}

func fixed(_ value: Double, _ digits: Int = 2) -> String {
    let scale = pow(10, Double(digits))
    let rounded = Int((value * scale).rounded())
    guard digits > 0 else { return "\(rounded)" }
    let fraction = "\(abs(rounded) % Int(scale))"
    return "\(rounded / Int(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
}

extension [Double] {
    func percentile(_ share: Double) -> Double {
        isEmpty ? 0 : sorted()[Swift.min(Int(Double(count) * share), count - 1)]
    }
}

struct Run {
    let encoder = VP8Encoder()
    let decoder = VP8Decoder()
    let screen = Screen(page: page)
    let bitrate: Bitrate
    var now = MediaInstant(nanoseconds: 1_000_000_000)

    init(bitrate: Bitrate) {
        self.bitrate = bitrate
        encoder.usesCopyFrames = usesCopyFrames
    }

    struct Sample {
        var encode = 0.0
        var decode = 0.0
        var bytes = 0
        var quantizer = 0
        var psnr: Double?
        /// The bytes of what followed a copy frame at once.
        var rest: Int?
    }

    /// Encodes a frame and what follows it at once, and advances by 1/30 s; returns nil if it was dropped.
    mutating func frame(_ changed: BlockMap, isRefinement: Bool = false, measures: Bool = false) throws(CodecFailure)
        -> Sample?
    {
        now = now + .microseconds(32_333)
        guard var sample = try one(changed, isRefinement: isRefinement, measures: measures) else { return nil }
        now = now + .milliseconds(1)
        guard encoder.continuesAtOnce,
            let rest = try one(BlockMap(Screen.size), isRefinement: true, measures: measures)
        else { return sample }
        sample.encode += rest.encode
        sample.decode += rest.decode
        sample.bytes += rest.bytes
        sample.quantizer = rest.quantizer
        sample.psnr = rest.psnr
        sample.rest = rest.bytes
        return sample
    }

    private mutating func one(_ changed: BlockMap, isRefinement: Bool, measures: Bool) throws(CodecFailure) -> Sample? {
        let request = VideoEncodeRequest(
            bitrate: bitrate, isRefinement: isRefinement, byteBudget: bitrate.bitsPerSecond / 32)
        let start = cpuMilliseconds()
        let frame = try encoder.encode(screen.canvas, changed: changed, at: now, request)
        let middle = cpuMilliseconds()
        guard let frame else { return nil }
        let picture = try decoder.decode(frame.bytes)
        var sample = Sample(
            encode: middle - start, decode: cpuMilliseconds() - middle, bytes: frame.bytes.count,
            quantizer: frame.quantizer)
        if measures, let picture { sample.psnr = psnr(picture, screen.canvas.frame) }
        return sample
    }
}

func run(_ scene: Scene, frames: Int, bitrate: Bitrate) throws(CodecFailure) {
    var run = Run(bitrate: bitrate)
    guard let key = try run.frame(BlockMap(Screen.size, filled: true), measures: true) else { return }
    var steps = 0
    var refining = 0.0
    var refiningBytes = 0
    var elapsed = 0
    var refined = key.psnr ?? 0
    while run.encoder.unrefined != nil, elapsed < 1_000 {
        elapsed += 1
        guard let sample = try run.frame(BlockMap(Screen.size), isRefinement: true, measures: true) else { continue }
        steps += 1
        refining += sample.encode
        refiningBytes += sample.bytes
        refined = sample.psnr ?? refined
    }
    var samples: [Run.Sample] = []
    var owed = BlockMap(Screen.size)
    for index in 0..<frames {
        owed.formUnion(run.screen.step(scene))
        guard let sample = try run.frame(owed, measures: index % 25 == 24) else { continue }
        owed.clear()
        samples.append(sample)
    }
    let count = Double(max(samples.count, 1))
    let sharpness = samples.compactMap(\.psnr)
    let columns = [
        scene.rawValue,
        "\(samples.count)",
        fixed(samples.map(\.encode).percentile(0.5)),
        fixed(samples.map(\.encode).percentile(0.95)),
        fixed(samples.map(\.decode).percentile(0.5)),
        fixed(Double(samples.reduce(0) { $0 + $1.bytes }) / count, 0),
        fixed(Double(samples.reduce(0) { $0 + $1.quantizer }) / count, 1),
        fixed(sharpness.reduce(0, +) / Double(max(sharpness.count, 1)), 1),
        "\(fixed(key.encode, 1)) ms \(key.bytes) B q\(key.quantizer) \(fixed(key.psnr ?? 0, 1)) dB",
        "\(steps) x \(fixed(refining / Double(max(steps, 1)), 1)) ms \(refiningBytes) B in \(elapsed * 33) ms \(fixed(refined, 1)) dB",
    ]
    print("| " + columns.joined(separator: " | ") + " |")
}

if comparesViewers {
    let slow = arguments.count > 3 ? Int(arguments[3]) ?? 2_000 : 2_000
    do throws(CodecFailure) {
        try compareViewers(frames: frames, fast: .kilobits(kilobits), slow: .kilobits(slow))
    } catch {
        print("codec-bench: \(error.message)")
        exit(1)
    }
    exit(0)
}
if comparesCopies {
    do throws(CodecFailure) {
        try compareCopies(frames: frames, bitrate: .kilobits(kilobits))
    } catch {
        print("codec-bench: \(error.message)")
        exit(1)
    }
    exit(0)
}
print("| scene | frames | encode p50 ms | p95 | decode p50 ms | bytes | q | dB | key frame | refinement |")
print("|---|---|---|---|---|---|---|---|---|---|")
for scene in scenes {
    do throws(CodecFailure) {
        try run(scene, frames: frames, bitrate: .kilobits(kilobits))
    } catch {
        print("codec-bench: \(error.message)")
        exit(1)
    }
}
