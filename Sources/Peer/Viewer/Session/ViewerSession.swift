import Admission
import EventLoop
public import HTTP
import ICETransport
public import Identifiers
public import Identity
import LinuxRuntime
public import MediaCore
import MediaEngine
public import PeerConnection
import PeerEngine
import SessionDescription
public import Signaling
import Synchronization

/// Watches a broadcast: knocks, connects, and passes received media to a sink. A viewer, a recorder and a service
/// differ only in their sinks.
///
/// `ViewerSessionState` decides, and this type carries its actions out, with a `ViewerConnection` for each server. Call
/// `run` once; it returns the reason when the session is over. `leave` ends the session, from any thread.
public final class ViewerSession: Sendable {
    typealias State = ViewerSessionState<ViewerFailure, ViewerSessionEvent>

    struct Settings {
        let link: Link
        let identity: Identity
        let name: String
        let servers: [ICEServer]
        let usesOnlyRelays: Bool
        let records: Bool
    }

    let settings: Settings
    let emit: @Sendable (ViewerSessionEvent) -> Void
    let loop: EventLoop
    let resources: SharedResources?
    let sink: any EncodedMediaSink
    /// Hands the sink to the connection to another server; nil for a sink that forwards packets.
    let sinks: SinkHandover?
    let logic: StateMachineRunner<State>
    /// Those that have not ended, by their numbers.
    private let connections = Mutex<[Int: ViewerConnection]>([:])
    private let outcome = OneShot<EndReason>()
    let encryption = Mutex(ViewerEncryption())
    private let socket = Mutex<LoopBound<ICELiteSocket>?>(nil)
    /// Where the servers are that have named others to go on at. The user has named the first one.
    private let namers = Mutex<Set<CandidatePolicy.Place>>([])
    /// The highest temporal layer to ask for; nil: all.
    let layerLimit = Mutex<Int?>(nil)
    let channel = ViewerMessageChannel()
    /// Limits the connections to servers that hosts and relays have named, over the whole session.
    let serverAttempts = ConnectionAttempts()

    /// - Parameters:
    ///   - servers: STUN and TURN servers to use beside those that the host names.
    ///   - usesOnlyRelays: hides this machine's addresses from the host in the media path.
    ///   - records: tells the host, and so its user and the other viewers, that this viewer records.
    ///   - sink: used by this session only, which closes it at its end.
    public convenience init(
        link: Link, identity: Identity, name: String, servers: [ICEServer] = [], usesOnlyRelays: Bool = false,
        records: Bool = false, sink: any EncodedMediaSink, emit: @escaping @Sendable (ViewerSessionEvent) -> Void
    ) {
        self.init(
            link: link, identity: identity, name: name, servers: servers, usesOnlyRelays: usesOnlyRelays,
            records: records, sink: sink, resources: nil, emit: emit)
    }

    /// - Parameter resources: nil: the session has threads of its own.
    package init(
        link: Link, identity: Identity, name: String, servers: [ICEServer] = [], usesOnlyRelays: Bool = false,
        records: Bool = false, sink: any EncodedMediaSink, resources: SharedResources?,
        emit: @escaping @Sendable (ViewerSessionEvent) -> Void
    ) {
        let isForwarding = sink is any ForwardingSink
        settings = Settings(
            link: link, identity: identity, name: name, servers: servers, usesOnlyRelays: usesOnlyRelays,
            records: records)
        self.resources = resources
        self.emit = emit
        self.sink = sink
        sinks = isForwarding ? nil : SinkHandover(sink)
        loop = resources?.loop ?? EventLoop(name: "net-0")
        let rules = State.Rules(
            followsAlternates: resources?.followsAlternates ?? true, handsSinkOver: !isForwarding)
        logic = StateMachineRunner(State(home: link, rules: rules), on: loop)
    }

    /// Runs the session from the knock to its end.
    public func run() async -> EndReason {
        handle(.start)
        let reason = await outcome.value
        let rest = connections.withLock { connections in
            defer { connections = [:] }
            return connections.values
        }
        for connection in rest { await connection.close() }
        logic.close()
        channel.close()
        await stopLoop()
        return reason
    }

    /// Ends the session; `run` returns soon after.
    public func leave(_ reason: EndReason = EndReason(.stopped, "you left")) { handle(.leave(ViewerFailure(reason))) }

    /// Sets the highest temporal layer of the video to ask for, in sessions that begin from now on.
    public func limitLayers(to layer: Int) { layerLimit.withLock { $0 = layer } }

    /// Which server sends the media. Nil before the first one has admitted this viewer.
    package var route: MediaRoute? {
        guard let link = present?.link else { return nil }
        return encryption.withLock { $0.route(at: link, home: settings.link) }
    }

    /// Says something to the host.
    /// - Throws: `.refused` if this viewer may not; `.tooMany` for too many messages; `.gone` without a session.
    public func send(_ message: ViewerMessage) async throws(SignalingError) {
        guard let connection = present else { throw SignalingError(.gone, "this viewer does not watch yet") }
        if isOverRelay { return try await sendSealed([message]) }
        try await connection.client().send([message])
    }

    /// Tells all viewers and the host what this viewer's pointer does.
    /// - Returns: false if the host does not allow it, or it cannot be told at the moment.
    @discardableResult public func send(_ gesture: PointerGesture) -> Bool { channel.send(gesture) }

    /// Passes an input on to the host's screen.
    /// - Returns: false if the host does not allow it, or it cannot be told at the moment.
    @discardableResult public func send(_ input: ControlInput) -> Bool { channel.send(input) }

