import InAppCapture
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import Admission
@testable import Identity
@testable import ShareKit

/// An app that shares its own frames with another instance, over real HTTPS, ICE, DTLS and SRTP on loopback.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct PeerBroadcastTests {
    private static let (width, height) = (320, 240)

    private func source() throws -> ApplicationSource {
        try ApplicationSource(name: "Budget", width: Self.width, height: Self.height, hasAudio: true)
    }

    private func submit(_ level: UInt8, to source: ApplicationSource) throws {
        try source.draw(width: Self.width, height: Self.height) { pixels, stride in
            pixels.initializeMemory(as: UInt8.self, repeating: level, count: stride * Self.height)
            return nil
        }
    }

    private func broadcast(
        _ source: ApplicationSource, accept: @escaping @Sendable (PeerBroadcast.ViewerRequest) async -> Bool
    ) throws -> PeerBroadcast {
        var options = PeerBroadcast.Options()
        options.listenAddress = "127.0.0.1"
        return try PeerBroadcast(source, options: options, identity: .ephemeral(), accept: accept)
    }

    /// The luma that a viewer received last, and its audible samples.
    private struct Received: Sendable {
        var luma: UInt8?
        var size = (0, 0)
        var loudest: Int16 = 0
    }

    private func viewer(_ link: String, _ received: Monitor<Received>) throws -> PeerViewer {
        try PeerViewer(
            link: link, name: "Ann", identity: .ephemeral(),
            onFrame: { frame in
                let (luma, size) = (frame.y[frame.strideY * 100 + 100], (frame.width, frame.height))
                received.change {
                    $0.luma = luma
                    $0.size = size
                }
            },
            onAudio: { samples in
                let loudest = samples.max() ?? 0
                received.change { $0.loudest = max($0.loudest, loudest) }
            })
    }

    /// Waits 30 s at most, on a thread of its own.
    private func wait(_ received: Monitor<Received>, _ condition: @escaping @Sendable (Received) -> Bool) async -> Bool
    {
        await withCheckedContinuation { continuation in
            _ = NamedThread("wait") {
                continuation.resume(
                    returning: received.wait(until: MonotonicClock.now + .seconds(30)) { condition($0) ? true : nil }
                        ?? false)
            }
        }
    }

    @Test func aBroadcastIsStartedOnce() async throws {
        let broadcast = try broadcast(try source()) { _ in true }
        _ = try await broadcast.start()
        for _ in 0..<2 {
            await #expect { _ = try await broadcast.start() } throws: {
                ($0 as? ShareKitError)?.code == .alreadyStarted
            }
            await broadcast.finish()
        }
    }

    @Test func viewersWriteCommentsIfTheAppAllowsIt() async throws {
        let source = try source()
        try submit(0, to: source)
        var options = PeerBroadcast.Options()
        options.listenAddress = "127.0.0.1"
        let asked = Monitor<[String]>([])
        options.comments = .asking { request in
            asked.with { $0.append(request.name) }
            return true
        }
        let broadcast = try PeerBroadcast(source, options: options, identity: .ephemeral()) { _ in true }
        let viewer = try viewer(try await broadcast.start(), Monitor(Received()))
        let run = Task { try await viewer.run() }
        var events = viewer.events.makeAsyncIterator()
        /// The next event about comments.
        func next() async -> PeerViewer.Event? {
            while let event = await events.next() {
                switch event {
                case .comment, .rights: return event
                default: continue
                }
            }
            return nil
        }
        #expect(await next() == .rights(.init(comment: .mayAsk, point: .none, control: .none)))
        await #expect { try await viewer.say("Hello") } throws: { ($0 as? ShareKitError)?.code == .refused }
        try await viewer.ask(for: .comment)
        #expect(await next() == .rights(.init(comment: .granted, point: .none, control: .none)))
        #expect(asked.with { $0 } == ["Ann"])
        try await viewer.say("Hello")
        #expect(await next() == .comment(from: "Ann", text: "Hello"))
        #expect(await broadcast.say("Welcome"))
        #expect(await next() == .comment(from: nil, text: "Welcome"))
        let watching = try #require(await broadcast.viewers().first)
        #expect(watching.participation == [.comment])
        #expect(await broadcast.allow(.comment, false, of: watching))
        #expect(await next() == .rights(.init(comment: .none, point: .none, control: .none)))
        #expect(await broadcast.viewers().first?.participation == [])
        var told: [PeerBroadcast.Event] = []
        viewer.leave()
        try await run.value
        await broadcast.finish()
        #expect(await !broadcast.say("Anybody?"))
        for await event in broadcast.events {
            if case .comment = event { told.append(event) }
        }
        #expect(told == [.comment(from: "Ann", text: "Hello"), .comment(from: nil, text: "Welcome")])
    }

    @Test func viewersPointAndActInTheApp() async throws {
        let source = try source()
        try submit(0, to: source)
        let inputs = Monitor<[ViewerInput]>([])
        var options = PeerBroadcast.Options()
        options.listenAddress = "127.0.0.1"
        options.pointers = .everybody
        options.control = .allowed(.asking { _ in true }) { input in inputs.change { $0.append(input) } }
        let broadcast = try PeerBroadcast(source, options: options, identity: .ephemeral()) { _ in true }
        let viewer = try viewer(try await broadcast.start(), Monitor(Received()))
        let run = Task { try await viewer.run() }
        /// The next event that `isMeant`.
        func next(_ isMeant: (PeerViewer.Event) -> Bool) async -> PeerViewer.Event? {
            for await event in viewer.events where isMeant(event) { return event }
            return nil
        }
        func sent(_ body: () -> Bool) async {
            while !body() { await Task.yield() }
        }
        let rights = await next { if case .rights = $0 { true } else { false } }
        #expect(rights == .rights(.init(comment: .none, point: .granted, control: .mayAsk)))
        await sent { viewer.point(.draw([.init(x: 0, y: 1), .init(x: 1, y: 0)])) }
        let seen = await next { if case .pointers = $0 { true } else { false } }
        guard case .pointers(let pointers)? = seen else { return }
        #expect(pointers.map(\.name) == ["Ann"])
        #expect(pointers.map(\.action) == [.draw([.init(x: 0, y: 1), .init(x: 1, y: 0)])])
        #expect(!viewer.control(.wheel(horizontal: 0, vertical: 1)))
        try await viewer.ask(for: .control)
        #expect(await next { $0 == .controller(name: "Ann") } != nil)
        await sent { viewer.control(.key(keysym: 0x41, isPressed: true)) }
        #expect(eventually { inputs.with { $0.last == .key(keysym: 0x41, isPressed: true) } })
        #expect(await broadcast.takeControlBack())
        #expect(inputs.with { $0.last } == .releaseAll)
        #expect(await next { $0 == .controller(name: nil) } != nil)
        viewer.leave()
        try await run.value
        await broadcast.finish()
        var told: [PeerBroadcast.Event] = []
        for await event in broadcast.events {
            switch event {
            case .controlBegan, .controlEnded, .pointers: told.append(event)
            default: break
            }
        }
        #expect(told == [.pointers(pointers), .controlBegan(name: "Ann"), .controlEnded(name: "Ann")])
    }

    @Test func theAppPausesMutesAndRemovesAndAViewerRecords() async throws {
        let source = try source()
        try submit(0, to: source)
        let broadcast = try broadcast(source) { _ in true }
        let link = try await broadcast.start()
        let folder = try TemporaryFolder()
        let received = Monitor(Received())
        let viewer = try PeerViewer(
            link: link, name: "Ann", identity: .ephemeral(), recordingTo: folder.file("a.webm"),
            onFrame: { frame in
                let luma = frame.y[frame.strideY * 100 + 100]
                received.change { $0.luma = luma }
            }, onAudio: nil)
        let run = Task { try await viewer.run() }
        try submit(235, to: source)
        #expect(await wait(received) { ($0.luma ?? 0) > 200 })
        let watching = try #require(await broadcast.viewers().first)
        #expect(watching.name == "Ann" && watching.records && watching.id == 1)
        #expect(broadcast.setAudioMuted(true) && broadcast.isAudioMuted)
        #expect(broadcast.setAudioMuted(false) && !broadcast.isAudioMuted)
        let isPaused = await broadcast.pause()
        #expect(isPaused)
        #expect(await broadcast.isPaused())
        let isResumed = await broadcast.resume()
        #expect(isResumed)
        let isRemoved = await broadcast.remove(watching)
        #expect(isRemoved)
        await #expect { try await run.value } throws: { ($0 as? ShareKitError)?.code == .refused }
        #expect(await broadcast.viewers().isEmpty)
        let recording = try #require(viewer.recording)
        #expect(recording.path == folder.file("a.webm") && recording.byteCount > 100 && viewer.recordingFailure == nil)
        await broadcast.finish()
    }

    @Test func framesAndAudioOfAnAppReachAnotherInstance() async throws {
        let source = try source()
        try submit(0, to: source)
        let requests = Monitor<[PeerBroadcast.ViewerRequest]>([])
        let broadcast = try broadcast(source) { request in
            requests.change { $0.append(request) }
            return true
        }
        let link = try await broadcast.start()
        #expect(!source.isCaptured)
        let received = Monitor(Received())
        let viewer = try viewer(link, received)
        let running = Task { try await viewer.run() }
        #expect(await wait(received) { $0.luma.map { $0 < 24 } ?? false })
        #expect(source.isCaptured)
        #expect(broadcast.isEncrypted && viewer.route == .init(relay: nil, isEncrypted: true))
        try submit(255, to: source)
        #expect(await wait(received) { $0.luma.map { $0 > 228 } ?? false })
        #expect(received.with { $0.size } == (Self.width, Self.height))
        // 10 ms of a square wave of 500 Hz each 10 ms, as an app that plays it would hand in.
        let isOver = Monitor(false)
        let player = NamedThread("player") {
            let tone = (0..<960).map { Int16($0 % 192 < 96 ? 12_000 : -12_000) }
            while isOver.wait(until: MonotonicClock.now + .milliseconds(10), { $0 ? () : nil }) == nil {
                tone.withUnsafeBufferPointer { source.submitAudio($0) }
            }
        }
        #expect(await wait(received) { $0.loudest > 6_000 })
        isOver.change { $0 = true }
        await player.ended()
        #expect(requests.with { $0.map(\.name) } == ["Ann"])
        #expect(requests.with { $0.first?.words.split(separator: " ").count } == 4)
        viewer.leave()
        try await running.value
        await broadcast.finish()
        var events: [PeerBroadcast.Event] = []
        for await event in broadcast.events { events.append(event) }
        #expect(events.first == .viewerConnected(name: "Ann") && events.last == .ended(nil))
    }

    @Test func aViewerThatTheAppRefusesGetsAnError() async throws {
        let broadcast = try broadcast(try source()) { _ in false }
        let viewer = try viewer(try await broadcast.start(), Monitor(Received()))
        let failure = await #expect(throws: ShareKitError.self) { try await viewer.run() }
        #expect(failure?.code == .refused)
        await broadcast.finish()
        await broadcast.finish()
    }

    @Test func aTextThatIsNoLinkIsAnError() throws {
        let failure = #expect(throws: ShareKitError.self) { try viewer("https://example.com/", Monitor(Received())) }
        #expect(failure?.code == .badLink)
    }

    @Test func captureChangesBeginWithTheCurrentValue() async throws {
        let source = try source()
        var changes = source.captureChanges.makeAsyncIterator()
        #expect(await changes.next() == false)
        let screen = source.surface.makeScreen()
        screen.resume()
        #expect(await changes.next() == true)
        screen.close()
        #expect(await changes.next() == false)
    }
}
