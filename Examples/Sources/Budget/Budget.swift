import ExampleWindow
import Foundation
import ShareKit
import Synchronization

/// A small app that shows an account, and broadcasts itself to one service. The account's number is hidden while
/// anybody receives the window.
///
///     Budget [SERVICE] [--FIELD VALUE]... [--demo]
///
/// B broadcasts to SERVICE, the identifier of an installed service, or to the preferred one (share pair ID); C lets you
/// choose a service; P pauses and resumes, F finishes, Q quits. R begins and ends a recording, K keeps the last 15 s, and
/// S saves them. V shows the camera in a corner of what is captured and removes it, W moves it to the next corner, and X
/// exchanges the front camera for the back one. With --demo, where nobody is there to answer, it broadcasts at once.
@main @MainActor
struct Budget {
    private static let account = "4711 0815"
    private static var isShowingNumber = true
    /// The window has come back while a broadcast of it was paused.
    private nonisolated static let hasReturned = Mutex(false)

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
        let recorder = ScreenRecorder(source) { request in
            await MainActor.run {
                window.ask("Budget", "Record \(request.application)\(request.withCamera ? " with the camera" : "")?")
            }
        }
        try draw(window, source, showingNumber: true)
        var controller = Options.has("demo") ? await broadcast(source, window, choosing: false) : nil
        while true {
            switch window.nextEvent() {
            case .quit, .key("q"):
                await controller?.finishBroadcast()
                return
            case .key(let key) where (key == "b" || key == "c") && controller?.isBroadcasting != true:
                controller = await broadcast(source, window, choosing: key == "c")
            case .key("p"):
                if await controller?.pauseBroadcast() == false { await controller?.resumeBroadcast() }
            case .key("f"): await controller?.finishBroadcast()
            case .key(let key) where ["r", "k", "s"].contains(key): await record(key, recorder)
            case .key(let key) where ["v", "w", "x"].contains(key): await changeCamera(key, recorder)
            case .woken, .key, .pen: break
            }
            if hasReturned.withLock({ value in
                defer { value = false }; return value
            }) {
                if window.ask("Budget", "Resume the broadcast?") {
                    await controller?.resumeBroadcast()
                } else {
                    await controller?.finishBroadcast()
                }
            }
            // From before the first frame that somebody receives to after the last one.
            let isPrivate = !source.isCaptured && controller?.isBroadcasting != true
            if isShowingNumber != isPrivate { try draw(window, source, showingNumber: isPrivate) }
            window.present()
        }
    }

    /// Recordings and clips go to files in the current folder.
    private static func record(_ key: Character, _ recorder: ScreenRecorder) async {
        let name = "Budget-\(Int(Date().timeIntervalSince1970)).webm"
        do throws(ShareKitError) {
            switch key {
            case "r" where recorder.isRecording:
                let recording = try await recorder.stopRecording()
                try recording.save(to: name)
                report("\(recording.duration) are in \(name)")
            case "r": try await recorder.startRecording()
            case "k": try await recorder.startClipBuffering()
            default:
                let clip = try await recorder.exportClip(to: name)
                report("the last \(clip.duration) are in \(name)")
            }
        } catch {
            report("\(error)")
        }
    }

    private static func changeCamera(_ key: Character, _ recorder: ScreenRecorder) async {
        do throws(ShareKitError) {
            switch key {
            case "v": try await recorder.setCameraEnabled(!recorder.isCameraEnabled)
            case "x": recorder.cameraPosition = recorder.cameraPosition == .front ? .back : .front
            default:
                let corners: [CameraPreview.Place] = [.bottomRight, .bottomLeft, .topLeft, .topRight]
                let next = (corners.firstIndex(of: recorder.cameraPreview.place) ?? 3) + 1
                recorder.cameraPreview.place = corners[next % corners.count]
            }
        } catch {
            report("\(error)")
        }
    }

    /// Pairs with a service, after the alert, and starts.
    private static func broadcast(
        _ source: ApplicationSource, _ window: Window, choosing: Bool
    ) async -> BroadcastController? {
        let id = "com.example.budget"
        do throws(ShareKitError) {
            let controller =
                if choosing {
                    try await BroadcastActivity.load(source: source, applicationID: id) { services in
                        let names = services.prefix(7).map(\.name)
                        let answer = await window.choose("Budget", "Which service?", ["None"] + names)
                        return answer == 0 ? nil : services[answer - 1]
                    } confirm: {
                        await confirm($0, window)
                    }
                } else {
                    try await BroadcastActivity.load(
                        preferredExtension: Options.first, source: source, applicationID: id
                    ) { await confirm($0, window) }
                }
            // Hidden before anything is captured.
            try draw(window, source, showingNumber: false)
            Task.detached { for await event in controller.events { report(event, controller.service.name) } }
            try await controller.startBroadcast(countdown: Options.has("demo") ? 0 : 3)
            return controller
        } catch {
            report("\(error)")
            return nil
        }
    }

    /// The alert, which names the one service.
    private static func confirm(_ alert: BroadcastActivity.Alert, _ window: Window) async -> [String: String]? {
        let question = "\(alert.application) wants to broadcast to \(alert.service.name) (\(alert.service.id))."
        let text = [question, alert.problem, alert.terms].compactMap(\.self).joined(separator: "\n\n")
        guard Options.has("demo") || window.ask("Budget", text) else { return nil }
        return Dictionary(uniqueKeysWithValues: alert.fields.map { ($0.name, Options.value($0.name) ?? "Budget") })
    }

    private nonisolated static func report(_ event: BroadcastController.Event, _ service: String) {
        switch event {
        case .countdown(let seconds): report("the broadcast begins in \(seconds) s")
        case .movedToBackground: report("paused while the window is hidden")
        case .returnedToForeground:
            hasReturned.withLock { $0 = true }
            Window.wake()
        case .started: report("\(service) receives this window")
        case .serviceInfo(let info):
            if let viewers = info.viewers { report("\(viewers) watch") }
            if let comment = info.comment { report("\(comment.name): \(comment.text)") }
        case .broadcastURL(let url): report("people watch at \(url)")
        case .interrupted: report("\(service) is not heard")
        case .resumed: report("\(service) is heard again")
        case .warning(let sentence): report(sentence)
        case .finished(let error): report(error.map { "\($0)" } ?? "the broadcast is over")
        }
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