    /// Nil before and after the session.
    public func statistics() async -> ViewerStatistics? {
        await present?.media.ifRunning { $0.stream.statistics } ?? nil
    }

    /// The codecs and extensions that the sink takes, for an offer.
    /// - Parameter announced: the codec that the server has announced; nil: it has not.
    func capabilities(for announced: VideoCodec?) -> MediaCapabilities {
        var capabilities = MediaCapabilities.receiving(
            announced.map { sink.videoCodecs(for: $0) } ?? sink.videoCodecs)
        if sink is any ForwardingSink {
            // It can make no use of references, and says how much its own viewers can get.
            (capabilities.usesReferences, capabilities.limitsBitrate) = (false, true)
        }
        return capabilities
    }

    // MARK: Connections

    /// The connection whose media is shown.
    var present: ViewerConnection? { logic.read { $0.presentNumber }.flatMap(connection) }

    private func connection(_ number: Int) -> ViewerConnection? { connections.withLock { $0[number] } }

    @discardableResult
    private func remove(_ number: Int) -> ViewerConnection? { connections.withLock { $0.removeValue(forKey: number) } }

    /// - Parameter former: the connection whose media the new one takes over.
    private func open(_ number: Int, _ link: Link, former: Int?) async -> State.Result {
        let media: LoopBound<ViewerConnection.Media>
        if let former = former.flatMap({ remove($0) }) {
            media = former.media
            await media.ifRunning { $0.moveOn(to: number) }
        } else if let made = await makeMedia(number) {
            media = made
        } else {
            return .failed(ViewerFailure(.attemptEnded))
        }
        // Only the host itself sends what is not encrypted again.
        let keys = link == settings.link ? nil : encryption.withLock { $0.keys }
        await media.ifRunning { $0.stream.decryption = keys.map { FrameDecryption($0) } }
        let connection = ViewerConnection(number, at: link, of: self, media)
        connections.withLock { $0[number] = connection }
        if former == nil, resources == nil {
            // While the server is asked, the loop has nothing else to do.
            loop.perform { [settings, loop] in
                PeerConnection.initializeLibraries(for: settings.identity, on: loop)
            }
        }
        return .opened
    }

    /// Nil if the loop has stopped.
    func makeMedia(_ number: Int) async -> LoopBound<ViewerConnection.Media>? {
        await LoopBound(loop, self).ifRunning { LoopBound($0.loop, ViewerConnection.Media(of: $0, number)) }
    }

    func makeClient(_ link: Link) throws(SignalingError) -> SignalingClient {
        var configuration = SignalingClient.Configuration()
        configuration.sharesThreads = resources != nil
        configuration.localAddress = resources?.localAddress
        configuration.permits =
            link == settings.link
            ? resources?.permits : ServerAddressRule(namedAt: namers.withLock { $0 }).permits
        return try SignalingClient(link: link, configuration: configuration)
    }

    /// The server of this link has admitted the viewer, and may name others.
    func noteNamer(_ link: Link) {
        let place = CandidatePolicy.place(of: link.host, own: ICEAgent.localInterfaceAddresses())
        namers.withLock { _ = $0.insert(place) }
    }

    /// The socket of a session that shares a loop; nil if it does not.
    func sharedSocket() async throws(EndReason) -> LoopBound<ICELiteSocket>? {
        guard let resources else { return nil }
        if let known = resources.socket ?? socket.withLock({ $0 }) { return known }
        let opened = await LoopBound(loop, ()).ifRunning { [self] _ -> LoopBound<ICELiteSocket>? in
            // Two connections may open it at the same time.
            if let known = socket.withLock({ $0 }) { return known }
            let addresses = resources.localAddress.map { [$0] }
            let made = try? LoopBound(loop, ICELiteSocket(loop: loop, addresses: addresses, isOneOfMany: true))
            socket.withLock { $0 = made }
            return made
        }
        guard let opened = opened ?? nil else {
            throw EndReason(.failed, "no UDP socket can be opened at \(resources.localAddress ?? "any address")")
        }
        return opened
    }

    private func stopLoop() async {
        guard resources != nil else { return await loop.stop() }
        await socket.withLock({ $0 })?.performAndWait { socket, done in
            socket.close()
            done()
        }
    }
}

extension ViewerSession {
    func handle(_ input: State.Input) { logic.handle(input, of: self) { $0.carryOut($1) } }

    private func carryOut(_ action: State.Action) {
        switch action {
        case .request(let id, let number, .open(let link, let former)):
            Task { handle(.result(id, await open(number, link, former: former))) }
        case .request(let id, let number, let request):
            guard let connection = connection(number) else {
                return handle(.result(id, ViewerConnection.resultWithoutConnection(request)))
            }
            connection.begin(request) { [self] result in
                if case .withdrawn(true) = result { remove(number) }
                handle(.result(id, result))
            }
        case .noteNamer(let link): noteNamer(link)
        case .listen(let number): connection(number)?.listen()
        case .noteAttempt(let number, let result, let failure):
            connection(number)?.noteAttempt(result, failure.reason)
        case .closeConnections(let number): connection(number)?.closeConnections()
        case .retire(let number): remove(number)?.retire()
        case .returnViewers: resources?.onReturn?()
        case .tell(let report): emit(event(of: report))
        case .pass(let event): emit(event)
        case .end(let failure): outcome.fulfil(failure.reason)
        }
    }
}
