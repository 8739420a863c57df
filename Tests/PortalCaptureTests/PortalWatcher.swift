import BusSupport
import LinuxRuntime
import MediaCore
import PixelConversion
import SessionBus
import Testing

@testable import PortalCapture

/// Tests with a desktop of their own: one after the other, as each starts several programs.
@Suite(.serialized, .timeLimit(.minutes(3))) struct PortalTests {}

/// A portal's screen with its canvas, used as the video thread uses it.
final class PortalWatcher {
    let bed: PortalBed
    let screen: PortalScreen
    private(set) var canvas: I420Buffer
    /// The blocks that the last reads changed.
    private(set) var changed: BlockMap
    /// What the user was told.
    let reports: Monitor<[String]>
    /// The restore token.
    let token: Monitor<String?>
    /// Nil: it is not asked for.
    var input: PortalInput? { screen.input }
    private let converter = YUVConverter()

    /// Starts a desktop, asks it, and reads the first frame.
    init(
        _ commands: [String] = [], token: Monitor<String?> = Monitor(nil), bed: PortalBed? = nil,
        cursor: PortalScreen.Cursor = .shown, asksForInput: Bool = false, backendEnvironment: [String: String] = [:]
    ) throws {
        let bed = try bed ?? PortalBed(commands, backendEnvironment: backendEnvironment)
        let reports = Monitor<[String]>([])
        (self.bed, self.token, self.reports) = (bed, token, reports)
        screen = try Self.open(bed, token, reports, cursor, asksForInput: asksForInput)
        canvas = I420Buffer(screen.size)
        changed = BlockMap(screen.size)
        try settle()
    }

    deinit { screen.close() }

    static func open(
        _ bed: PortalBed, _ token: Monitor<String?> = Monitor(nil), _ reports: Monitor<[String]> = Monitor([]),
        _ cursor: PortalScreen.Cursor = .shown, asksForInput: Bool = false
    ) throws(SourceFailure) -> PortalScreen {
        let tokens = ScreenCastPortal.TokenStore(load: { token.with { $0 } }, save: { new in token.with { $0 = new } })
        // The portal of the tests has version 1 of that for input, which keeps nothing.
        let unused = ScreenCastPortal.TokenStore(load: { "old" }, save: { _ in Issue.record("a token was saved") })
        let cast = ScreenCastPortal(
            address: bed.bus.address, tokens: tokens, showsCursor: cursor != .hidden,
            inputTokens: asksForInput ? unused : nil)
        let socket = bed.stateFolder + "/pipewire-0"
        return try PortalScreen(
            cast, converter: YUVConverter(), cursor: cursor, input: asksForInput ? PortalInput(cast) : nil,
            hasPipeWire: { PipeWireServer.answers(at: socket) },
            report: { report in reports.change { $0.append(report) } })
    }

    /// Waits once, and reads what is there.
    @discardableResult
    func update(milliseconds: Int = 10_000) throws -> ScreenEvent {
        let event = try screen.wait(until: MonotonicClock.now + .milliseconds(milliseconds))
        switch event {
        case .damaged: _ = try screen.read(into: canvas, changed: &changed)
        case .resized:
            canvas = I420Buffer(screen.size)
            changed = BlockMap(screen.size)
            screen.damageEverything()
            _ = try screen.read(into: canvas, changed: &changed)
        case .woken: break
        }
        return event
    }

    /// Reads until nothing comes any more, and forgets what changed.
    func settle() throws {
        while try update(milliseconds: 150) != .woken {}
        changed.clear()
    }

    /// Reads until the condition is true, for 20 s at most.
    func update(until isTrue: () -> Bool) throws -> Bool {
        let deadline = MonotonicClock.now + .seconds(20)
        while !isTrue() {
            guard MonotonicClock.now < deadline else { return false }
            try update(milliseconds: 500)
        }
        return true
    }

    /// Reads until the pixel has the colour, for 20 s at most.
    func sees(_ wanted: UInt32, x: Int, y: Int) throws -> Bool { try update { shows(wanted, x: x, y: y) } }

    /// Whether each colour channel of a canvas pixel is within 6 of 0xRRGGBB.
    func shows(_ wanted: UInt32, x: Int, y: Int) -> Bool {
        guard x < canvas.size.width, y < canvas.size.height else { return false }
        var pixels: [UInt32] = [0, 0, 0, 0]
        pixels.withUnsafeMutableBytes {
            guard let base = $0.baseAddress else { return }
            converter.convert(
                canvas.frame, rect: PixelRect(x: x & ~1, y: y & ~1, width: 2, height: 2), toBGRA: base, stride: 8)
        }
        let got = pixels[(y & 1) * 2 + (x & 1)]
        return [UInt32(0), 8, 16].allSatisfy { abs(Int(got >> $0 & 255) - Int(wanted >> $0 & 255)) <= 6 }
    }
}
