import Admission
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// A broadcast whose host is reached over this server: forwards the requests of its viewers on the host's stream of
/// events, and returns the host's responses. Safe from any thread.
///
/// What viewers and host prove to each other passes through unread. Bounded: a request waits for its response for 30 s,
/// and their number and their bytes are limited, in all and for each address.
final class Meeting: Sendable {
    struct Limits: Sendable {
        var pending = 512
        var pendingOfAddress = 24
        /// Of the requests that wait for their response.
        var bytes = 1_048_576
        /// Until the response begins. A host holds a poll for 20 s.
        var response = Duration.seconds(30)
        /// Parts of a response that its viewer has not read yet.
        var unreadParts = 64
    }

    private struct Pending {
        let address: AddressKey
        let bytes: Int
        /// Nil when the response has begun.
        var head: CheckedContinuation<RouteResponse, Never>?
        var timer: Task<Void, Never>?
        var body: AsyncStream<String>.Continuation?
    }

    private struct State {
        var stream: (number: Int, feed: AsyncStream<String>.Continuation)?
        var pending: [Int: Pending] = [:]
        var bytes = 0
        var count = 0
        var hasEnded = false
    }

    let id: BroadcastID
    /// The token of the host's pairing.
    let owner: TokenHash
    /// Stands for the host in the register of the service.
    let session: SessionID
    private let limits: Limits
    private let state = Mutex(State())

    init(_ id: BroadcastID, owner: TokenHash, session: SessionID, limits: Limits = Limits()) {
        self.id = id
        self.owner = owner
        self.session = session
        self.limits = limits
    }

    // MARK: The host

    /// Opens the host's stream; an earlier one ends, with the requests that were forwarded on it.
    /// - Returns: the stream's number, and its events as text of `text/event-stream`. Ended at once after the end.
    func open() -> (number: Int, events: AsyncStream<String>) {
        let (events, feed) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingOldest(limits.pending * 2))
        feed.yield(":\n\n")
        let (number, lost) = state.withLock { state in
            let lost = Self.takeAll(&state)
            state.stream?.feed.finish()
            state.count += 1
            state.stream = state.hasEnded ? nil : (state.count, feed)
            return (state.count, lost)
        }
        if state.withLock({ $0.hasEnded }) { feed.finish() }
        fail(lost)
        return (number, events)
    }

    /// Handles that the host's connection has closed. Viewers get 503 until it opens another.
    func closed(_ number: Int) {
        let lost: [Pending] = state.withLock { state in
            guard let stream = state.stream, stream.number == number else { return [] }
            stream.feed.finish()
            state.stream = nil
            return Self.takeAll(&state)
        }
        fail(lost)
    }

    /// Keeps the connection of the host alive, and finds out that it has gone.
    func beat(_ number: Int) {
        state.withLock { state in
            guard let stream = state.stream, stream.number == number else { return }
            if case .dropped = stream.feed.yield(":\n\n") { stream.feed.finish() }
        }
    }

    var hasHost: Bool { state.withLock { $0.stream != nil } }

    /// Ends the meeting for the host and its viewers.
    func end(reason: String) {
        let lost = state.withLock { state in
            state.hasEnded = true
            state.stream?.feed.yield(MeetingEvent.finished(reason: reason).serialized)
            state.stream?.feed.finish()
            state.stream = nil
            return Self.takeAll(&state)
        }
        fail(lost)
    }

    private static func takeAll(_ state: inout State) -> [Pending] {
        defer { (state.pending, state.bytes) = ([:], 0) }
        return Array(state.pending.values)
    }

    private func fail(_ lost: [Pending]) {
        for pending in lost {
            pending.timer?.cancel()
            pending.head?.resume(returning: Self.absent)
            pending.body?.finish()
        }
    }

    /// Takes a part of the host's response.
    /// - Returns: false if nobody waits for it (any more).
    func take(_ part: ForwardedResponse, for number: Int) -> Bool {
        let (isKnown, head) = state.withLock {
            state -> (Bool, (CheckedContinuation<RouteResponse, Never>, RouteResponse)?) in
            guard var pending = state.pending[number] else { return (false, nil) }
            guard let head = pending.head else {
                let isRead = pending.body.map { $0.yield(part.body ?? "").isTaken } ?? false
                if !isRead || part.continues != true {
                    pending.body?.finish()
                    Self.remove(number, &state)
                }
                return (isRead, nil)
            }
            var response = ForwardedFields.response(part, of: id)
            pending.timer?.cancel()
            if part.continues == true {
                let (parts, feed) = AsyncStream.makeStream(
                    of: String.self, bufferingPolicy: .bufferingOldest(limits.unreadParts))
                feed.yield(part.body ?? "")
                response.body = ResponseBody { writer in
                    for await text in parts { try await writer.write(ByteBuffer(string: text)) }
                    try await writer.finish(nil)
                }
                (pending.head, pending.timer, pending.body) = (nil, nil, feed)
                state.pending[number] = pending
            } else {
                if let text = part.body { response.body = ResponseBody(byteBuffer: ByteBuffer(string: text)) }
                Self.remove(number, &state)
            }
            return (true, (head, response))
        }
        if let (head, response) = head { head.resume(returning: response) }
        return isKnown
    }

    private static func remove(_ number: Int, _ state: inout State) {
        guard let pending = state.pending.removeValue(forKey: number) else { return }
        state.bytes -= pending.bytes
    }

    // MARK: Viewers

    /// Forwards a request, and waits for the beginning of the host's response.
    func forward(_ call: RouteRequest) async -> RouteResponse {
        await withCheckedContinuation { continuation in
            let refusal: RouteResponse? = state.withLock { state in
                guard !state.hasEnded else { return Self.ended }
                guard let stream = state.stream else { return Self.absent }
                let ofAddress = state.pending.values.count { $0.address == call.address.key }
                guard state.pending.count < limits.pending, ofAddress < limits.pendingOfAddress else {
                    return Self.crowded
                }
                state.count += 1
                let number = state.count
                guard let text = ForwardedFields.event(call, number: number) else { return Self.tooLarge }
                let bytes = text.utf8.count
                guard state.bytes + bytes <= limits.bytes else { return Self.crowded }
                guard case .enqueued = stream.feed.yield(text) else { return Self.crowded }
                let limit = limits.response
                let timer = Task { [weak self] in
                    guard (try? await Task.sleep(for: limit)) != nil else { return }
                    self?.cancel(number, Self.late)
                }
                state.bytes += bytes
                state.pending[number] = Pending(
                    address: call.address.key, bytes: bytes, head: continuation, timer: timer)
                call.connection.closed.whenComplete { [weak self] _ in self?.cancel(number, Self.absent) }
                return nil
            }
            if let refusal { continuation.resume(returning: refusal) }
        }
    }

    /// Ends a request whose response does not come in time, or whose viewer has gone.
    private func cancel(_ number: Int, _ response: RouteResponse) {
        let pending = state.withLock { state in
            let pending = state.pending[number]
            Self.remove(number, &state)
            if pending != nil { state.stream?.feed.yield(MeetingEvent.cancelled(number).serialized) }
            return pending
        }
        pending?.timer?.cancel()
        pending?.head?.resume(returning: response)
        pending?.body?.finish()
    }

    private static var ended: RouteResponse { RouteResponse(problem: .ended, .gone, "the broadcast has ended") }

    private static var absent: RouteResponse {
        RouteResponse(
            problem: .unreachable, .serviceUnavailable, "the host is not connected to this relay now; try again in 2 s",
            retryAfter: 2)
    }

    private static var late: RouteResponse {
        RouteResponse(problem: .unreachable, .gatewayTimeout, "the host does not answer")
    }

    private static var crowded: RouteResponse {
        RouteResponse(
            problem: .limited, .serviceUnavailable, "too many requests wait for the host; try again in 2 s",
            retryAfter: 2)
    }

    private static var tooLarge: RouteResponse {
        RouteResponse(problem: .tooLarge, .contentTooLarge, "the request is too large to be forwarded to the host")
    }
}

