import FoundationEssentials
public import HTTP
package import Identifiers
import Identity
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Serves the page of a link to a browser of this machine, at 127.0.0.1, so that no relay can change it, and passes its
/// requests on to the link's host (`share join --browser`). This program checks the certificate of the host, or of the
/// relay, by the link, as the browser cannot. Page and host are end to end all the same: what passes here is what
/// passes through a relay.
///
/// Call `stop` once or more.
public final class LocalPageServer: Sendable {
    public enum Event: Sendable {
        /// A browser has loaded the page.
        case opened
        /// No page is open any more.
        case left
        /// A request of the page has failed.
        case failed(SignalingError)
    }

    private static let connectionLimit = 128
    /// For the first request of a connection to come, with the secret.
    static let strangerLimit = TimeAmount.seconds(10)

    /// The address of the page, with the link's secret behind the #.
    public let address: String
    let rules: LocalPageRules
    let places: LocalPagePlaces
    let presence: LocalPagePresence
    private let viewer: String
    private let report: @Sendable (Event) -> Void
    private let listener: any Channel
    private let connections: LocalPageConnections

    /// - Parameters:
    ///   - viewer: the name that the page proposes.
    ///   - rule: which addresses a server may have that others have named.
    ///   - absence: for how long no page is open before `left` is reported.
    ///   - report: called on any thread.
    /// - Throws: `SignalingError`; errors of NIO if no port can be opened.
    package init(
        _ link: Link, viewer: String,
        rule: @escaping @Sendable (_ namers: [String]) -> @Sendable (_ address: String) -> Bool,
        absence: Duration = .seconds(10), report: @escaping @Sendable (Event) -> Void
    ) async throws {
        places = try LocalPagePlaces(link, rule: rule)
        presence = LocalPagePresence(absence: TimeAmount(absence)) { report(.left) }
        (self.viewer, self.report) = (viewer, report)
        let connections = LocalPageConnections(limit: Self.connectionLimit)
        self.connections = connections
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .pausingWithoutDescriptors()
            .serverChannelOption(.backlog, value: 16)
            .childChannelInitializer { channel in
                guard connections.enter(channel) else {
                    return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
                }
                return channel.eventLoop.makeCompletedFuture {
                    let upgrade = MessageSocket.upgrade { pipeline in
                        guard let handler = try? pipeline.context(handlerType: LocalPageHandler.self) else { return }
                        pipeline.removeHandler(context: handler, promise: nil)
                    } accept: { head in
                        await connections.server?.openMessages(head)
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withServerUpgrade: upgrade)
                    try channel.pipeline.syncOperations.addHandler(LocalPageHandler(connections))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        rules = LocalPageRules(port: port, token: Base64URL.encode(randomBytes(16)))
        let fragment = link.text.drop { $0 != "#" }
        address = "http://\(rules.authority)\(rules.base(of: 0))/\(link.id.text)\(fragment)"
        connections.serve(self)
    }

    /// Ends the sessions of open pages, and tells the pages that the program has ended.
    public func stop() async {
        presence.close()
        try? await listener.close()
        await places.close()
        await connections.close()
    }

    func decide(_ head: HTTPRequestHead) -> LocalPageRules.Decision {
        rules.decide(head) { [places] in places[$0]?.link.id }
    }

    /// Opens the page's WebSocket of messages at its host.
    /// - Returns: nil if it is another request, or the host does not open it.
    func openMessages(_ head: HTTPRequestHead) async -> (upgrade: SocketUpgrade, chosen: String)? {
        guard head.method == .GET, case .forward(let number, let path) = decide(head), let place = places[number],
            path == "/\(place.link.id.text)/messages",
            case let offered = head.headers[canonicalForm: "Sec-WebSocket-Protocol"].map(String.init),
            let host = try? await place.client.webSocket(path, protocols: offered)
        else { return nil }
        let page = MessageSocket(.server)
        let upgrade = SocketUpgrade(page) {
            let reading = Task {
                for await case .text(let text) in host.messages { page.send(text) }
                page.close(await host.closed.value ?? .goingAway)
            }
            for await case .text(let text) in page.messages { host.send(text) }
            host.close(await page.closed.value ?? .goingAway)
            await reading.value
        }
        return (upgrade, BroadcastRoutes.socketProtocol)
    }

    func noteFailure(_ error: SignalingError) { report(.failed(error)) }

    /// The page of a place.
    func page(of place: Int) -> LocalPageAnswer {
        report(.opened)
        return .page(PageFiles.localViewer(base: rules.base(of: place), viewer: viewer))
    }

    func asset(_ asset: LocalPageRules.Asset, of place: Int) -> LocalPageAnswer {
        switch asset {
        case .script:
            guard let link = places[place]?.link else { return .refusal(.notFound) }
            let script = PageFiles.script(of: link.relay ?? link.fingerprint)
            return LocalPageAnswer(.ok, type: "text/javascript; charset=utf-8", script)
        case .worker: return LocalPageAnswer(.ok, type: "text/javascript; charset=utf-8", PageFiles.sealWorker)
        case .style: return LocalPageAnswer(.ok, type: "text/css; charset=utf-8", PageFiles.style)
        case .icon: return LocalPageAnswer(.ok, type: "image/svg+xml", PageFiles.icon)
        }
    }

    /// Has the page's requests for the server to which it was sent passed on to that one.
    func addPlace(_ body: ByteBuffer, from known: Int) async -> LocalPageAnswer {
        guard let number = await places.add(body, from: known),
            let data = try? JSONEncoder().encode(LocalPagePlaces.Answer(base: rules.base(of: number)))
        else { return .refusal(.forbidden) }
        return LocalPageAnswer(.ok, type: "application/json", String(decoding: data, as: UTF8.self))
    }
}

/// The connections of a ``LocalPageServer``.
final class LocalPageConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        weak var server: LocalPageServer?
        var isClosed = false
    }

    private let limit: Int
    private let state = Monitor(State())

    init(limit: Int) { self.limit = limit }

    /// Nil before the start and after the end.
    var server: LocalPageServer? { state.with { $0.server } }

    func serve(_ server: LocalPageServer) { state.with { $0.server = server } }

    /// - Returns: false if there are too many.
    func enter(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let isTaken = state.with { state in
            guard !state.isClosed, state.channels.count < limit else { return false }
            state.channels[id] = channel
            return true
        }
        if isTaken { channel.closeFuture.whenComplete { [self] _ in state.with { $0.channels[id] = nil } } }
        return isTaken
    }

    func close() async {
        let channels = state.with { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { try? await channel.close() }
    }
}
