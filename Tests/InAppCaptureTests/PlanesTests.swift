import MediaCore
import PixelConversion
import Testing

@testable import InAppCapture

/// Frames of I420 planes.
@Suite struct PlanesTests {
    /// Planes of an app, with strides of its own.
    private final class Planes {
        let size: PixelSize
        var y: [UInt8]
        var u: [UInt8]
        var v: [UInt8]
        let (strideY, strideC): (Int, Int)

        init(_ size: PixelSize, _ luma: UInt8, _ chroma: UInt8, padding: Int = 0) {
            self.size = size
            strideY = size.width + padding
            strideC = (size.width + 1) / 2 + padding
            y = [UInt8](repeating: luma, count: strideY * size.height)
            u = [UInt8](repeating: chroma, count: strideC * ((size.height + 1) / 2))
            v = [UInt8](repeating: chroma &+ 1, count: strideC * ((size.height + 1) / 2))
        }

        func submit(to surface: InAppSurface, damage: [PixelRect]? = nil) throws {
            try y.withUnsafeBufferPointer { y in
                try u.withUnsafeBufferPointer { u in
                    try v.withUnsafeBufferPointer { v in
                        let frame = I420Frame(
                            size: size, y: try #require(y.baseAddress), u: try #require(u.baseAddress),
                            v: try #require(v.baseAddress), strideY: strideY, strideC: strideC)
                        try surface.submit(frame, damage: damage)
                    }
                }
            }
        }
    }

    private static let size = PixelSize(width: 40, height: 24)

    private func surface() throws -> InAppSurface {
        try InAppSurface(name: "Budget", size: Self.size, converter: YUVConverter())
    }

    private func read(_ screen: InAppScreen, _ canvas: I420Buffer) -> BlockMap {
        var changed = BlockMap(canvas.size)
        _ = screen.read(into: canvas, changed: &changed)
        return changed
    }

    @Test(arguments: [0, 24]) func planesAreReadAsTheyAre(padding: Int) throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        let planes = Planes(Self.size, 77, 200, padding: padding)
        planes.y[23 * planes.strideY + 39] = 5
        planes.u[11 * planes.strideC + 19] = 6
        planes.v[0] = 7
        try planes.submit(to: surface)
        #expect(screen.wait(until: .distantFuture) == .damaged)
        #expect(read(screen, canvas).count == 6)
        #expect(canvas.y[0] == 77 && canvas.y[23 * canvas.strideY + 39] == 5)
        #expect(canvas.u[0] == 200 && canvas.u[11 * canvas.strideC + 19] == 6)
        #expect(canvas.v[0] == 7 && canvas.v[1] == 201)
    }

    /// A change of one sample of any plane is found in its block, and only there.
    @Test func onlyBlocksThatDifferAreChanged() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        let planes = Planes(Self.size, 77, 128)
        try planes.submit(to: surface)
        _ = read(screen, canvas)
        try planes.submit(to: surface)
        #expect(read(screen, canvas).isEmpty)
        planes.y[20 * planes.strideY + 17] = 1
        try planes.submit(to: surface)
        #expect(read(screen, canvas).blocks == [0, 0, 0, 0, 1, 0])
        planes.u[3] = 1
        try planes.submit(to: surface)
        #expect(read(screen, canvas).blocks == [1, 0, 0, 0, 0, 0])
        // The last column is 8 samples wide, 4 of chroma.
        planes.v[9 * planes.strideC + 19] = 1
        planes.v[0] = 9
        try planes.submit(to: surface)
        #expect(read(screen, canvas).blocks == [1, 0, 0, 0, 0, 1])
        #expect(canvas.v[9 * canvas.strideC + 19] == 1 && canvas.v[0] == 9)
    }

    @Test func damageLimitsWhatIsTaken() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        try Planes(Self.size, 10, 10).submit(to: surface)
        _ = read(screen, canvas)
        // Odd numbers, and one rectangle outside.
        try Planes(Self.size, 99, 98).submit(
            to: surface,
            damage: [PixelRect(x: 17, y: 1, width: 3, height: 3), PixelRect(x: 90, y: -4, width: 3, height: 9)])
        #expect(read(screen, canvas).blocks == [0, 1, 0, 0, 0, 0])
        #expect(canvas.y[1 * canvas.strideY + 17] == 99 && canvas.y[1 * canvas.strideY + 16] == 10)
        #expect(canvas.u[8] == 98 && canvas.u[canvas.strideC + 9] == 98 && canvas.u[7] == 10)
    }

    /// BGRA, planes and BGRA again, of one size: nothing of the form before remains.
    @Test func theFormMayChangeBetweenFrames() throws {
        let (surface, canvas) = (try surface(), I420Buffer(Self.size))
        let screen = surface.makeScreen()
        let white = [UInt8](repeating: 255, count: 40 * 4 * 24)
        func submitWhite(damage: [PixelRect]?) throws {
            try white.withUnsafeBytes {
                try surface.submit(try #require($0.baseAddress), stride: 160, size: Self.size, damage: damage)
            }
        }
        try submitWhite(damage: nil)
        #expect(read(screen, canvas).count == 6)
        #expect(canvas.y[0] > 230)
        try Planes(Self.size, 50, 60).submit(to: surface, damage: [])
        #expect(screen.wait(until: .distantFuture) == .damaged)
        #expect(read(screen, canvas).count == 6)
        #expect(canvas.y[0] == 50 && canvas.u[5] == 60)
        try submitWhite(damage: [])
        #expect(read(screen, canvas).count == 6)
        #expect(canvas.y[0] > 230 && canvas.y[23 * canvas.strideY + 39] > 230)
    }

    @Test func oddSidesAreCutByAPixel() throws {
        let surface = try surface()
        let screen = surface.makeScreen()
        try Planes(PixelSize(width: 33, height: 17), 80, 90).submit(to: surface)
        #expect(screen.wait(until: .distantFuture) == .resized(PixelSize(width: 32, height: 16)))
        let canvas = I420Buffer(screen.size)
        #expect(read(screen, canvas).count == 2)
        #expect(canvas.y[15 * canvas.strideY + 31] == 80 && canvas.v[7 * canvas.strideC + 15] == 91)
    }

    @Test func impossiblePlanesAreRefused() throws {
        let surface = try surface()
        let samples = [UInt8](repeating: 0, count: 64)
        try samples.withUnsafeBufferPointer { samples in
            let base = try #require(samples.baseAddress)
            func submit(_ size: PixelSize, _ strideY: Int, _ strideC: Int) throws {
                try surface.submit(
                    I420Frame(size: size, y: base, u: base, v: base, strideY: strideY, strideC: strideC))
            }
            let small = PixelSize(width: 5, height: 2)
            #expect(throws: InAppFrameFailure.stride(4)) { try submit(small, 4, 3) }
            #expect(throws: InAppFrameFailure.stride(2)) { try submit(small, 5, 2) }
            #expect(throws: InAppFrameFailure.stride(-8)) { try submit(small, -8, 3) }
            let flat = PixelSize(width: 64, height: 1)
            #expect(throws: InAppFrameFailure.size(flat)) { try submit(flat, 64, 32) }
            try submit(small, 5, 3)
        }
    }
}