extension AsyncStream.Continuation.YieldResult {
    fileprivate var isTaken: Bool {
        if case .enqueued = self { true } else { false }
    }
}

/// What passes between a viewer and the host of a meeting.
///
/// All broadcasts of a relay have one origin, so a host must not be able to make the relay deliver a page or a script.
enum ForwardedFields {
    private static let responseFields: [HTTPField.Name] = [
        .contentType, .location, .eTag, .retryAfter, .wwwAuthenticate, .allow, .accessControlAllowOrigin,
        .accessControlAllowHeaders, .accessControlAllowMethods, .accessControlExposeHeaders, Header.link,
        Header.acceptPost, Header.acceptPatch, Header.shareProof,
    ]
    private static let mediaTypes: Set<String> = [
        "application/json", "application/problem+json", "application/sdp", "application/trickle-ice-sdpfrag",
        "text/event-stream",
    ]

    /// The event that forwards a request; nil if it is too long.
    static func event(_ call: RouteRequest, number: Int) -> String? {
        var headers: [String: String] = [:]
        for name in ForwardedRequest.forwardedFields { headers[name.canonicalName] = call.headers[name] }
        let request = ForwardedRequest(
            number: number, method: call.method.rawValue, path: "/" + call.path.joined(separator: "/"),
            headers: headers, body: call.bodyText, address: call.address.text)
        let text = MeetingEvent.request(request).serialized
        return text.utf8.count <= MeetingEvent.lengthLimit ? text : nil
    }

    /// The response to a viewer without its body.
    static func response(_ part: ForwardedResponse, of id: BroadcastID) -> RouteResponse {
        guard let status = part.status, (200...599).contains(status), !(300...399).contains(status) else { return bad }
        var response = RouteResponse(HTTPResponse.Status(code: status))
        for field in part.headers?.prefix(32) ?? [] {
            guard field.count == 2, let name = HTTPField.Name(field[0]), responseFields.contains(name),
                HTTPField.isValidValue(field[1]), field[1].utf8.count <= 2_048
            else { continue }
            if name == .contentType {
                let type = field[1].prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
                guard mediaTypes.contains(type) else { return bad }
            }
            if name == .location, !field[1].hasPrefix("/\(id.text)/") { return bad }
            response.headers.append(HTTPField(name: name, value: field[1]))
        }
        guard response.headers[.contentType] != nil || (part.body ?? "").isEmpty else { return bad }
        return response
    }

    private static var bad: RouteResponse {
        RouteResponse(problem: .unreachable, .badGateway, "the host's response cannot be forwarded")
    }
}
