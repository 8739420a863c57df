internal import Admission
internal import InAppCapture
internal import MediaCore
internal import Publishing
internal import Sessions
internal import Signaling
internal import Transport
internal import Uploading
internal import VPXCodec

/// A broadcast to one service, however it gets there.
protocol OutgoingBroadcast: Sendable {
    func start() async throws(EndReason)
    func pause() async -> Bool
    func resume() async -> Bool
    var isPaused: Bool { get async }
    func stop(_ reason: EndReason) async
}

/// A broadcast to a service peer, by WHIP.
struct ServiceBroadcast: OutgoingBroadcast {
    private let session: HostSession
    private let paired: PairedService
    private let report: @Sendable (ServiceEvent) -> Void

    init(
        _ paired: PairedService, source: ApplicationSource, identity: Identity,
        emit: @escaping @Sendable (BroadcastEvent) -> Void, report: @escaping @Sendable (ServiceEvent) -> Void
    ) throws(ShareKitError) {
        self.paired = paired
        self.report = report
        var configuration = HostSession.Configuration(
            listenHost: "0.0.0.0", listenPort: 0, linkHost: "", fixedToken: nil, framesPerSecond: 60,
            maximumBitrate: .kilobits(20_000), contentHint: nil, maximumViewers: 1, name: source.name)
        configuration.iceServers = paired.iceServers
        do throws(CodecFailure) {
            session = try HostSession(
                configuration: configuration, identity: identity, source: source.surface.makeScreen(),
                encoder: VP8Encoder(),
                audio: source.audioInputs, decide: { _ in .refused(nil) }, emit: emit)
        } catch {
            throw ShareKitError(.failed, "the encoder cannot be started: \(error.message)")
        }
    }

    func start() async throws(EndReason) { try await session.start(publishingTo: paired, report: report) }
    func pause() async -> Bool { await session.pause() }
    func resume() async -> Bool { await session.resume() }
    var isPaused: Bool { get async { await session.isPaused() } }

    func stop(_ reason: EndReason) async {
        await session.stop(reason)
        await paired.close()
    }
}

extension ExtensionBroadcast: OutgoingBroadcast {
    func pause() async -> Bool { setPaused(true) }
    func resume() async -> Bool { setPaused(false) }
}
