import Foundation
import LinuxRuntime
import MediaCore
import Testing

@testable import WindowPlayout

/// A window on a display of its own, whose user xdotool plays.
final class WindowBed {
    // The window must be released first: SDL blocks forever if the display ends before its window.
    let window: VideoWindow
    let display: PrivateDisplay
    let heard = Heard()

    /// What the window told.
    final class Heard: @unchecked Sendable {
        // SAFETY: the window calls on the thread that runs it, which is the test's.
        var mutes: [Bool] = []
        var actions: [VideoWindow.Action] = []

        var gestures: [PointerGesture] {
            actions.compactMap { if case .point(let gesture) = $0 { gesture } else { nil } }
        }
        var inputs: [ControlInput] {
            actions.compactMap { if case .control(let input) = $0 { input } else { nil } }
        }
    }

    /// - Parameter place: of the window; nil: the whole display.
    init(
        width: Int = 640, height: Int = 360, _ presentation: VideoWindow.Presentation = .surface,
        place: WindowPlace? = nil
    ) throws {
        display = try PrivateDisplay(width: width, height: height)
        setenv("DISPLAY", display.name, 1)
        setenv("SDL_VIDEODRIVER", "x11", 1)
        window = try VideoWindow(
            title: "share", converter: PlainConverter(),
            place: place ?? WindowPlace(x: 0, y: 0, size: PixelSize(width: width, height: height)),
            presentation: presentation, onMute: { [heard] in heard.mutes.append($0) },
            onAction: { [heard] in heard.actions.append($0) })
    }

    func run(_ program: String, _ arguments: String...) throws { try display.run(program, arguments) }

    /// Runs the window until it is so, for 20 s at most.
    func waits(_ isSo: () throws -> Bool) throws -> Bool {
        let limit = ContinuousClock.now + .seconds(20)
        repeat {
            if try isSo() { return true }
            if try window.run(until: MonotonicClock.now + .milliseconds(20)) == .closedByUser { return false }
        } while ContinuousClock.now < limit
        return false
    }

    /// Runs the window until the screenshot matches.
    func comes(_ isSo: (Screenshot) -> Bool) throws -> Bool { try waits { isSo(try display.screenshot()) } }

    /// Shows a red frame of a size, and waits for it.
    func showRed(_ size: PixelSize = PixelSize(width: 640, height: 360)) throws {
        let canvas = I420Buffer(size)
        canvas.fill(PixelRect(size), y: 82, u: 90, v: 240)
        withExtendedLifetime(canvas) { window.show(canvas.frame) }
        #expect(try comes { $0.isNear([255, 0, 0], display.width / 2, display.height / 2) })
    }

    /// Sets what the host allows, and has the window take it over.
    func allow(_ rights: ViewerRights) throws {
        window.setRights(rights)
        #expect(try waits { window.interaction.rights == rights })
    }
}
