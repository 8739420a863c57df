import LinuxRuntime
import MediaCore
import PixelConversion
import Testing

@testable import InAppCapture

/// One app that feeds several consumers.
@Suite struct SeveralScreensTests {
    private static let size = PixelSize(width: 64, height: 48)

    private func surface() throws -> InAppSurface {
        try InAppSurface(name: "Budget", size: Self.size, converter: YUVConverter())
    }

    private func read(_ screen: InAppScreen, _ canvas: I420Buffer) -> Int {
        var changed = BlockMap(canvas.size)
        _ = screen.read(into: canvas, changed: &changed)
        return changed.count
    }

    private func draw(_ level: UInt8, _ surface: InAppSurface, block: PixelRect? = nil) throws {
        try surface.draw(size: Self.size) { pixels, stride in
            let rect = block ?? PixelRect(Self.size)
            for row in rect.y..<rect.maxY {
                (pixels + row * stride + rect.x * 4)
                    .initializeMemory(as: UInt8.self, repeating: level, count: rect.width * 4)
            }
            return [rect]
        }
    }

    @Test func eachScreenHasItsOwnDamage() throws {
        let surface = try surface()
        let (a, b) = (surface.makeScreen(), surface.makeScreen())
        let (canvasA, canvasB) = (I420Buffer(Self.size), I420Buffer(Self.size))
        try draw(100, surface)
        #expect(read(a, canvasA) == 12)
        try draw(200, surface, block: PixelRect(x: 16, y: 0, width: 16, height: 16))
        #expect(read(a, canvasA) == 1)
        #expect(read(a, canvasA) == 0)
        // The other one has read nothing yet, and reads everything as it is now.
        #expect(b.wait(until: .distantFuture) == .damaged)
        #expect(read(b, canvasB) == 12)
        #expect(canvasA.y[16] == canvasB.y[16] && canvasA.y[0] == canvasB.y[0] && canvasA.y[0] != canvasA.y[16])
    }

    @Test func aWakeUpConcernsOneScreen() throws {
        let surface = try surface()
        let (a, b) = (surface.makeScreen(), surface.makeScreen())
        a.wake()
        let begin = MonotonicClock.now
        #expect(b.wait(until: begin + .milliseconds(20)) == .woken)
        #expect(MonotonicClock.now - begin >= .milliseconds(20))
        #expect(a.wait(until: .distantFuture) == .woken)
    }

    @Test func aScreenThatIsMadeLaterReadsTheCurrentFrame() throws {
        let surface = try surface()
        try draw(255, surface)
        let (screen, canvas) = (surface.makeScreen(), I420Buffer(Self.size))
        #expect(screen.wait(until: .distantFuture) == .damaged)
        #expect(read(screen, canvas) == 12)
        #expect(canvas.y[0] > 200)
    }

    @Test func aSuspendedScreenReadsEverythingWhenItContinues() throws {
        let surface = try surface()
        let (screen, canvas) = (surface.makeScreen(), I420Buffer(Self.size))
        screen.resume()
        try draw(50, surface)
        #expect(read(screen, canvas) == 12)
        screen.suspend()
        try draw(255, surface, block: PixelRect(x: 0, y: 0, width: 16, height: 16))
        screen.resume()
        #expect(screen.wait(until: .distantFuture) == .damaged)
        #expect(read(screen, canvas) == 12)
        #expect(canvas.y[0] > 200)
    }

    @Test func theSurfaceIsCapturedWhileAnyScreenIs() throws {
        let surface = try surface()
        let a = surface.makeScreen()
        var b: InAppScreen? = surface.makeScreen()
        a.resume()
        b?.resume()
        a.close()
        #expect(surface.isCaptured)
        b = nil
        #expect(!surface.isCaptured)
        #expect(surface.state.with { $0.readers.isEmpty })
    }

    @Test func nothingIsReadBeforeTheFirstFrame() throws {
        let surface = try surface()
        let screen = surface.makeScreen()
        screen.resume()
        #expect(screen.wait(until: MonotonicClock.now + .milliseconds(20)) == .woken)
        try draw(1, surface)
        #expect(screen.wait(until: .distantFuture) == .damaged)
    }

    @Test func aClosedScreenDoesNotSleep() throws {
        let screen = try surface().makeScreen()
        screen.close()
        #expect(screen.wait(until: .distantFuture) == .woken)
    }
}
