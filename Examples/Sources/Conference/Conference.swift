import ExampleWindow
import Foundation
import ShareKit

/// A service that shows every broadcast that it takes: one fills the window, up to four share it.
///
///     Conference [--id ID] [--listen ADDRESS] [--accept any] [--headless] [--snapshot FILE.png] [--manifest FILE]
///
/// Prints its link, for `share extension install LINK`. With --manifest it also writes the manifest of its extensions, the
/// programs ConferenceSetup and ConferenceUpload beside it, for `share extension install FILE`. Asks about each app, unless --accept any says yes to all who have
/// the link.
/// --headless opens no window. --snapshot saves what is shown whenever a broadcast begins to be seen or ends. F finishes
/// all broadcasts, Q quits.
@main @MainActor
struct Conference {
    private let window: Window
    private let service: BroadcastService
    private let questions: Questions
    private let stage: Stage

    static func main() async {
        guard let window = Window(title: "Conference", isVisible: !Options.has("headless")) else {
            return fail("there is no display for a window; try --headless")
        }
        do throws(ShareKitError) {
            try await Conference(window).run()
        } catch {
            fail("\(error)")
        }
    }

    init(_ window: Window) throws(ShareKitError) {
        let (questions, stage) = (Questions(), Stage())
        let acceptsAll = Options.value("accept") == "any"
        var options = BroadcastService.Options()
        options.fields = [.init(name: "title", label: "Title of the broadcast")]
        options.terms = "Whoever is in the conference sees what you broadcast."
        // Whoever has the link is taken, and nobody else.
        options.requiresLink = acceptsAll
        if let address = Options.value("listen") { options.listenAddress = address }
        self.window = window
        self.questions = questions
        self.stage = stage
        service = try BroadcastService(
            id: Options.value("id") ?? "com.example.conference", name: "Conference", options: options
        ) { request in
            let title = request.setup["title"] ?? ""
            let question = "\(request.application) (\(request.address)) wants to broadcast \"\(title)\"."
            return acceptsAll ? true : await questions.ask(question)
        } onFrame: { broadcast, frame in
            stage.take(frame, of: broadcast)
        }
    }

    func run() async throws(ShareKitError) {
        let link = try await service.start()
        if let file = Options.value("manifest") { Self.writeManifest(link, to: file) }
        say(link)
        let (service, stage) = (service, stage)
        Task.detached { for await event in service.events { stage.handle(event) } }
        draw()
        var shown: [ReceivedBroadcast] = []
        while true {
            switch window.nextEvent() {
            case .quit, .key("q"):
                if !shown.isEmpty { save() }
                return await service.stop()
            case .key("f"):
                for broadcast in shown {
                    broadcast.finish(reason: "the conference is over", nextStep: "Come again tomorrow.")
                }
            case .woken, .key, .pen: break
            }
            while let question = questions.next() { question.answer(window.ask("Conference", question.text)) }
            let seen = stage.seen.map(\.broadcast)
            // The last frame of a broadcast that has ended is still in the picture.
            if !shown.allSatisfy(seen.contains) { save() }
            draw()
            if !seen.allSatisfy(shown.contains) { save() }
            for broadcast in seen where !shown.contains(broadcast) {
                say("shows \(broadcast.application): \(broadcast.setup["title"] ?? "")")
                for other in seen { other.send(viewers: seen.count) }
                broadcast.send(comment: "Welcome!", from: "Conference")
            }
            shown = seen
        }
    }

    /// Draws what is seen, in one or four parts of the window.
    private func draw() {
        window.fill(x: 0, y: 0, width: Window.width, height: Window.height, color: 0x303030)
        let seen = stage.seen
        let parts = seen.count > 1 ? 2 : 1
        let (width, height) = (Window.width / parts, Window.height / parts)
        for (index, shown) in seen.enumerated() {
            window.draw(
                shown.picture, x: index % parts * width, y: index / parts * height, width: width, height: height)
        }
        window.present()
    }

    private func save() {
        guard let path = Options.value("snapshot") else { return }
        do {
            try window.save(to: path)
        } catch {
            Self.fail("\(path) cannot be written: \(error)")
        }
    }

    private static func writeManifest(_ link: String, to file: String) {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let manifest = [
            "id": Options.value("id") ?? "com.example.conference", "name": "Conference", "service": link,
            "setup": folder.appendingPathComponent("ConferenceSetup").path,
            "upload": folder.appendingPathComponent("ConferenceUpload").path,
        ]
        do {
            try JSONEncoder().encode(manifest).write(to: URL(fileURLWithPath: file))
            // Others must not be able to name another program.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        } catch {
            fail("\(file) cannot be written: \(error)")
        }
    }

    private func say(_ line: String) {
        print(line)
        // Whoever reads it through a pipe gets it now.
        fflush(nil)
    }

    private static func fail(_ message: String) {
        FileHandle.standardError.write(Data("Conference: \(message)\n".utf8))
        exit(1)
    }
}
