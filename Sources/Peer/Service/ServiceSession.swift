public import Admission
package import EventLoop
public import HTTP
import Host
package import ICETransport
public import Identifiers
public import Identity
import LinuxRuntime
public import MediaCore
public import PeerConnection
public import Signaling
public import Viewer

/// Takes broadcasts in under one service identifier: pairs with hosts, receives by WHIP, and passes the media of each
/// broadcast to a sink of its own.
///
/// Call `start` once. `stop` frees everything and may be called twice.
public final class ServiceSession: Sendable {
    let configuration: Configuration
    let identity: Identity
    let decidePairing: @Sendable (PairingRequest) async -> PairingDecision
    let makeSink: @Sendable (SessionID, Publisher) -> (any EncodedMediaSink)?
    let emit: @Sendable (ServiceSessionEvent) -> Void
    package let loop = EventLoop(name: "net-0")

    struct State {
        var server: SignalingServer?
        var port = 0
        var registration: RelayRegistration?
        var handle: ServiceResource?
        var servers = ICEServerPreparation.Addresses()
        var socket: LoopBound<ICELiteSocket>?
        var broadcasts: [SessionID: IncomingBroadcast] = [:]
        /// Ends when the broadcast has been closed and reported.
        var endings: [SessionID: Task<Void, Never>] = [:]
        /// The questions that wait for an answer.
        var questions: [KnockID: PairingRequest] = [:]
        /// Of the STUN and TURN servers.
        var preparation: ICEServerPreparation?
        var isStopped = false
        /// No further broadcast is taken.
        var isFull = false
        var takesSessions: Bool { !isStopped && !isFull }
    }
    let state = Monitor(State())

    /// How often the server is told which publishers are heard.
    private static let livenessInterval = Duration.seconds(1)

    /// - Parameters:
    ///   - decide: answers pairings; called for several at a time.
    ///   - makeSink: called once for each broadcast, whose session closes the sink; nil: it is not taken.
    ///   - emit: called from any thread.
    public init(
        configuration: Configuration, identity: Identity,
        decide: @escaping @Sendable (PairingRequest) async -> PairingDecision,
        makeSink: @escaping @Sendable (SessionID, Publisher) -> (any EncodedMediaSink)?,
        emit: @escaping @Sendable (ServiceSessionEvent) -> Void
    ) {
        self.configuration = configuration
        self.identity = identity
        decidePairing = decide
        self.makeSink = makeSink
        self.emit = emit
    }

    /// Opens the server.
    /// - Returns: the service's link, which `share extension install` takes.
    public func start() async throws(EndReason) -> ServiceLink { try await start(as: nil) }

    /// - Parameter relay: what the server does beside the service; nil: nothing.
    package func start(as relay: RelayRole?) async throws(EndReason) -> ServiceLink {
        var service = configuration.service
        let own = service.iceServers
        let registration = try await register(&service)
        let granted = GrantedServers(
            Array(service.iceServers.dropFirst(own.count)), by: configuration.relay?.host ?? configuration.linkHost)
        let preparation = ICEServerPreparation(
            own, granted: granted, attempts: ConnectionAttempts(burst: service.sessionCapacity * 8))
        state.with { $0.preparation = preparation }
        if !preparation.servers.isEmpty {
            let addresses = await preparation.addresses()
            for problem in addresses.problems { emit(.notice(.machine(.serverUnused(reason: problem)))) }
            state.with { $0.servers = addresses }
        }
        if let relay {
            state.with { $0.socket = relay.socket }
            if let server = relay.mediaServer, !service.iceServers.contains(where: \.isSTUN) {
                service.iceServers.append(server)
            }
        }
        // Hosts come by the tunnel, if there is one.
        let (usesSocket, guest) = (registration == nil, relay == nil ? Notice.Guest.host : .viewer)
        let server = SignalingServer(identity: identity, configuration: serverSettings(relay)) { [emit] in
            if usesSocket { emit(.notice(.machine(.listeningFailed(guest)))) }
        }
        let port: Int
        do throws(SignalingServerError) {
            let handle = try server.add(service, delegate: relay?.delegate ?? self)
            state.with { $0.handle = handle }
            port = try await server.start()
        } catch {
            await registration?.stop()
            throw EndReason(.portUnavailable, error.description)
        }
        let isRunning = state.with { state in
            if !state.isStopped { (state.server, state.port) = (server, port) }
            return !state.isStopped
        }
        guard isRunning else {
            await server.stop()
            throw EndReason(.stopped, "the service has stopped")
        }
        if let registration {
            do throws(SignalingError) {
                try await registration.open(on: server)
            } catch {
                await stop()
                throw EndReason(opening: error)
            }
            return registration.link
        }
        return ServiceLink(
            host: configuration.linkHost, port: port, id: service.description.id,
            fingerprint: identity.fingerprint, secret: service.linkSecret, flags: configuration.linkFlags)
    }

    private func serverSettings(_ relay: RelayRole?) -> SignalingServer.Configuration {
        var settings = SignalingServer.Configuration(host: configuration.listenHost, port: configuration.listenPort)
        settings.furtherPorts = configuration.furtherPorts
        settings.certificate = configuration.certificate
        settings.directory = relay?.directory
        settings.fetcher = relay?.fetcher
        settings.serve(viewers: relay?.viewers ?? 0, broadcasts: configuration.service.sessionCapacity)
        // Peers on one UDP port take no descriptors.
        settings.limit(
            connections: DescriptorPlan.ofThisProcess.connections(sharesPort: relay != nil))
        return settings
    }

