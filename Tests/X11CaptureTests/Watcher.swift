import Foundation
import LinuxRuntime
import MediaCore
import PixelConversion
import Testing

@testable import X11Capture

/// A screen source with its canvas, used as the video thread uses it.
final class Watcher {
    let screen: X11Screen
    private(set) var canvas: I420Buffer
    /// The blocks that the last `update` changed.
    private(set) var changed: BlockMap
    private let converter = YUVConverter()

    /// Reads everything once.
    init(
        _ display: XvfbDisplay, _ source: CaptureSource = .screen, options: CaptureOptions = CaptureOptions(),
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        screen = try X11Screen(
            display: display.name, source: source, options: options, converter: converter, report: report)
        canvas = I420Buffer(screen.size)
        changed = BlockMap(screen.size)
        #expect(try wait() == .damaged)
        try update()
        try settle()
    }

    func wait(milliseconds: Int = 20_000) throws -> ScreenEvent {
        try screen.wait(until: MonotonicClock.now + .milliseconds(milliseconds))
    }

    /// Reads once.
    func update() throws {
        changed.clear()
        _ = try screen.read(into: canvas, changed: &changed)
    }

    /// Reads until blocks change; `changed` covers all of these reads.
    func updateUntilChanged() throws {
        changed.clear()
        while changed.isEmpty {
            let event = try wait()
            try #require(event == .damaged)
            _ = try screen.read(into: canvas, changed: &changed)
        }
    }

    /// Handles the events that remain from the start, such as the first cursor.
    func settle() throws { while try wait(milliseconds: 80) == .damaged { try update() } }

    func adoptSize() {
        canvas = I420Buffer(screen.size)
        changed = BlockMap(screen.size)
    }

    /// The colour of a canvas pixel as 0xRRGGBB.
    func color(x: Int, y: Int) -> UInt32 {
        var pixels: [UInt32] = [0, 0, 0, 0]
        pixels.withUnsafeMutableBytes {
            guard let base = $0.baseAddress else { return }
            converter.convert(
                canvas.frame, rect: PixelRect(x: x & ~1, y: y & ~1, width: 2, height: 2), toBGRA: base, stride: 8)
        }
        return pixels[(y & 1) * 2 + (x & 1)] & 0xffffff
    }

    /// Whether each colour channel is within 6 of the expected value.
    func shows(_ wanted: UInt32, x: Int, y: Int) -> Bool {
        let got = color(x: x, y: y)
        for shift: UInt32 in [0, 8, 16] where abs(Int(got >> shift & 255) - Int(wanted >> shift & 255)) > 6 {
            return false
        }
        return true
    }

    var luma: [UInt8] {
        (0..<canvas.size.height).flatMap { row in
            UnsafeBufferPointer(start: canvas.y + row * canvas.strideY, count: canvas.size.width)
        }
    }
}

func map(_ size: PixelSize, _ rects: PixelRect...) -> BlockMap {
    var map = BlockMap(size)
    for rect in rects { map.insert(rect) }
    return map
}
