public import HTTP
import HTTPTypes
public import Identifiers
import NIOCore
import SessionDescription

/// The host's or the service's side of a tunnel at a relay: answers the requests that the relay forwards by a server
/// that nobody has to reach. Connects again after an outage.
///
/// Call `start` once, and `stop` at the end.
public actor TunnelClient {
    public enum Event: Sendable {
        /// Viewers cannot knock until `connected`. Those who watch go on.
        case interrupted
        case connected
        /// Nobody can knock there any more. With `.replaced`, another program with the same certificate may have taken
        /// its place.
        case ended(String, TunnelEnd)
        /// The directory does not list the broadcast.
        case notListed(String)
    }

    private struct Request {
        var task: Task<Void, Never>
        var closed: EventLoopPromise<Void>
        /// That it has opened.
        var socket: MessageSocket?
    }

    private let client: ServiceClient
    private let server: SignalingServer
    private let id: TunnelID
    private var listing: Listing?
    /// Has the broadcast listed. Made with the first request.
    private var lister: CoalescedAction?
    /// A failure to list the broadcast is reported, once.
    private var reportsListing = false
    private let isOwnAddress: @Sendable (String) -> Bool
    private let emit: @Sendable (Event) -> Void
    private var requests: [Int: Request] = [:]
    private var running: Task<Void, Never>?
    private var isStopped = false
    /// Responses that are being sent, and those that wait for that.
    private var sending = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// A relay forwards half as many at a time.
    private static let requestLimit = 1_024
    /// Between attempts to connect again. It grows until a stream has lasted: a relay may end each.
    private static let shortestDelay = Duration.milliseconds(250)
    private static let longestDelay = Duration.seconds(5)
    private static let stableTime = Duration.seconds(5)
    /// The most connections that send responses.
    private static let sendingLimit = 8

    /// - Parameters:
    ///   - client: with a granted pairing. `stop` closes it.
    ///   - server: runs, and serves what the tunnel leads to.
    ///   - listing: to be listed in the relay's directory; nil: not.
    ///   - isOwnAddress: whether a numeric address is one of this machine.
    public init(
        _ id: TunnelID, client: ServiceClient, server: SignalingServer, listing: Listing? = nil,
        isOwnAddress: @escaping @Sendable (String) -> Bool,
        emit: @escaping @Sendable (Event) -> Void
    ) {
        self.id = id
        self.client = client
        self.server = server
        self.listing = listing
        self.isOwnAddress = isOwnAddress
        self.emit = emit
    }

    /// Opens the tunnel.
    public func start() async throws(SignalingError) {
        let events = try await client.tunnel(id)
        guard !isStopped else { return }
        running = Task { [weak self] in await self?.run(events) }
        await list()
    }

    /// Reports how many watch, if the broadcast is listed.
    public func note(viewers: Int) async {
        guard let listing, listing.viewers != viewers, !isStopped else { return }
        self.listing?.viewers = viewers
        await list(isNews: false)
    }

    /// Has the broadcast listed as it is now. A relay that takes its time gets the newest state next.
    /// - Parameter isNews: a failure is reported.
    private func list(isNews: Bool = true) async {
        reportsListing = reportsListing || isNews
        let lister = lister ?? CoalescedAction { [weak self] in await self?.listOnce() }
        self.lister = lister
        await lister.run()
    }

    private func listOnce() async {
        guard let listing, !isStopped else { return }
        let isNews = reportsListing
        reportsListing = false
        do throws(SignalingError) {
            try await client.list(listing)
        } catch {
            if isNews { emit(.notListed(error.description)) }
        }
    }

    /// Ends the tunnel. May be called more than once.
    public func stop() async {
        guard !isStopped else { return }
        isStopped = true
        running?.cancel()
        cancelAll()
        await client.leave(id)
        await client.close()
    }

    private func run(_ first: AsyncThrowingStream<TunnelEvent, any Error>) async {
        var events = first
        var delay = Self.shortestDelay
        while !Task.isCancelled {
            let opened = ContinuousClock.now
            do {
                for try await event in events {
                    if case .finished(let reason, let end) = event {
                        cancelAll()
                        return emit(.ended(reason, end))
                    }
                    await handle(event)
                }
            } catch {}
            cancelAll(because: Interrupted())
            guard !Task.isCancelled else { return }
            emit(.interrupted)
            // Those of before the outage may be dead.
            await client.closeConnections()
            var isStable = ContinuousClock.now - opened >= Self.stableTime
            if isStable { delay = Self.shortestDelay }
            connecting: while true {
                // At once where the stream had lasted.
                if !isStable {
                    guard (try? await Task.sleep(for: delay)) != nil else { return }
                    delay = min(delay * 2, Self.longestDelay)
                }
                isStable = false
                do throws(SignalingError) {
                    events = try await client.tunnel(id)
                    break connecting
                } catch {
                    switch error.code {
                    case .gone: return emit(.ended("the relay has forgotten it", .relayStopped))
                    case .refused: return emit(.ended("the relay refuses it: \(error.description)", .unwanted))
                    default: break
                    }
                }
            }
            emit(.connected)
            // The viewers' requests do not wait for that.
            Task { await list() }
        }
    }

    private func handle(_ event: TunnelEvent) async {
        switch event {
        case .request(let request):
            guard requests[request.number] == nil, requests.count < Self.requestLimit,
                let eventLoop = await server.eventLoop, !isStopped, requests[request.number] == nil
            else { return }
            var request = request
            request.address = believable(request.address)
            let closed = eventLoop.makePromise(of: Void.self)
            let task = Task { [request] in await self.answer(request, eventLoop, closed.futureResult) }
            requests[request.number] = Request(task: task, closed: closed)
        case .text(let text):
            guard let socket = requests[text.number]?.socket else { return }
            if !socket.received(.text(text.text)) { socket.close(.tooSlow) }
        case .cancelled(let number): cancel(number)
        case .finished: break
        }
    }

    /// Returns a viewer's address as far as the relay can be believed. A viewer on this machine or this link may send
    /// candidates there (`CandidatePolicy`); that it is one, only a relay on this machine can know.
    private func believable(_ text: String) -> String {
        guard !text.contains("%"), let address = IPAddress(text) else { return Self.unknownAddress }
        let isLocal = IPAddress(client.link.host)?.isLoopback ?? (client.link.host == "localhost")
        guard !isLocal, address.isLoopback || address.isLinkLocal || isOwnAddress(text) else { return text }
        return Self.unknownAddress
    }

    private static let unknownAddress = "0.0.0.0"

    /// Fails the requests of viewers that have not left.
    private struct Interrupted: Error {}

    /// - Parameter outage: nil: the viewer waits no longer.
    private func cancel(_ number: Int, because outage: Interrupted? = nil) {
        guard let request = requests.removeValue(forKey: number) else { return }
        if let outage { request.closed.fail(outage) } else { request.closed.succeed(()) }
        request.socket?.ended(nil)
        request.task.cancel()
    }

    private func cancelAll(because outage: Interrupted? = nil) {
        for number in Array(requests.keys) { cancel(number, because: outage) }
    }

    // MARK: Responses

    private func answer(
        _ request: ForwardedRequest, _ eventLoop: any EventLoop, _ closed: EventLoopFuture<Void>
    ) async {
        defer { cancel(request.number) }
        let response = await server.respond(to: request, for: id, on: eventLoop, closed: closed)
        if let upgrade = response.upgrade { return await open(upgrade, request.number) }
        let head = ForwardedResponse(
            status: Int(response.status.code), headers: response.headers.map { [$0.name.canonicalName, $0.value] })
        let isWhole = response.body.length != nil
        let writer = PartWriter(first: head, isWhole: isWhole) { [weak self] part in
            guard let self, try await send(part, to: request.number) else { throw CancellationError() }
        }
        // A viewer that has gone is no failure.
        try? await response.body.write(writer)
    }

    /// Answers with a WebSocket, and passes on what is sent on it until it is closed.
    private func open(_ upgrade: SocketUpgrade, _ number: Int) async {
        let (parts, feed) = AsyncStream.makeStream(of: ForwardedResponse.self)
        feed.yield(ForwardedResponse(status: 101, continues: true))
        let socket = upgrade.socket
        requests[number]?.socket = socket
        socket.opened(
            .init(
                write: { feed.yield(ForwardedResponse(body: $0, continues: true)) },
                close: { code in
                    feed.yield(ForwardedResponse(code: code.rawValue))
                    feed.finish()
                    socket.ended(code)
                }))
        async let reading: Void = upgrade.run()
        for await part in parts {
            // A viewer that has gone is no failure.
            guard (try? await send(part, to: number)) == true else { break }
            if part.body != nil { socket.written() }
        }
        socket.ended(nil)
        await reading
    }

    /// Sends a part, not more than some at a time.
    private func send(_ part: ForwardedResponse, to number: Int) async throws -> Bool {
        if sending >= Self.sendingLimit {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            sending += 1
        }
        defer { if waiting.isEmpty { sending -= 1 } else { waiting.removeFirst().resume() } }
        guard !isStopped, requests[number] != nil else { return false }
        return try await client.respond(part, to: number, of: id)
    }
}

/// Writes a response's body as parts. A body of known length is one part.
private struct PartWriter: ResponseBodyWriter {
    private var pending: ForwardedResponse
    private let isWhole: Bool
    private let send: @Sendable (ForwardedResponse) async throws -> Void

    init(first: ForwardedResponse, isWhole: Bool, send: @escaping @Sendable (ForwardedResponse) async throws -> Void) {
        pending = first
        self.isWhole = isWhole
        self.send = send
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        pending.body = (pending.body ?? "") + String(buffer: buffer)
        guard !isWhole else { return }
        pending.continues = true
        try await send(pending)
        pending = ForwardedResponse()
    }

    mutating func finish() async throws { try await send(pending) }
}
