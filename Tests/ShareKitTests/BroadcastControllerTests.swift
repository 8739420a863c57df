import BusSupport
import Extensions
import LinuxRuntime
import MediaCore
import Signaling
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity
@testable import Service
@testable import ShareKit

/// An app that broadcasts to a service that it is paired with, on loopback.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct BroadcastControllerTests {
    /// Counts what a service receives.
    private final class CountingSink: EncodedMediaSink {
        let frames = Monitor(0)

        func start(_ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void) {}
        func receive(_ frame: EncodedVideoFrame) { frames.change { $0 += 1 } }
        func receive(_ packet: EncodedAudioPacket) {}
        func close(_ done: @escaping @Sendable () -> Void) { done() }

        /// Waits for a frame, 30 s at most, on a thread of its own.
        func hasFrame() async -> Bool {
            await withCheckedContinuation { continuation in
                _ = NamedThread("wait") { [frames] in
                    continuation.resume(
                        returning: frames.wait(until: MonotonicClock.now + .seconds(30)) { $0 > 0 ? true : nil }
                            ?? false)
                }
            }
        }
    }

    private func service(
        _ sink: CountingSink, decide: @escaping @Sendable (PairingRequest) async -> PairingDecision
    ) async throws -> (ServiceSession, ServiceLink) {
        let description = try ServiceDescription(
            id: try #require(ServiceID("com.example.conference")), name: "Conference",
            fields: [SetupField(name: "title", label: "Title")], terms: "Be kind.")
        let session = ServiceSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", service: .init(description)),
            identity: try .ephemeral(), decide: decide, makeSink: { _, _ in sink }, emit: { _ in })
        return (session, try await session.start())
    }

    private func source() throws -> ApplicationSource { try ApplicationSource(name: "Budget", width: 320, height: 240) }

    @Test func anAppBroadcastsToTheServiceThatItsUserHasConfirmed() async throws {
        let sink = CountingSink()
        let requests = Monitor<[PairingRequest]>([])
        let (service, link) = try await service(sink) { request in
            requests.change { $0.append(request) }
            return .accepted
        }
        let source = try source()
        let alerts = Monitor<[BroadcastActivity.Alert]>([])
        let controller = try await BroadcastActivity.load(
            ExtensionManifest(ofPeer: link), source: source, applicationID: "com.example.budget", identity: .ephemeral()
        ) { alert in
            alerts.change { $0.append(alert) }
            return ["title": "Accounts"]
        }
        let alert = try #require(alerts.with { $0.first })
        #expect(alert.application == "Budget" && alert.service.name == "Conference" && alert.terms == "Be kind.")
        #expect(alert.fields.map(\.label) == ["Title"])
        #expect(requests.with { $0.map(\.application.id) } == ["com.example.budget"])
        #expect(!source.isCaptured && !controller.isBroadcasting)

        try await controller.startBroadcast()
        #expect(controller.isBroadcasting)
        await #expect(throws: ShareKitError.self) { try await controller.startBroadcast() }
        var events = controller.events.makeAsyncIterator()
        #expect(await events.next() == .started)
        #expect(await sink.hasFrame())
        service.send(ServiceInfo(viewers: 7))
        #expect(await events.next() == .serviceInfo(.init(viewers: 7, likes: nil, comment: nil)))
        #expect(await controller.pauseBroadcast())
        #expect(await controller.isPaused())
        #expect(await controller.resumeBroadcast())
        #expect(await controller.pauseBroadcast())
        service.finish(reason: "sign in first", nextStep: "open Conference")
        guard case .finished(let reason)? = await events.next() else {
            Issue.record("the broadcast did not finish")
            return
        }
        #expect(reason?.code == .serviceEnded && reason?.remedy == "open Conference.")
        #expect(!controller.isBroadcasting)
        #expect(await !controller.isPaused())
        await controller.finishBroadcast()
        await service.stop()
    }

    @Test func aBroadcastPausesInTheBackgroundAndTheAppAsksOnReturn() async throws {
        let bus = try TestBus()
        let login = try FakeLogin(bus)
        let lock = SessionLock(["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "DBUS_SESSION_BUS_ADDRESS": ""])
        let (service, link) = try await service(CountingSink()) { _ in .accepted }
        let source = try source()
        let controller = try await BroadcastActivity.load(
            ExtensionManifest(ofPeer: link), source: source, applicationID: "com.example.budget",
            identity: .ephemeral(), lock: lock
        ) { _ in ["title": "Accounts"] }
        try await controller.startBroadcast(countdown: 1)
        var events = controller.events.makeAsyncIterator()
        #expect(await events.next() == .countdown(1))
        #expect(await events.next() == .started)
        #expect(login.isObserved())
        source.setHidden(true)
        #expect(await events.next() == .movedToBackground)
        #expect(await controller.isPaused())
        // Hidden and locked: both have to end.
        login.send("Lock")
        for await isLocked in lock.stream where isLocked { break }
        source.setHidden(false)
        login.send("Unlock")
        #expect(await events.next() == .returnedToForeground)
        #expect(await controller.isPaused())
        #expect(await controller.resumeBroadcast())
        login.send("Lock")
        #expect(await events.next() == .movedToBackground)
        // Who resumes meanwhile is not asked.
        #expect(await controller.resumeBroadcast())
        login.send("Unlock")
        service.send(ServiceInfo(viewers: 7))
        service.send(ServiceInfo(likes: 2))
        #expect(await events.next() == .serviceInfo(.init(viewers: 7)))
        #expect(await events.next() == .serviceInfo(.init(likes: 2)))
        #expect(controller.serviceInfo == .init(viewers: 7, likes: 2))
        await controller.finishBroadcast()
        #expect(await events.next() == .finished(nil))
        await service.stop()
    }

    @Test func aCountdownThatIsEndedCapturesNothing() async throws {
        let (service, link) = try await service(CountingSink()) { _ in .accepted }
        let source = try source()
        let controller = try await BroadcastActivity.load(
            ExtensionManifest(ofPeer: link), source: source, applicationID: "com.example.budget",
            identity: .ephemeral()
        ) { _ in ["title": "Accounts"] }
        let start = Task { () -> ShareKitError? in
            do throws(ShareKitError) {
                try await controller.startBroadcast(countdown: 8)
                return nil
            } catch {
                return error
            }
        }
        var events = controller.events.makeAsyncIterator()
        #expect(await events.next() == .countdown(8))
        await controller.finishBroadcast()
        #expect(await start.value?.code == .declined)
        #expect(!source.isCaptured && !controller.isBroadcasting)
        await service.stop()
    }

    @Test func aUserWhoDeclinesAndAServiceThatRefusesAreErrors() async throws {
        let (service, link) = try await service(CountingSink()) { _ in .refused("not today") }
        let source = try source()
        let declined = await #expect(throws: ShareKitError.self) {
            try await BroadcastActivity.load(
                ExtensionManifest(ofPeer: link), source: source, applicationID: "com.example.budget",
                identity: .ephemeral()
            ) { _ in nil }
        }
        #expect(declined?.code == .declined)
        let refused = await #expect(throws: ShareKitError.self) {
            try await BroadcastActivity.load(
                ExtensionManifest(ofPeer: link), source: source, applicationID: "com.example.budget",
                identity: .ephemeral()
            ) { _ in ["title": "Accounts"] }
        }
        #expect(refused?.code == .refused && refused?.message.contains("not today") == true)
        #expect(!source.isCaptured)
        await service.stop()
    }

    @Test func aControllerThatIsNotStartedCanBeGivenUp() async throws {
        let (service, link) = try await service(CountingSink()) { _ in .accepted }
        let controller = try await BroadcastActivity.load(
            ExtensionManifest(ofPeer: link), source: try source(), applicationID: "com.example.budget",
            identity: .ephemeral()
        ) { _ in ["title": "Accounts"] }
        await controller.finishBroadcast()
        await #expect(throws: ShareKitError.self) { try await controller.startBroadcast() }
        await service.stop()
    }
}

extension ExtensionManifest {
    init(ofPeer link: ServiceLink) throws {
        try self.init(ServiceDescription(id: link.id, name: link.id.text), service: link)
    }
}
