import Glibc
import InAppCapture
import LinuxRuntime
import MediaCore
import PixelConversion

// Measures what an app pays for handing in a frame of 1920 x 1080, while a reader on another thread takes each: the time
// of the call, and the time until the frame is on the canvas, in microseconds.

let size = PixelSize(width: 1_920, height: 1_080)
let frames = 300

/// One way of handing in a frame; the number chooses its contents.
struct Way {
    var name: String
    var submit: (InAppScreen, Int) throws -> Void
}

let memory = [0, 1].map { UnsafeMutableRawPointer.allocate(byteCount: 1_920 * 4 * 1_080 + $0, alignment: 64) }
for (index, pixels) in memory.enumerated() {
    pixels.initializeMemory(as: UInt8.self, repeating: UInt8(40 + index * 120), count: 1_920 * 4 * 1_080)
}
let tenth = PixelRect(x: 320, y: 256, width: 640, height: 320)
let ways = [
    Way(name: "submit, everything changed") { screen, number in
        try screen.submit(memory[number % 2], stride: 1_920 * 4, size: size)
    },
    Way(name: "submit, a tenth changed and named as damage") { screen, number in
        try screen.submit(memory[number % 2], stride: 1_920 * 4, size: size, damage: [tenth])
    },
    Way(name: "submit, nothing changed, no damage named") { screen, _ in
        try screen.submit(memory[0], stride: 1_920 * 4, size: size)
    },
    Way(name: "draw in place, a tenth changed (without the drawing)") { screen, _ in
        try screen.draw(size: size) { _, _ in [tenth] }
    },
]

func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
}

print("| | call p50 us | p95 us | until read p50 us | p95 us |")
print("|---|---|---|---|---|")
for way in ways {
    let screen = try InAppScreen(name: "bench", size: size, converter: YUVConverter())
    let taken = Monitor((count: 0, at: MonotonicClock.now))
    let isOver = Monitor(false)
    let reader = NamedThread("video") {
        let canvas = I420Buffer(size)
        var changed = BlockMap(size)
        while !isOver.with({ $0 }) {
            guard screen.wait(until: MonotonicClock.now + .milliseconds(100)) == .damaged else { continue }
            _ = screen.read(into: canvas, changed: &changed)
            changed.clear()
            let now = MonotonicClock.now
            taken.change { $0 = ($0.count + 1, now) }
        }
    }
    var calls: [Double] = []
    var reads: [Double] = []
    for number in 0..<frames {
        let before = taken.with { $0.count }
        let begin = MonotonicClock.now
        try way.submit(screen, number)
        let end = MonotonicClock.now
        calls.append(Double((end - begin).nanoseconds) / 1_000)
        let read = taken.wait { $0.count > before ? $0.at : nil }
        reads.append(Double((read - begin).nanoseconds) / 1_000)
    }
    isOver.change { $0 = true }
    reader.join()
    let text = [
        percentile(calls, 0.5), percentile(calls, 0.95), percentile(reads, 0.5), percentile(reads, 0.95),
    ].map { "\(Int($0.rounded()))" }.joined(separator: " | ")
    print("| \(way.name) | \(text) |")
}
