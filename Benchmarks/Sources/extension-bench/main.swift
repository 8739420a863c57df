import ExtensionChannel
import Foundation
import Glibc
import LinuxRuntime
import MediaCore

// Measures what 60 frames a second of 1920 x 1080 cost that go to the program of an extension, which is this program
// with the argument `program`: the time from the call until the program has the frame, and the CPU time of both
// processes.

let size = PixelSize(width: 1_920, height: 1_080)
let frames = 600

func processorTime(of who: __rusage_who_t) -> Double {
    var usage = rusage()
    getrusage(who, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
}

/// Receives frames, and prints what they cost.
func runProgram() {
    guard let host = ProgramConnection.inherited() else { exit(64) }
    var ages: [Double] = []
    var sum = 0
    _ = host.run { event in
        switch event {
        case .started: host.send(.ready(ExtensionReadiness(media: .raw)))
        case .sample(let sample):
            ages.append(Double(MonotonicClock.now.nanoseconds - sample.description.time) / 1e6)
            // An upload program at least looks at each block.
            for index in stride(from: 0, to: sample.bytes.count, by: 4_096) { sum &+= Int(sample.bytes[index]) }
        default: break
        }
    }
    let text = String(
        format: "| frames received | %d of %d |\n| age p50 | %.2f ms |\n| age p95 | %.2f ms |\n| program | %.1f %% of a core |\n",
        ages.count, frames, percentile(ages, 0.5), percentile(ages, 0.95),
        processorTime(of: RUSAGE_SELF.rawValue) / (Double(frames) / 60) * 100)
    FileHandle.standardError.write(Data(text.utf8))
    exit(sum >= 0 ? 0 : 1)
}

func runHost() throws {
    let state = Monitor((hasBegun: false, end: ExtensionEnd?.none))
    let process = try ExtensionProcess(.init(path: "/proc/self/exe", arguments: ["program"])) { event in
        switch event {
        case .began: state.change { $0.hasBegun = true }
        case .ended(let end): state.change { $0.end = end }
        case .message: break
        }
    }
    try process.start(
        ExtensionStart(application: .init(id: "bench", name: "bench"), setup: [:], memoryBudget: 50_000_000))
    guard state.wait(until: MonotonicClock.now + .seconds(10), { $0.hasBegun ? true : nil }) != nil else {
        return print("the program did not start")
    }
    let canvas = I420Buffer(size)
    let luma = canvas.strideY * size.height
    let chroma = canvas.strideC * size.height / 2
    let begin = MonotonicClock.now
    let spent = processorTime(of: RUSAGE_SELF.rawValue)
    var taken = 0
    for number in 0..<frames {
        _ = state.wait(until: begin + .microseconds(number * 1_000_000 / 60)) { $0.end }
        let isTaken = process.send(
            .video, byteCount: luma + 2 * chroma,
            format: .i420(
                width: size.width, height: size.height, strideY: canvas.strideY, strideC: canvas.strideC),
            time: MonotonicClock.now
        ) { bytes in
            guard let base = bytes.baseAddress else { return }
            base.copyMemory(from: canvas.y, byteCount: luma)
            (base + luma).copyMemory(from: canvas.u, byteCount: chroma)
            (base + luma + chroma).copyMemory(from: canvas.v, byteCount: chroma)
        }
        if isTaken { taken += 1 }
    }
    let cost = (processorTime(of: RUSAGE_SELF.rawValue) - spent) / (Double(frames) / 60) * 100
    process.finish()
    _ = state.wait(until: MonotonicClock.now + .seconds(10)) { $0.end }
    print(String(format: "| host | %.1f %% of a core |\n| frames sent | %d of %d |", cost, taken, frames))
}

if CommandLine.arguments.dropFirst().first == "program" {
    runProgram()
} else {
    try runHost()
}
