import LinuxRuntime
import MediaCore
import PixelConversion
import TestSupport
import Testing

@testable import CameraCapture

/// Tests with a PipeWire of their own: one after the other, as each starts several programs.
@Suite(.serialized, .timeLimit(.minutes(3))) struct CameraTests {}

/// A still screen of one colour, which can be painted.
final class PaintedScreen: ScreenSource, @unchecked Sendable {
    private struct State {
        var size: PixelSize
        var colour: UInt8
        var damage: [PixelRect] = []
        var isForced = true
        var isWoken = false
        var isSuspended = false
    }

    private let state: Monitor<State>
    private(set) var size: PixelSize

    init(_ size: PixelSize, colour: UInt8 = 100) {
        self.size = size
        state = Monitor(State(size: size, colour: colour))
    }

    /// Gives a part another brightness.
    func paint(_ rect: PixelRect, _ colour: UInt8) {
        state.change {
            $0.damage.append(rect)
            $0.colour = colour
        }
    }

    func resize(_ size: PixelSize) { state.change { $0.size = size } }

    var summary: String { "painted" }
    var limitations: [String] { [] }

    func wait(until deadline: MediaInstant?) -> ScreenEvent {
        let event = state.wait(until: deadline ?? .distantFuture) { state -> ScreenEvent? in
            if state.size != size { return .resized(state.size) }
            if state.isForced || !state.damage.isEmpty { return .damaged }
            guard state.isWoken else { return nil }
            state.isWoken = false
            return .woken
        }
        if case .resized(let new) = event { size = new }
        return event ?? .woken
    }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        state.change { state in
            guard canvas.size == state.size else { return }
            if state.isForced {
                changed.fill()
                canvas.y.update(repeating: 100, count: canvas.strideY * canvas.size.height)
                canvas.u.update(repeating: 128, count: canvas.strideC * canvas.size.height / 2)
                canvas.v.update(repeating: 128, count: canvas.strideC * canvas.size.height / 2)
            }
            state.isForced = false
            for rect in state.damage {
                changed.insert(rect)
                for row in rect.y..<rect.maxY {
                    (canvas.y + row * canvas.strideY + rect.x).update(repeating: state.colour, count: rect.width)
                }
            }
            state.damage = []
        }
        return MonotonicClock.now
    }

    func damageEverything() { state.change { $0.isForced = true } }
    func wake() { state.change { $0.isWoken = true } }
    func suspend() { state.change { $0.isSuspended = true } }
    func resume() { state.change { $0.isSuspended = false } }
    func close() {}
}

/// A screen with its canvas, used as the video thread uses it.
final class CameraWatcher {
    let screen: any ScreenSource
    private(set) var canvas: I420Buffer
    /// The blocks that the last reads changed.
    var changed: BlockMap
    private let converter = YUVConverter()

    init(_ screen: any ScreenSource) {
        self.screen = screen
        canvas = I420Buffer(screen.size)
        changed = BlockMap(screen.size)
    }

    deinit { screen.close() }

    /// Waits once, and reads what is there.
    @discardableResult
    func update(milliseconds: Int = 500) throws -> ScreenEvent {
        let event = try screen.wait(until: MonotonicClock.now + .milliseconds(milliseconds))
        switch event {
        case .damaged: _ = try screen.read(into: canvas, changed: &changed)
        case .resized(let size):
            canvas = I420Buffer(size)
            changed = BlockMap(size)
            screen.damageEverything()
            _ = try screen.read(into: canvas, changed: &changed)
        case .woken: break
        }
        return event
    }

    /// Reads until the condition is true, for 20 s at most.
    func update(until isTrue: () -> Bool) throws -> Bool {
        let deadline = MonotonicClock.now + .seconds(20)
        while !isTrue() {
            guard MonotonicClock.now < deadline else { return false }
            try update(milliseconds: 200)
        }
        return true
    }

    /// Reads until the pixel has the colour, for 20 s at most.
    func sees(_ wanted: UInt32, x: Int, y: Int) throws -> Bool { try update { shows(wanted, x: x, y: y) } }

    /// Whether each colour channel of a canvas pixel is within 12 of 0xRRGGBB.
    func shows(_ wanted: UInt32, x: Int, y: Int) -> Bool {
        let got = pixel(x: x, y: y)
        return [UInt32(0), 8, 16].allSatisfy { abs(Int(got >> $0 & 255) - Int(wanted >> $0 & 255)) <= 12 }
    }

    /// 0xRRGGBB.
    func pixel(x: Int, y: Int) -> UInt32 {
        guard x < canvas.size.width, y < canvas.size.height else { return 0 }
        var pixels: [UInt32] = [0, 0, 0, 0]
        pixels.withUnsafeMutableBytes {
            guard let base = $0.baseAddress else { return }
            converter.convert(
                canvas.frame, rect: PixelRect(x: x & ~1, y: y & ~1, width: 2, height: 2), toBGRA: base, stride: 8)
        }
        return pixels[(y & 1) * 2 + (x & 1)] & 0xffffff
    }
}

extension CameraSearch {
    /// The cameras of a bed alone.
    init(_ bed: CameraBed) {
        self.init()
        socket = bed.socket
        devices = "/nonexistent"
    }
}

extension CameraFeed {
    /// - Parameter reports: what the user is told.
    convenience init(
        _ bed: CameraBed, _ choice: Choice = Choice(), settings: Settings = Settings(), isWhole: Bool = false,
        reports: Monitor<[String]> = Monitor([])
    ) throws {
        try self.init(
            choice, settings: settings, isWhole: isWhole, search: CameraSearch(bed), converter: YUVConverter(),
            report: { news in reports.change { $0.append(news.sentence) } })
    }
}
