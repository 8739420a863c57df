import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore
import NIOCore
import Synchronization

/// A broadcast whose host is reached over this server: forwards the requests of its viewers on the host's stream of
/// events, and returns the host's responses. Safe from any thread.
///
/// A service is reached in the same way: it is the host here, and the hosts that broadcast to it are the viewers.
/// The proofs of both sides pass through unread. Bounded: a response begins within 30 s, and the
/// requests that wait for one, the events that the host has not read, and the parts that viewers have not read are
/// limited in number and bytes, in all and for each address.
final class ReverseTunnel: Sendable {
    /// Of viewers' WebSockets.
    struct Sockets: Sendable {
        /// Sockets of one address.
        var ofAddress = 32
        /// What the viewer of each may send at once, and each second.
        var bytes = 98_304.0
        var bytesPerSecond = 49_152.0
        /// Texts that the viewer has not read; one more closes the socket.
        var unreadTexts = 16
    }

    struct Limits: Sendable {
        /// Requests whose response has not begun.
        var pending = 512
        var pendingOfAddress = 24
        /// Responses that have begun, such as streams of events.
        var open = 2_048
        var openOfAddress = 256
        /// Of the events that the host has not read.
        var unwritten = 1_048_576
        /// Of one address: what it may send at once, and each second.
        var bytesOfAddress = 131_072.0
        var bytesOfAddressPerSecond = 32_768.0
        var sockets = Sockets()
        /// Addresses whose bytes are counted. The bytes of others share one count.
        var addresses = 1_024
        /// Until the response begins. A host holds a poll for 20 s.
        var response = Duration.seconds(30)
        /// Parts of a response that its viewer has not read, and their bytes, of one response and of all.
        var unreadParts = 64
        var unreadBytes = 262_144
        var unreadBytesOfAll = 8_388_608
    }

    /// An event on its way to the host.
    struct Outgoing: Sendable {
        let text: String
        /// The request that it forwards; nil for others.
        let number: Int?
    }

    struct Pending {
        let address: AddressKey
        /// Nil when the response has begun.
        var head: CheckedContinuation<RouteResponse, Never>?
        var timer: Task<Void, Never>?
        var body: AsyncStream<String>.Continuation?
        /// That the request opens; nil: none.
        var socket: MessageSocket?
        /// Bytes of its texts; nil before the first one.
        var texts: TokenBucket?
        /// Bytes of the body that the viewer has not read.
        var unread = 0
    }

    struct State {
        var stream: (number: Int, feed: AsyncStream<Outgoing>.Continuation)?
        var pending: [Int: Pending] = [:]
        var unwritten = 0
        var unread = 0
        var rates: [AddressKey: TokenBucket] = [:]
        var count = 0
        var hasEnded = false
        /// When a request was forwarded, or the response to one ended.
        var usedAt = ContinuousClock.now

        func sockets(of address: AddressKey) -> Int {
            pending.values.count { $0.socket != nil && $0.address == address }
        }

        mutating func remove(_ number: Int) -> Pending? {
            guard let pending = pending.removeValue(forKey: number) else { return nil }
            unread -= pending.unread
            usedAt = .now
            return pending
        }

        mutating func removeAll() -> [Pending] {
            // Somebody was here until now.
            if !pending.isEmpty { usedAt = .now }
            defer { (pending, unread) = ([:], 0) }
            return Array(pending.values)
        }
    }

    let id: TunnelID
    /// The token of the host's pairing.
    let owner: TokenHash
    /// Stands for the host in the register of the service.
    let session: SessionID
    let limits: Limits
    let state = Mutex(State())

    init(_ id: TunnelID, owner: TokenHash, session: SessionID, limits: Limits = Limits()) {
        self.id = id
        self.owner = owner
        self.session = session
        self.limits = limits
    }

    /// Since when nobody has asked anything here; nil if somebody waits or has a response that goes on.
    var idleSince: ContinuousClock.Instant? { state.withLock { $0.pending.isEmpty ? $0.usedAt : nil } }

    /// Takes no further request if nobody was here for `timeout`.
    /// - Returns: whether that is so. The tunnel is to be ended then.
    func closeIfIdle(for timeout: Duration) -> Bool {
        state.withLock { state in
            guard state.pending.isEmpty, state.usedAt + timeout <= .now else { return false }
            state.hasEnded = true
            return true
        }
    }

    // MARK: The host

    /// Opens the host's stream; an earlier one ends, with the requests that were forwarded on it.
    /// - Returns: the stream's number, and its events. Ended at once after the end.
    func open() -> (number: Int, events: AsyncStream<Outgoing>) {
        let (events, feed) = AsyncStream.makeStream(
            of: Outgoing.self, bufferingPolicy: .bufferingOldest(limits.pending * 2))
        feed.yield(Self.beat)
        let (number, lost, hasEnded) = state.withLock { state in
            let lost = state.removeAll()
            state.stream?.feed.finish()
            state.count += 1
            state.unwritten = 0
            state.stream = state.hasEnded ? nil : (state.count, feed)
            return (state.count, lost, state.hasEnded)
        }
        if hasEnded { feed.finish() }
        Self.fail(lost, absent)
        return (number, events)
    }

