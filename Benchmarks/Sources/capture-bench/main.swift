import Glibc
import InAppCapture
import LinuxRuntime
import MediaCore
import PixelConversion

// Measures what an app pays for handing in a frame of 1920 x 1080, while a reader on another thread takes each: the
// time of the call, and the time until the frame is on the canvas, in microseconds.
//
//     capture-bench [CONSUMERS]

let size = PixelSize(width: 1_920, height: 1_080)
let frames = 300

/// One way of handing in a frame; the number chooses its contents.
struct Way {
    var name: String
    var submit: (InAppSurface, Int) throws -> Void
}

let memory = [0, 1].map { UnsafeMutableRawPointer.allocate(byteCount: 1_920 * 4 * 1_080 + $0, alignment: 64) }
for (index, pixels) in memory.enumerated() {
    pixels.initializeMemory(as: UInt8.self, repeating: UInt8(40 + index * 120), count: 1_920 * 4 * 1_080)
}
let planes = [0, 1].map { index in
    let buffer = I420Buffer(size)
    buffer.y.update(repeating: UInt8(40 + index * 120), count: buffer.strideY * size.height)
    return buffer
}
let frameBytes = 1_920 * 4 * 1_080
let shared = try makeShared()

/// Two frames in sealed memory, as an app's window has them.
@MainActor func makeShared() throws -> MappedMemory {
    typealias Create = @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> CInt
    guard let symbol = dlsym(nil, "memfd_create") else { throw InAppFrameFailure.descriptor(ENOSYS) }
    // MFD_CLOEXEC | MFD_ALLOW_SEALING, then F_ADD_SEALS with F_SEAL_SHRINK.
    let descriptor = unsafeBitCast(symbol, to: Create.self)("window", 3)
    for pixels in memory { write(descriptor, pixels, frameBytes) }
    _ = fcntl(descriptor, 1_033, 2)
    defer { close(descriptor) }
    return try MappedMemory(descriptor: descriptor)
}
let tenth = PixelRect(x: 320, y: 256, width: 640, height: 320)
let ways = [
    Way(name: "submit, everything changed") { surface, number in
        try surface.submit(memory[number % 2], stride: 1_920 * 4, size: size)
    },
    Way(name: "submit, a tenth changed and named as damage") { surface, number in
        try surface.submit(memory[number % 2], stride: 1_920 * 4, size: size, damage: [tenth])
    },
    Way(name: "submit, nothing changed, no damage named") { surface, _ in
        try surface.submit(memory[0], stride: 1_920 * 4, size: size)
    },
    Way(name: "draw in place, a tenth changed (without the drawing)") { surface, _ in
        try surface.draw(size: size) { _, _ in [tenth] }
    },
    Way(name: "submit planes, everything changed") { surface, number in
        let frame = planes[number % 2].frame
        try surface.submit(frame)
    },
    Way(name: "submit shared memory, everything changed (without the drawing)") { surface, number in
        try surface.submit(shared, offset: number % 2 * frameBytes, stride: 1_920 * 4, size: size)
    },
    Way(name: "submit shared memory, a tenth changed and named as damage") { surface, number in
        try surface.submit(shared, offset: number % 2 * frameBytes, stride: 1_920 * 4, size: size, damage: [tenth])
    },
]

func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
}

// The number of consumers that read each frame; the last one is measured.
let consumers = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1

print("| | call p50 us | p95 us | until read p50 us | p95 us |")
print("|---|---|---|---|---|")
for way in ways {
    let surface = try InAppSurface(name: "bench", size: size, converter: YUVConverter())
    let taken = Monitor((count: 0, at: MonotonicClock.now))
    let isOver = Monitor(false)
    let readers = (1...max(consumers, 1)).map { number in
        let screen = surface.makeScreen()
        return NamedThread("video") {
            let canvas = I420Buffer(size)
            var changed = BlockMap(size)
            while !isOver.with({ $0 }) {
                guard screen.wait(until: MonotonicClock.now + .milliseconds(100)) == .damaged else { continue }
                _ = screen.read(into: canvas, changed: &changed)
                changed.clear()
                let now = MonotonicClock.now
                if number == consumers { taken.change { $0 = ($0.count + 1, now) } }
            }
        }
    }
    var calls: [Double] = []
    var reads: [Double] = []
    for number in 0..<frames {
        let before = taken.with { $0.count }
        let begin = MonotonicClock.now
        try way.submit(surface, number)
        let end = MonotonicClock.now
        calls.append(Double((end - begin).nanoseconds) / 1_000)
        let read = taken.wait { $0.count > before ? $0.at : nil }
        reads.append(Double((read - begin).nanoseconds) / 1_000)
    }
    isOver.change { $0 = true }
    for reader in readers { reader.join() }
    let text = [
        percentile(calls, 0.5), percentile(calls, 0.95), percentile(reads, 0.5), percentile(reads, 0.95),
    ].map { "\(Int($0.rounded()))" }.joined(separator: " | ")
    print("| \(way.name) | \(text) |")
}
