import MediaCore
import VPXCodec

/// The encoder's strategies for viewers of different speed: one layer at the slowest's rate, two layers, two encodings.
enum ViewersCase: String, CaseIterable {
    case alone = "one viewer"
    case slowest = "one layer for both"
    case layers = "two layers"
    case encodings = "two encodings"
}

/// A queue that empties at its rate, like the pacer in front of the network.
private struct Line {
    let rate: Bitrate
    var waiting = 0.0
    var frames = 0
    var bytes = 0

    init(_ rate: Bitrate) { self.rate = rate }

    var isCongested: Bool { waiting > Double(rate.bitsPerSecond) / 8 * 0.02 }

    mutating func take(_ count: Int) {
        waiting += Double(count)
        frames += 1
        bytes += count
    }

    mutating func pass(_ seconds: Double) { waiting = max(0, waiting - Double(rate.bitsPerSecond) / 8 * seconds) }
}

/// Runs a scene for two viewers in virtual time and prints a row.
func runViewers(
    _ scene: Scene, _ which: ViewersCase, frames: Int, fast: Bitrate, slow: Bitrate
) throws(CodecFailure) {
    let screen = Screen(page: page)
    let main = VP8Encoder()
    let low = VP8Encoder()
    var (fastLine, slowLine) = (Line(fast), Line(slow))
    var owed = [BlockMap(Screen.size, filled: true), BlockMap(Screen.size, filled: true)]
    let rate = which == .slowest ? slow : fast
    var now = MediaInstant(nanoseconds: 1_000_000_000)
    var spent = 0.0
    var made = [0, 0, 0]
    // The first ten seconds contain the first frame and its refinement.
    let lead = 300
    for index in 0..<(lead + frames) {
        now = now + .microseconds(33_333)
        fastLine.pass(1.0 / 30)
        slowLine.pass(1.0 / 30)
        if index == lead { (spent, made, fastLine, slowLine) = (0, [0, 0, 0], Line(fast), Line(slow)) }
        if index >= lead {
            let changed = screen.step(scene)
            owed[0].formUnion(changed)
            owed[1].formUnion(changed)
        }
        let start = cpuMilliseconds()
        let isAlone = which == .alone || which == .encodings
        if !(isAlone ? fastLine.isCongested : which == .slowest && slowLine.isCongested) {
            let layering =
                which == .layers
                ? VideoEncodeRequest.Layering(baseBitrate: slow, isBaseBlocked: slowLine.isCongested) : nil
            let request = VideoEncodeRequest(
                bitrate: rate, isRefinement: owed[0].isEmpty, byteBudget: rate.bitsPerSecond / 32, layering: layering)
            if let frame = try main.encode(screen.canvas, changed: owed[0], at: now, request) {
                owed[0].clear()
                made[Int(frame.layer)] += 1
                fastLine.take(frame.bytes.count)
                if frame.layer == 0, !isAlone { slowLine.take(frame.bytes.count) }
            }
        }
        if which == .encodings, !slowLine.isCongested {
            let request = VideoEncodeRequest(
                bitrate: slow, isRefinement: owed[1].isEmpty, byteBudget: slow.bitsPerSecond / 32)
            if let frame = try low.encode(screen.canvas, changed: owed[1], at: now, request) {
                owed[1].clear()
                made[2] += 1
                slowLine.take(frame.bytes.count)
            }
        }
        spent += cpuMilliseconds() - start
    }
    let seconds = Double(frames) / 30
    let columns = [
        scene.rawValue, which.rawValue, fixed(spent / seconds, 0),
        fixed(Double(fastLine.frames) / seconds, 1), fixed(Double(fastLine.bytes) * 8 / 1_000 / seconds, 0),
        which == .alone ? "" : fixed(Double(slowLine.frames) / seconds, 1),
        which == .alone ? "" : fixed(Double(slowLine.bytes) * 8 / 1_000 / seconds, 0),
        made.map { fixed(Double($0) / seconds, 1) }.joined(separator: " / "),
    ]
    print("| " + columns.joined(separator: " | ") + " |")
}

/// Prints a table of all cases.
func compareViewers(frames: Int, fast: Bitrate, slow: Bitrate) throws(CodecFailure) {
    print(
        "| scene | how | encoder ms/s | fast frames/s | kbit/s | slow frames/s | kbit/s | base / layer 1 / low, a second |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for scene in [Scene.stamp, .typing, .terminal, .video] {
        for which in ViewersCase.allCases { try runViewers(scene, which, frames: frames, fast: fast, slow: slow) }
    }
}
