import ExampleWindow
import Foundation
import ShareKit
import Synchronization

/// A sheet of paper that other instances of this program show, wherever they run.
///
///     Mirror           draws, and prints a link
///     Mirror LINK      shows what the other one draws
@main @MainActor
struct Mirror {
    static func main() async {
        guard let window = Window(title: "Mirror") else { return fail("there is no display for a window") }
        do {
            if CommandLine.arguments.count > 1 {
                try await watch(CommandLine.arguments[1], in: window)
            } else {
                try await draw(in: window)
            }
        } catch {
            fail("\(error)")
        }
    }

    /// Draws with the mouse, and shares nothing but the sheet.
    static func draw(in window: Window) async throws(ShareKitError) {
        let sheet = try ApplicationSource(name: "Mirror", width: Window.width, height: Window.height)
        let questions = Questions()
        let broadcast = try PeerBroadcast(sheet) { viewer in
            await questions.ask("\(viewer.name) (\(viewer.address)) wants to watch. The words there: \(viewer.words)")
        }
        print(try await broadcast.start())
        // Whoever reads the link through a pipe gets it now.
        fflush(nil)
        try share(window, sheet, damage: nil)
        while true {
            switch window.nextEvent() {
            case .quit:
                await broadcast.finish()
                return
            case .pen(let x, let y):
                window.fill(x: x - 4, y: y - 4, width: 8, height: 8, color: 0x2040C0)
                try share(window, sheet, damage: [.init(x: x - 4, y: y - 4, width: 8, height: 8)])
            case .woken, .key:
                while let question = questions.next() { question.answer(window.ask("Mirror", question.text)) }
                window.present()
            }
        }
    }

    static func share(
        _ window: Window, _ sheet: ApplicationSource, damage: [ApplicationSource.Rectangle]?
    ) throws(ShareKitError) {
        window.present()
        try sheet.submit(
            pixels: window.pixels, stride: window.stride, width: Window.width, height: Window.height, damage: damage)
    }

    /// Shows what another instance draws.
    static func watch(_ link: String, in window: Window) async throws(ShareKitError) {
        let picture = Picture()
        let viewer = try PeerViewer(link: link, name: "Mirror") { frame in
            picture.update(width: frame.width, height: frame.height) { frame.copyBGRA(to: $0, stride: $1) }
        }
        let (title, isOver) = (Shared("Mirror"), Shared(false))
        let session = Task.detached {
            defer { isOver.value = true }
            do throws(ShareKitError) {
                try await viewer.run()
                return nil as ShareKitError?
            } catch {
                return error
            }
        }
        Task.detached {
            for await event in viewer.events {
                if case .waiting(let words) = event { title.value = "Mirror - your words: \(words)" }
                if case .connected = event { title.value = "Mirror" }
            }
        }
        while !isOver.value {
            if case .quit = window.nextEvent() { break }
            window.setTitle(title.value)
            window.draw(picture, x: 0, y: 0, width: Window.width, height: Window.height)
            window.present()
        }
        viewer.leave()
        if let failure = await session.value { throw failure }
    }

    static func fail(_ message: String) {
        FileHandle.standardError.write(Data("Mirror: \(message)\n".utf8))
        exit(1)
    }
}

/// A value for the main thread, which is woken when it changes.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value {
        get { state.withLock { $0 } }
        set {
            state.withLock { $0 = newValue }
            Window.wake()
        }
    }
}