    /// Presents this certificate to connections that come from now on. There was another one at the start.
    public func present(_ certificate: ServerCertificate) { state.with { $0.server }?.present(certificate) }

    /// Serves a broadcast to viewers, beside the service.
    /// - Returns: the broadcast, and the port of the server.
    package func serve(
        _ broadcast: ServedBroadcastConfiguration, delegate: any SignalingServerDelegate
    ) throws(SignalingServerError) -> (BroadcastResource, port: Int) {
        let (server, port) = state.with { ($0.server, $0.port) }
        guard let server else { throw .stopped }
        return (try server.add(broadcast, delegate: delegate), port)
    }

    /// Whether it takes in a broadcast in this session.
    package func has(_ session: SessionID) -> Bool { state.with { $0.broadcasts[session] != nil } }

    /// Whether further broadcasts are taken.
    package var takesSessions: Bool { state.with { $0.takesSessions } }

    /// The port of the server; 0 before the start.
    package var port: Int { state.with { $0.port } }

    /// The directory; nil if nothing is listed, or before the start.
    package var directory: DirectoryTable? { state.with { $0.server }?.directory }

    /// The UDP port that all peers share; nil: each has ports of its own.
    package var socket: LoopBound<ICELiteSocket>? { state.with { $0.socket } }

    /// The addresses of the STUN and TURN servers.
    package var iceServers: ICEServerPreparation.Addresses { state.with { $0.servers } }

    /// Sends viewers, likes or a comment to the publisher of a broadcast, or of all.
    public func send(_ info: ServiceInfo, to session: SessionID? = nil) {
        send(.serviceInfo(info), to: session)
    }

    /// Tells the publisher of a broadcast, or of all, where it can be watched.
    public func send(url: String, to session: SessionID? = nil) {
        send(.broadcastURL(url), to: session)
    }

    /// Sends an event to the publisher of a broadcast, or of all.
    package func send(_ event: ServiceEvent, to session: SessionID? = nil) {
        let (handle, sessions) = state.with { ($0.handle, session.map { [$0] } ?? Array($0.broadcasts.keys)) }
        for session in sessions { handle?.send(event, to: session) }
    }

    /// Of the service.
    package var id: ServiceID { configuration.service.description.id }

    /// Ends a broadcast, or all, and tells its publisher why.
    public func finish(_ session: SessionID? = nil, reason: String, nextStep: String? = nil) {
        let (handle, broadcasts) = state.with { state in
            (state.handle, session.map { id in state.broadcasts.filter { $0.key == id } } ?? state.broadcasts)
        }
        for (id, broadcast) in broadcasts {
            handle?.finish(id, reason: reason, nextStep: nextStep)
            broadcast.end(EndReason(.stopped, "you ended it: \(reason)"))
        }
    }

    /// Takes no further broadcast from now on.
    package func refuseBroadcasts() { state.change { $0.isFull = true } }

    /// Of the server, since its start.
    package var signalingStatistics: SignalingStatistics {
        state.with { $0.server }?.statistics ?? SignalingStatistics()
    }

    public func statistics(of session: SessionID) async -> ViewerStatistics? {
        await state.with { $0.broadcasts[session] }?.statistics()
    }

    /// Ends all broadcasts and frees everything.
    public func stop(reason: String = "the service has stopped") async {
        let (server, handle, isFirst) = state.with { state in
            defer { state.isStopped = true }
            return (state.server, state.handle, !state.isStopped)
        }
        guard isFirst else { return }
        finish(reason: reason)
        await handle?.end(reason: reason)
        for ending in state.with({ Array($0.endings.values) }) { await ending.value }
        // After the events of the end, which go over the relay.
        await state.with { $0.registration }?.stop()
        await server?.stop()
        await state.with { $0.preparation }?.close()
        state.with { $0.socket }?.perform { $0.close() }
        await loop.stop()
        // They refer to the session.
        state.with { ($0.server, $0.handle) = (nil, nil) }
    }

    // MARK: Broadcasts

    /// Runs a broadcast to its end.
    func run(_ broadcast: IncomingBroadcast) {
        let ending = Task {
            let reason = await broadcast.run()
            let handle = state.with { state in
                state.broadcasts[broadcast.id] = nil
                return state.handle
            }
            handle?.forget(broadcast.id)
            emit(.closed(broadcast.id, broadcast.publisher, reason))
            state.with { $0.endings[broadcast.id] = nil }
        }
        // A broadcast that has ended already has nothing to wait for.
        state.with { if $0.broadcasts[broadcast.id] != nil { $0.endings[broadcast.id] = ending } }
        Task { [weak self] in
            while let self, state.with({ $0.broadcasts[broadcast.id] != nil }) {
                if await broadcast.isHeard() { state.with { $0.handle }?.mediaReceived(broadcast.id) }
                try? await Task.sleep(for: Self.livenessInterval)
            }
        }
    }

    func report(_ event: ReceiveStream.Event, of session: SessionID) {
        switch event {
        case .connected(let path): emit(.connected(session, path: path))
        case .interrupted: emit(.interrupted(session))
        case .resumed: emit(.resumed(session))
        case .notice(let notice): emit(.notice(notice))
        case .keysNeeded, .ended: break
        }
    }
}
