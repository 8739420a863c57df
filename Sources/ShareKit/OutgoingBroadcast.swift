import Admission
internal import Extensions
internal import Host
internal import Identity
internal import MediaCore
internal import PeerConnection
internal import Signaling
internal import VPXCodec

/// A broadcast to one destination, however it gets there.
struct OutgoingBroadcast: Sendable {
    let control: any ControllableBroadcast
    private let begin: @Sendable () async throws(EndReason) -> Void
    private let destination: BroadcastDestination

    /// - Parameters:
    ///   - configuration: without a server; its STUN and TURN servers are used beside the service's.
    ///   - decide: answers viewers about whom a relay asks.
    ///   - emit: called from any thread.
    ///   - report: called from any thread with what the service tells.
    init(
        _ destination: BroadcastDestination, _ media: CapturedMedia, _ configuration: HostSession.Configuration,
        _ identity: Identity, decide: @escaping HostSession.KnockPolicy = { _ in .refused(nil) },
        emit: @escaping @Sendable (BroadcastEvent) -> Void,
        report: @escaping @Sendable (ServiceEvent) -> Void
    ) throws(EndReason) {
        self.destination = destination
        switch destination {
        case .service(let paired):
            var configuration = configuration
            configuration.ice.grantedServers = paired.grantedServers
            let session = try HostSession(
                configuration, identity, media, decide: decide, emit: emit)
            control = session
            begin = { () async throws(EndReason) in try await session.start(publishingTo: paired, report: report) }
        case .program(let launch, _):
            var settings = launch.configuration
            settings.framesPerSecond = configuration.framesPerSecond
            settings.maximumBitrate = configuration.maximumBitrate
            let broadcast = ExtensionBroadcast(
                settings, source: media.takeScreen(), makeEncoder: { VP8Encoder() }, audio: media.audio, emit: emit,
                report: report)
            control = broadcast
            begin = { () async throws(EndReason) in try await broadcast.start() }
        }
    }

    func start() async throws(EndReason) { try await begin() }

    func stop(_ reason: EndReason) async {
        await control.stop(reason)
        await destination.close()
    }
}

extension HostSession {
    /// A session that encodes VP8.
    convenience init(
        _ configuration: Configuration, _ identity: Identity, _ media: CapturedMedia, decide: @escaping KnockPolicy,
        emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) throws(EndReason) {
        do throws(CodecFailure) {
            try self.init(
                configuration: configuration, identity: identity, source: media.takeScreen(), encoder: VP8Encoder(),
                audio: media.audio, decide: decide, emit: emit)
        } catch {
            throw EndReason(.failed, "the encoder cannot be started: \(error.message)")
        }
    }
}

extension HostSession.Configuration {
    /// For the frames of an app that go to a service.
    init(publishing source: ApplicationSource) {
        self.init(
            listenHost: "0.0.0.0", listenPort: 0, linkHost: "", fixedToken: nil, framesPerSecond: 60,
            maximumBitrate: .kilobits(20_000), contentHint: nil, maximumViewers: 1, name: source.name)
    }
}
