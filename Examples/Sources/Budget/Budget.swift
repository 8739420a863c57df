import ExampleWindow
import Foundation
import ShareKit

/// A small app that shows an account, and broadcasts itself to one service. The account's number is hidden while
/// anybody receives the window.
///
///     Budget [SERVICE] [--FIELD VALUE]...      B broadcasts, P pauses, F finishes, Q quits
///
/// SERVICE is the identifier of an installed service; without it the preferred one is used (share pair ID).
@main @MainActor
struct Budget {
    private static let account = "4711 0815"
    private static var isShowingNumber = true

    static func main() async {
        do {
            try await run()
        } catch {
            report("\(error)")
            exit(1)
        }
    }

    private static func run() async throws(ShareKitError) {
        guard let window = Window(title: "Budget") else {
            report("there is no display for a window")
            exit(1)
        }
        let source = try ApplicationSource(name: "Budget", width: Window.width, height: Window.height)
        let changes = source.captureChanges
        Task.detached { for await _ in changes { Window.wake() } }
        var controller: BroadcastController?
        try draw(window, source, showingNumber: true)
        while true {
            switch window.nextEvent() {
            case .quit, .key("q"):
                await controller?.finishBroadcast()
                return
            case .key("b") where controller?.isBroadcasting != true: controller = await broadcast(source, window)
            case .key("p"):
                if await controller?.pauseBroadcast() == false { await controller?.resumeBroadcast() }
            case .key("f"): await controller?.finishBroadcast()
            case .woken, .key, .pen: break
            }
            // Drawn anew when somebody begins or ceases to receive it.
            if isShowingNumber == source.isCaptured {
                try draw(window, source, showingNumber: !source.isCaptured)
            }
            window.present()
        }
    }

    /// Pairs with the service, after the alert, and starts.
    private static func broadcast(_ source: ApplicationSource, _ window: Window) async -> BroadcastController? {
        let arguments = CommandLine.arguments.dropFirst()
        let id = arguments.first.flatMap { $0.hasPrefix("--") ? nil : $0 }
        do throws(ShareKitError) {
            let controller = try await BroadcastActivity.load(
                preferredExtension: id, source: source, applicationID: "com.example.budget"
            ) { alert in
                let question = "\(alert.application) wants to broadcast to \(alert.service.name) (\(alert.service.id))."
                guard await window.ask("Budget", question + (alert.terms.map { "\n\n" + $0 } ?? "")) else { return nil }
                return Dictionary(uniqueKeysWithValues: alert.fields.map { ($0.name, value(of: $0.name)) })
            }
            // Hidden before anything is captured.
            try draw(window, source, showingNumber: false)
            try await controller.startBroadcast()
            Task.detached { for await event in controller.events { report("\(event)") } }
            return controller
        } catch {
            report("\(error)")
            return nil
        }
    }

    /// What stands after `--NAME`.
    private nonisolated static func value(of field: String) -> String {
        let arguments = CommandLine.arguments
        guard let index = arguments.firstIndex(of: "--" + field), arguments.indices.contains(index + 1) else {
            return "Budget"
        }
        return arguments[index + 1]
    }

    private nonisolated static func report(_ message: String) {
        FileHandle.standardError.write(Data("Budget: \(message)\n".utf8))
    }

    // MARK: Drawing

    private static func draw(
        _ window: Window, _ source: ApplicationSource, showingNumber: Bool
    ) throws(ShareKitError) {
        isShowingNumber = showingNumber
        window.fill(x: 0, y: 0, width: Window.width, height: Window.height, color: 0xF4F1EA)
        window.fill(x: 0, y: 0, width: Window.width, height: 72, color: 0x1F5F4A)
        for (index, character) in (showingNumber ? account : "---- ----").enumerated() {
            draw(character, in: window, x: 40 + index * 36, y: 104)
        }
        for (month, share) in [62, 80, 45, 93, 71, 38].enumerated() {
            window.fill(x: 40 + month * 96, y: 440 - share * 2, width: 64, height: share * 2, color: 0x2E8B6D)
        }
        window.present()
        try source.submit(
            pixels: window.pixels, stride: window.stride, width: Window.width, height: Window.height)
    }

    /// The segments of each digit: top, upper left and right, middle, lower left and right, bottom.
    private static let segments: [Character: String] = [
        "0": "1110111", "1": "0010010", "4": "0111010", "5": "1101011", "7": "1010010", "8": "1111111", "-": "0001000",
    ]

    private static func draw(_ character: Character, in window: Window, x: Int, y: Int) {
        let places = [(4, 0), (0, 4), (20, 4), (4, 24), (0, 28), (20, 28), (4, 48)]
        for (place, isOn) in zip(places, segments[character] ?? "") where isOn == "1" {
            let isFlat = place.0 == 4
            window.fill(
                x: x + place.0, y: y + place.1, width: isFlat ? 16 : 4, height: isFlat ? 4 : 20, color: 0x202020)
        }
    }
}
