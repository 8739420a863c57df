import LinuxRuntime
import MediaCore
import PixelConversion
import Testing

@testable import InAppCapture

/// Frames that an app hands in, as the video thread reads them.
@Suite struct InAppScreenTests {
    private static let size = PixelSize(width: 64, height: 48)

    private func surface(_ size: PixelSize = Self.size) throws -> InAppSurface {
        try InAppSurface(name: "Budget", size: size, converter: YUVConverter())
    }

    /// A frame of one grey level, with `stride` bytes a row.
    private func frame(_ level: UInt8, _ size: PixelSize = Self.size, stride: Int? = nil) -> [UInt8] {
        [UInt8](repeating: level, count: (stride ?? size.width * 4) * size.height)
    }

    private func read(_ screen: InAppScreen, _ canvas: I420Buffer) -> BlockMap {
        var changed = BlockMap(canvas.size)
        _ = screen.read(into: canvas, changed: &changed)
        return changed
    }

    private func luma(_ canvas: I420Buffer, x: Int, y: Int) -> UInt8 { canvas.y[y * canvas.strideY + x] }

    @Test func onlyBlocksThatDifferAreChanged() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        try frame(0).withUnsafeBytes {
            try surface.submit(try #require($0.baseAddress), stride: 256, size: Self.size)
        }
        #expect(screen.wait(until: .distantFuture) == .damaged)
        #expect(read(screen, canvas).count == 12)
        var pixels = frame(0)
        // One white pixel in the second block of the third row, and damage everywhere.
        for byte in 0..<4 { pixels[40 * 256 + 20 * 4 + byte] = 255 }
        try pixels.withUnsafeBytes { try surface.submit(try #require($0.baseAddress), stride: 256, size: Self.size) }
        #expect(screen.wait(until: .distantFuture) == .damaged)
        let changed = read(screen, canvas)
        #expect(changed.count == 1 && changed.blocks[2 * 4 + 1] == 1)
        #expect(luma(canvas, x: 20, y: 40) > 200 && luma(canvas, x: 22, y: 40) < 20)
    }

    @Test func damageLimitsWhatIsTaken() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        _ = read(screen, canvas)
        try frame(255).withUnsafeBytes {
            try surface.submit(
                try #require($0.baseAddress), stride: 256, size: Self.size,
                damage: [PixelRect(x: 16, y: 16, width: 16, height: 16), PixelRect(x: -5, y: 999, width: 3, height: 3)])
        }
        let changed = read(screen, canvas)
        #expect(changed.count == 1 && changed.blocks[1 * 4 + 1] == 1)
        #expect(luma(canvas, x: 16, y: 16) > 200 && luma(canvas, x: 0, y: 0) < 20)
    }

    @Test func framesDrawnInPlaceAreRead() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        _ = read(screen, canvas)
        try surface.draw(size: Self.size) { pixels, stride in
            for row in 0..<16 { (pixels + row * stride).initializeMemory(as: UInt8.self, repeating: 255, count: 64) }
            return [PixelRect(x: 0, y: 0, width: 16, height: 16)]
        }
        #expect(read(screen, canvas).count == 1)
        #expect(luma(canvas, x: 15, y: 15) > 200)
    }

    /// The stride, the size and their parity change between frames.
    @Test func anotherSizeAndStrideAreAdopted() throws {
        let surface = try surface()
        let screen = surface.makeScreen()
        _ = read(screen, I420Buffer(Self.size))
        let odd = PixelSize(width: 101, height: 33)
        try frame(255, odd, stride: 500).withUnsafeBytes {
            try surface.submit(try #require($0.baseAddress), stride: 500, size: odd)
        }
        // A canvas of the old size is left alone.
        #expect(read(screen, I420Buffer(Self.size)).isEmpty)
        #expect(screen.wait(until: .distantFuture) == .resized(PixelSize(width: 100, height: 32)))
        let canvas = I420Buffer(screen.size)
        screen.damageEverything()
        #expect(screen.size == PixelSize(width: 100, height: 32))
        #expect(read(screen, canvas).count == 14)
        #expect(luma(canvas, x: 99, y: 31) > 200)
    }

    @Test(arguments: [
        PixelSize(width: 0, height: 10), PixelSize(width: 1, height: 1), PixelSize(width: 9_000, height: 2),
    ])
    func impossibleSizesAreRefused(_ size: PixelSize) throws {
        let surface = try surface()
        try frame(0).withUnsafeBytes { bytes in
            let base = try #require(bytes.baseAddress)
            #expect(throws: InAppFrameFailure.size(size)) { try surface.submit(base, stride: 1 << 20, size: size) }
            #expect(throws: InAppFrameFailure.stride(255)) { try surface.submit(base, stride: 255, size: Self.size) }
        }
        #expect(throws: InAppFrameFailure.size(size)) { try surface.draw(size: size) { _, _ in nil } }
    }

    @Test func anAppThatDrawsNothingCausesNoWakeUp() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        _ = read(screen, canvas)
        let begin = MonotonicClock.now
        #expect(screen.wait(until: begin + .milliseconds(30)) == .woken)
        #expect(MonotonicClock.now - begin >= .milliseconds(30))
        screen.wake()
        #expect(screen.wait(until: .distantFuture) == .woken)
    }

    @Test func theAppIsToldWhetherItIsCaptured() throws {
        let surface = try surface()
        let screen = surface.makeScreen()
        let told = Monitor<[Bool]>([])
        surface.onCapture { [weak surface] in
            guard let surface else { return }
            let isCaptured = surface.isCaptured
            told.change { $0.append(isCaptured) }
        }
        #expect(!surface.isCaptured)
        screen.resume()
        #expect(surface.isCaptured)
        screen.suspend()
        screen.resume()
        screen.close()
        #expect(!surface.isCaptured)
        #expect(told.with { $0 } == [true, false, true, false])
    }

    /// While one thread submits frames of one level each, a reader sees no level that was never submitted.
    @Test func framesThatArriveWhileOneIsReadAreReadNext() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        let thread = NamedThread("app") {
            for level in 1...200 {
                let pixels = [UInt8](repeating: UInt8(level), count: 64 * 48 * 4)
                pixels.withUnsafeBytes { bytes in
                    guard let base = bytes.baseAddress else { return }
                    try? surface.submit(base, stride: 256, size: Self.size)
                }
            }
        }
        while screen.wait(until: MonotonicClock.now + .seconds(20)) == .damaged {
            _ = read(screen, canvas)
            // The last level is 200 of 255, in limited range 188.
            if luma(canvas, x: 0, y: 0) >= 187, luma(canvas, x: 63, y: 47) >= 187 { break }
        }
        thread.join()
        #expect(luma(canvas, x: 0, y: 0) >= 187 && luma(canvas, x: 63, y: 47) >= 187)
    }
}