    /// Takes an event that is about to be written to the host.
    /// - Returns: its text of `text/event-stream`; nil if nobody waits for the response any more.
    func take(_ event: Outgoing, on stream: Int) -> String? {
        state.withLock { state in
            guard state.stream?.number == stream, let number = event.number else { return event.text }
            state.unwritten -= event.text.utf8.count
            return state.pending[number] == nil ? nil : event.text
        }
    }

    /// Handles that the host's connection has closed. Viewers get 503 until it opens another.
    func closed(_ number: Int) {
        let lost: [Pending] = state.withLock { state in
            guard let stream = state.stream, stream.number == number else { return [] }
            stream.feed.finish()
            state.stream = nil
            return state.removeAll()
        }
        Self.fail(lost, absent)
    }

    /// Keeps the connection of the host alive, and finds out that it has gone.
    func beat(_ number: Int) {
        state.withLock { state in
            guard let stream = state.stream, stream.number == number else { return }
            if case .dropped = stream.feed.yield(Self.beat) { stream.feed.finish() }
        }
    }

    private static let beat = Outgoing(text: ":\n\n", number: nil)

    /// Ends the tunnel for the host and its viewers.
    func end(reason: String, _ end: TunnelEnd = .unwanted) {
        let lost = state.withLock { state in
            state.hasEnded = true
            let event = TunnelEvent.finished(reason: reason, end)
            state.stream?.feed.yield(Outgoing(text: event.serialized, number: nil))
            state.stream?.feed.finish()
            state.stream = nil
            return state.removeAll()
        }
        Self.fail(lost, ended)
    }

    static func fail(_ lost: [Pending], _ response: RouteResponse) {
        for pending in lost {
            pending.timer?.cancel()
            pending.head?.resume(returning: response)
            pending.body?.finish()
            pending.socket?.close(.goingAway)
        }
    }

    /// Whether somebody waits for this response or a part of it.
    func isPending(_ number: Int) -> Bool { state.withLock { $0.pending[number] != nil } }

    /// Takes a part of the host's response.
    /// - Returns: false if nobody waits for it (any more).
    func take(_ part: ForwardedResponse, for number: Int) -> Bool {
        enum Result {
            case begun(CheckedContinuation<RouteResponse, Never>, RouteResponse)
            case taken(Bool)
        }
        let result: Result = state.withLock { state in
            guard let pending = state.pending[number] else { return .taken(false) }
            guard let head = pending.head else { return .taken(addPart(part, to: number, &state)) }
            let response = ForwardedFields.response(part, of: id, isSocket: pending.socket != nil)
            pending.timer?.cancel()
            guard response.continues else {
                _ = state.remove(number)
                return .begun(head, response.reply)
            }
            return .begun(head, begin(response.reply, part.body ?? "", number, &state))
        }
        switch result {
        case .begun(let head, let response):
            head.resume(returning: response)
            return true
        case .taken(let isTaken): return isTaken
        }
    }

    /// Begins a response that comes in parts.
    private func begin(_ response: RouteResponse, _ first: String, _ number: Int, _ state: inout State) -> RouteResponse
    {
        let address = state.pending[number]?.address
        let open = AddressShares(state.pending.values.filter { $0.body != nil }.map(\.address))
        guard let address, open.total < limits.open,
            open.hasRoom(for: address, share: limits.openOfAddress, of: limits.open)
        else {
            _ = state.remove(number)
            return crowded
        }
        let (parts, feed) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingOldest(limits.unreadParts))
        // The first text of a WebSocket is a part of its own.
        if !first.isEmpty { feed.yield(first) }
        let length = first.utf8.count
        state.unread += length
        state.pending[number]?.head = nil
        state.pending[number]?.timer = nil
        state.pending[number]?.body = feed
        state.pending[number]?.unread = length
        var response = response
        if response.status == .switchingProtocols, let socket = state.pending[number]?.socket {
            response.upgrade = SocketUpgrade(socket) { [self] in await pass(socket, parts, of: number) }
            return response
        }
        response.body = ResponseBody { [self] writer in
            for await text in parts {
                read(text.utf8.count, of: number)
                try await writer.write(ByteBuffer(string: text))
            }
        }
        return response
    }

    /// Notes that a viewer's connection takes a part.
    func read(_ bytes: Int, of number: Int) {
        state.withLock { state in
            guard state.pending[number] != nil else { return }
            state.pending[number]?.unread -= bytes
            state.unread -= bytes
        }
    }

    /// - Returns: false if the viewer reads too slowly; its response has ended then.
    private func addPart(_ part: ForwardedResponse, to number: Int, _ state: inout State) -> Bool {
        let text = part.body ?? ""
        let length = text.utf8.count
        guard let pending = state.pending[number], let body = pending.body else { return false }
        var isTaken = false
        if pending.unread + length <= limits.unreadBytes, state.unread + length <= limits.unreadBytesOfAll,
            case .enqueued = body.yield(text)
        {
            isTaken = true
            state.pending[number]?.unread += length
            state.unread += length
        }
        if !isTaken || part.continues != true {
            if let socket = pending.socket { socket.close(part.code.map { .init(rawValue: $0) } ?? .tooSlow) }
            body.finish()
            _ = state.remove(number)
        }
        return isTaken
    }

    // MARK: Viewers
}
