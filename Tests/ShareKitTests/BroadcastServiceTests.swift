import Extensions
import Foundation
import Host
import LinuxRuntime
import MediaCore
import Relay
import Signaling
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity
@testable import Service
@testable import ShareKit

/// A service of an app, and another app that broadcasts to it, on loopback.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct BroadcastServiceTests {
    private struct Received: Sendable {
        var luma: UInt8?
        var loudest: Int16 = 0
        var requests: [BroadcastService.Request] = []
    }

    private func service(
        _ received: Monitor<Received>, takes: Bool = true, at relay: String? = nil
    ) throws -> BroadcastService {
        var options = BroadcastService.Options()
        options.relay = relay
        options.fields = [.init(name: "title", label: "Title")]
        options.terms = "Be kind."
        options.listenAddress = "127.0.0.1"
        return try BroadcastService(
            id: "com.example.conference", name: "Conference", options: options, identity: .ephemeral(),
            accept: { request in
                received.change { $0.requests.append(request) }
                return takes
            },
            onFrame: { _, frame in
                let luma = frame.y[frame.strideY * 100 + 100]
                received.change { $0.luma = luma }
            },
            onAudio: { _, samples in
                let loudest = samples.max() ?? 0
                received.change { $0.loudest = max($0.loudest, loudest) }
            })
    }

    /// The head of a PNG of 32 x 16 pixels.
    private static let icon: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        + [0, 0, 0, 32, 0, 0, 0, 16, 8, 6, 0, 0, 0] + [0, 0, 0, 0]

    private func source(level: UInt8) throws -> ApplicationSource {
        let source = try ApplicationSource(name: "Budget", width: 320, height: 240, hasAudio: true, icon: Self.icon)
        try source.draw(width: 320, height: 240) { pixels, stride in
            pixels.initializeMemory(as: UInt8.self, repeating: level, count: stride * 240)
            return nil
        }
        return source
    }

    private func load(
        _ link: String, _ source: ApplicationSource, confirm: @escaping BroadcastActivity.Confirmation
    ) async throws -> BroadcastController {
        try await BroadcastActivity.load(
            ExtensionManifest(ofPeer: ServiceLink(parsing: link)), source: source, applicationID: "com.example.budget",
            identity: .ephemeral(),
            confirm: confirm)
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

    /// An app reaches a service that is met at a relay by its link alone.
    @Test func anAppBroadcastsToAServiceThatIsMetAtARelay() async throws {
        let description = try ServiceDescription(id: try #require(ServiceID("io.sharekit.relay")), name: "Relay")
        let relay = RelaySession(
            configuration: .init(
                service: .init(
                    listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: .init(description))),
            identity: try .ephemeral(), decide: { _ in .accepted }, admit: { _ in .refused(nil) }, emit: { _ in })
        let place = try await relay.start()
        let received = Monitor(Received())
        let service = try service(received, at: place.text)
        let link = try await service.start()
        #expect(try ServiceLink(parsing: link).relay == place.fingerprint)
        let controller = try await load(link, source(level: 200)) { _ in ["title": "Numbers"] }
        try await controller.startBroadcast()
        #expect(await wait(received) { $0.luma != nil })
        #expect(received.with { $0.requests.map(\.setup) } == [["title": "Numbers"]])
        await controller.finishBroadcast()
        await service.stop()
        await relay.stop()
        #expect(throws: ShareKitError.self) { _ = try self.service(received, at: "https://relay.example/") }
    }

    @Test func anIconThatIsNoneIsRefused() {
        for icon in [[], Array("GIF89a".utf8), Self.icon + [UInt8](repeating: 0, count: 16_384)] {
            #expect {
                try ApplicationSource(name: "Budget", width: 320, height: 240, icon: icon)
            } throws: {
                ($0 as? ShareKitError)?.code == .badSetup
            }
        }
    }

    @Test func aServiceReceivesFramesAndAudioAndAnswersToTheApp() async throws {
        let received = Monitor(Received())
        let service = try service(received)
        var events = service.events.makeAsyncIterator()
        let link = try await service.start()
        let source = try source(level: 255)
        let controller = try await load(link, source) { _ in ["title": "Accounts"] }
        try await controller.startBroadcast()
        guard case .began(let broadcast)? = await events.next() else {
            Issue.record("no broadcast has begun")
            return
        }
        #expect(broadcast.application == "Budget" && broadcast.applicationID == "com.example.budget")
        #expect(broadcast.setup == ["title": "Accounts"] && broadcast.address == "127.0.0.1")
        #expect(received.with { $0.requests.map(\.setup) } == [["title": "Accounts"]])
        #expect(broadcast.applicationIcon == Self.icon)
        #expect(received.with { $0.requests.map(\.applicationIcon) } == [Self.icon])
        #expect(await wait(received) { $0.luma.map { $0 > 228 } ?? false })
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

        var answers = controller.events.makeAsyncIterator()
        #expect(await answers.next() == .started)
        broadcast.send(viewers: 3, likes: 2)
        #expect(await answers.next() == .serviceInfo(.init(viewers: 3, likes: 2, comment: nil)))
        broadcast.send(comment: "hello", from: "Ann")
        #expect(
            await answers.next()
                == .serviceInfo(.init(viewers: nil, likes: nil, comment: .init(name: "Ann", text: "hello"))))
        broadcast.send(url: "https://example.com/watch")
        #expect(await answers.next() == .broadcastURL("https://example.com/watch"))
        // Another application is in front; the service has its icon.
        await controller.control.annotate(
            ApplicationInfo(id: "Navigator", name: "Firefox", icon: try PNGIcon(Self.icon)))
        guard case .annotated(let shown, let application)? = await events.next() else {
            Issue.record("the service does not know the application")
            return
        }
        #expect(shown == broadcast && application.name == "Firefox" && application.icon == Self.icon)
        broadcast.finish(reason: "sign in first", nextStep: "open Conference")
        guard case .finished(let error)? = await answers.next() else {
            Issue.record("the broadcast did not finish")
            return
        }
        #expect(error?.code == .serviceEnded && error?.remedy == "open Conference.")
        guard case .ended(let ended, _)? = await events.next() else {
            Issue.record("no broadcast has ended")
            return
        }
        #expect(ended == broadcast)
        // One that has ended takes nothing any more.
        broadcast.send(viewers: 4)
        broadcast.finish(reason: "again")
        await service.stop()
        await service.stop()
        #expect(await events.next() == nil)
        await controller.finishBroadcast()
    }

    @Test func anAppThatTheServiceRefusesIsReportedToBoth() async throws {
        let received = Monitor(Received())
        let service = try service(received, takes: false)
        let link = try await service.start()
        let source = try source(level: 0)
        let error = await #expect(throws: ShareKitError.self) {
            _ = try await load(link, source) { _ in ["title": "Accounts"] }
        }
        #expect(error?.code == .refused)
        var events = service.events.makeAsyncIterator()
        #expect(await events.next() == .refused(application: "Budget", reason: "refused"))
        #expect(!source.isCaptured && received.with { $0.luma } == nil)
        await service.stop()
    }

    @Test func aServiceThatStopsEndsItsBroadcasts() async throws {
        let received = Monitor(Received())
        let service = try service(received)
        let controller = try await load(try await service.start(), try source(level: 0)) { _ in ["title": "Accounts"] }
        try await controller.startBroadcast()
        #expect(await wait(received) { $0.luma != nil })
        await service.stop(reason: "closing time")
        var last: BroadcastController.Event?
        for await event in controller.events { last = event }
        guard case .finished(let error)? = last else {
            Issue.record("the broadcast did not finish")
            return
        }
        #expect(error?.code == .serviceEnded && error?.message.contains("closing time") == true)
    }

    @Test(arguments: ["nodots", "", "com..example", "com.example.\u{202E}"])
    func anIdentifierThatIsNoneIsAnError(_ id: String) throws {
        let error = #expect(throws: ShareKitError.self) {
            _ = try BroadcastService(
                id: id, name: "Conference", options: .init(), identity: .ephemeral(), accept: { _ in true },
                onFrame: { _, _ in }, onAudio: nil)
        }
        #expect(error?.code == .badSetup)
    }

    @Test func fieldsAndTermsOverTheirLimitsAreErrors() throws {
        var fields = BroadcastService.Options()
        fields.fields = [.init(name: "title", label: "Title"), .init(name: "title", label: "Title again")]
        var terms = BroadcastService.Options()
        terms.terms = String(repeating: "no ", count: 6_000)
        for options in [fields, terms] {
            let error = #expect(throws: ShareKitError.self) {
                _ = try BroadcastService(
                    id: "com.example.conference", name: "Conference", options: options, identity: .ephemeral(),
                    accept: { _ in true }, onFrame: { _, _ in }, onAudio: nil)
            }
            #expect(error?.code == .badSetup)
        }
    }

    // MARK: The setup and the picker

    @Test func aValueThatIsTooLongIsAskedForAgain() async throws {
        let received = Monitor(Received())
        let service = try service(received)
        let alerts = Monitor<[BroadcastActivity.Alert]>([])
        let link = try await service.start()
        let controller = try await load(link, try source(level: 0)) { alert in
            alerts.change { $0.append(alert) }
            return ["title": alert.problem == nil ? String(repeating: "x", count: 600) : "Accounts"]
        }
        #expect(alerts.with { $0.map { $0.problem != nil } } == [false, true])
        #expect(alerts.with { $0.last?.problem } == "Title (title) is longer than 512 bytes")
        #expect(received.with { $0.requests.map(\.setup) } == [["title": "Accounts"]])
        await controller.finishBroadcast()
        await service.stop()
    }

    @Test func theSameRefusedValueTwiceIsAnError() async throws {
        let received = Monitor(Received())
        let service = try service(received)
        let link = try await service.start()
        let asked = Monitor(0)
        let error = await #expect(throws: ShareKitError.self) {
            _ = try await load(link, try source(level: 0)) { _ in
                asked.change { $0 += 1 }
                return [:]
            }
        }
        #expect(error?.code == .badSetup && error?.message == "the service asks for Title (title).")
        #expect(asked.with { $0 } == 2 && received.with { $0.requests.isEmpty })
        await service.stop()
    }

    @Test func theUserChoosesAmongTheInstalledServices() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("share-kit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = ExtensionStore(directory: folder.path)
        let none = await #expect(throws: ShareKitError.self) {
            _ = try await BroadcastActivity.manifest(in: store) { services in services.first }
        }
        #expect(none?.code == .unknownService)
        for id in ["com.example.a", "com.example.b"] {
            let service = try #require(ServiceID(id))
            let link = ServiceLink(
                host: "127.0.0.1", port: 9, id: service, fingerprint: [UInt8](repeating: 7, count: 32))
            try store.install(link, ServiceDescription(id: service, name: id))
        }
        let chosen = try await BroadcastActivity.manifest(in: store) { services in
            #expect(services.map(\.id) == ["com.example.a", "com.example.b"])
            return services.last
        }
        #expect(chosen.id.text == "com.example.b")
        let declined = await #expect(throws: ShareKitError.self) {
            _ = try await BroadcastActivity.manifest(in: store) { _ in nil }
        }
        #expect(declined?.code == .declined)
    }
}
