import Glibc
import LinuxRuntime
import MediaCore
import PixelConversion
import Testing

@testable import InAppCapture

/// Apps that draw on several threads, or in another process, while consumers read.
@Suite struct ConcurrentFramesTests {
    private static let size = PixelSize(width: 64, height: 48)
    private static let frameBytes = 64 * 4 * 48

    private func surface() throws -> InAppSurface {
        try InAppSurface(name: "Budget", size: Self.size, converter: YUVConverter())
    }

    /// Reads until the canvas shows one level everywhere; 30 s at most.
    private static func reads(_ level: UInt8, _ screen: InAppScreen) -> Bool {
        var canvas = I420Buffer(screen.size)
        var changed = BlockMap(screen.size)
        let deadline = MonotonicClock.now + .seconds(30)
        while MonotonicClock.now < deadline {
            switch screen.wait(until: deadline) {
            case .resized(let size):
                canvas = I420Buffer(size)
                changed = BlockMap(size)
            case .damaged: break
            case .woken: continue
            }
            _ = screen.read(into: canvas, changed: &changed)
            guard canvas.size == size else { continue }
            let isShown = (0..<size.height).allSatisfy { row in
                (0..<size.width).allSatisfy { canvas.y[row * canvas.strideY + $0] == level }
            }
            if isShown { return true }
        }
        return false
    }

    /// Draws another frame between the comparison and the conversion, once.
    private struct DrawingConverter: PixelConverter {
        let converter = YUVConverter()
        let draw: Monitor<(@Sendable () -> Void)?>

        func convert(bgra: UnsafeRawPointer, stride: Int, to rect: PixelRect, of canvas: I420Buffer) {
            let draw = draw.with { draw in
                defer { draw = nil }
                return draw
            }
            draw?()
            converter.convert(bgra: bgra, stride: stride, to: rect, of: canvas)
        }

        func convert(_ frame: I420Frame, rect: PixelRect, toBGRA bgra: UnsafeMutableRawPointer, stride: Int) {
            converter.convert(frame, rect: rect, toBGRA: bgra, stride: stride)
        }

        func scale(_ frame: I420Frame, to canvas: I420Buffer) { converter.scale(frame, to: canvas) }
    }

    /// White, black while the white is converted, and white again: the canvas does not keep the black.
    @Test func whatIsDrawnDuringTheConversionIsNotTakenForTheFrame() throws {
        let size = PixelSize(width: 16, height: 16)
        let file = try MemoryFile(byteCount: 1_024, isSealed: true)
        let draw = Monitor<(@Sendable () -> Void)?>(nil)
        let surface = try InAppSurface(name: "Budget", size: size, converter: DrawingConverter(draw: draw))
        let memory = try MappedMemory(descriptor: file.descriptor)
        let (screen, canvas) = (surface.makeScreen(), I420Buffer(size))
        var changed = BlockMap(size)
        let descriptor = file.descriptor
        draw.with { draw in
            draw = { _ = pwrite(descriptor, [UInt8](repeating: 0, count: 1_024), 1_024, 0) }
        }
        try file.fill(255, offset: 0, count: 1_024)
        try surface.submit(memory, offset: 0, stride: 64, size: size)
        _ = screen.read(into: canvas, changed: &changed)
        try file.fill(255, offset: 0, count: 1_024)
        try surface.submit(memory, offset: 0, stride: 64, size: size)
        _ = screen.read(into: canvas, changed: &changed)
        #expect(canvas.y[0] == 235)
        withExtendedLifetime(file) {}
    }

    @Test func memoryThatIsDrawnWhileItIsReadEndsUpRight() throws {
        let file = try MemoryFile(byteCount: Self.frameBytes, isSealed: true)
        let memory = try MappedMemory(descriptor: file.descriptor)
        let surface = try surface()
        let screen = surface.makeScreen()
        let isRead = Monitor<Bool?>(nil)
        let reader = NamedThread("reader") {
            let found = Self.reads(110, screen)
            isRead.change { $0 = found }
        }
        for round in 0..<500 {
            try file.fill(round % 2 == 0 ? 0 : 255, offset: 0, count: Self.frameBytes)
            try surface.submit(memory, offset: 0, stride: 256, size: Self.size)
        }
        // 110 of luma is 109 of 255 grey.
        try file.fill(109, offset: 0, count: Self.frameBytes)
        try surface.submit(memory, offset: 0, stride: 256, size: Self.size)
        reader.join()
        #expect(isRead.with { $0 } == true)
    }

    @Test func framesOfAllFormsAndSizesFromSeveralThreadsLeaveTheLastOne() throws {
        let file = try MemoryFile(byteCount: 2 * Self.frameBytes, isSealed: true)
        let memory = try MappedMemory(descriptor: file.descriptor)
        let surface = try surface()
        let screens = (0..<2).map { _ in surface.makeScreen() }
        let found = Monitor(0)
        let readers = screens.map { screen in
            NamedThread("reader") {
                if Self.reads(77, screen) { found.change { $0 += 1 } }
            }
        }
        let apps = (0..<3).map { form in
            NamedThread("app") {
                for round in 0..<200 {
                    let size = PixelSize(width: 64 - round % 3 * 16 - round % 2, height: 48 - round % 5)
                    switch form {
                    case 0: try? surface.draw(size: size) { _, _ in round % 7 == 0 ? nil : [PixelRect(size)] }
                    case 1: try? surface.submit(memory, offset: round, stride: 256, size: size)
                    default:
                        let planes = I420Buffer(Self.size)
                        try? surface.submit(planes.frame, damage: [PixelRect(x: 8, y: 8, width: round % 40, height: 9)])
                    }
                }
            }
        }
        for app in apps { app.join() }
        let last = I420Buffer(Self.size)
        last.y.update(repeating: 77, count: last.strideY * 48)
        try surface.submit(last.frame)
        for reader in readers { reader.join() }
        #expect(found.with { $0 } == 2)
    }
}
