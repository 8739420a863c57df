import HTTPTypes
import HummingbirdCore
import NIOCore

extension SignalingService {
    /// hummingbird's responder: reads the body within its limits of size and time, routes, writes the answer.
    func respond(to request: Request, _ writer: consuming ResponseWriter, on channel: any Channel) async throws {
        count { $0.requests += 1 }
        let address = PeerAddress(channel.remoteAddress)
        if let delay = connections.withDoorman({ $0.requestDelay(address.key, now: $1) }) {
            count { $0.requestsLimited += 1 }
            let response = limited("too many requests", delay).with(.connection, "close").response
            try await writer.write(response: response.head, body: response.body)
            channel.close(promise: nil)
            return
        }
        var reply: Reply
        var isTooLarge = false
        if request.headers[.expect]?.lowercased() == "100-continue" {
            try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        do {
            let call = Call(
                method: request.method,
                path: (request.head.path ?? "/").prefix(while: { $0 != "?" }).split(separator: "/"),
                headers: request.headers, body: try await readBody(request, channel),
                address: address, channel: channel)
            reply = await route(call)
        } catch is NIOTooManyBytesError {
            count { $0.tooLarge += 1 }
            isTooLarge = true
            reply = Reply(
                problem: .tooLarge, .contentTooLarge, "a request may have \(configuration.bodyLimit) bytes at most"
            )
            .with(.connection, "close")
        }
        if request.method == .head { reply = reply.withoutBody }
        let response = reply.response
        try await writer.write(response: response.head, body: response.body)
        if isTooLarge {
            // Time for the answer to arrive; what still comes in is not read to its end.
            channel.eventLoop.scheduleTask(in: .milliseconds(200)) { channel.close(promise: nil) }
        }
    }

    private func readBody(_ request: Request, _ channel: any Channel) async throws -> ByteBuffer {
        let length = request.headers[.contentLength].flatMap { Int($0) }
        if let length, length > configuration.bodyLimit {
            throw NIOTooManyBytesError(maxBytes: configuration.bodyLimit)
        }
        guard length ?? 0 > 0 || request.headers[.transferEncoding] != nil else { return ByteBuffer() }
        let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(configuration.readTimeout)) {
            channel.close(promise: nil)
        }
        defer { deadline.cancel() }
        return try await request.body.collect(upTo: configuration.bodyLimit)
    }

    func route(_ call: Call) async -> Reply {
        switch call.path.first {
        case nil: return get(call) { Reply(.ok, type: "text/html; charset=utf-8", Self.frontPage) }
        case "_" where call.path.count == 2: return asset(call)
        default: break
        }
        guard let name = call.path.first, let id = BroadcastID(name), id == configuration.id else { return notFound }
        if name != id.text {
            let rest = call.path.dropFirst().map { "/" + $0 }.joined()
            return Reply(.temporaryRedirect, [.location: "/" + id.text + rest])
        }
        let item = call.path.dropFirst(2).first
        switch (call.path.dropFirst().first, call.path.count) {
        case (nil, _): return page(call)
        case ("knock", 2): return await onlyPost(call) { await knock(call) }
        case ("knock", 3): return await knock(call, item)
        case ("whep", 2): return await whep(call)
        case ("whep", 3): return await session(call, item)
        case ("events", 2): return await events(call)
        case ("messages", 2):
            return await onlyPost(call) { Reply(problem: .reserved, .notImplemented, "this host takes no messages") }
        default: return notFound
        }
    }

    var notFound: Reply { Reply(problem: .notFound, .notFound, "there is nothing here") }

    func methodNotAllowed(_ allowed: String) -> Reply {
        Reply(problem: .method, .methodNotAllowed, "this takes \(allowed)").with(.allow, allowed)
    }

    func get(_ call: Call, _ reply: () -> Reply) -> Reply {
        call.method == .get || call.method == .head ? reply() : methodNotAllowed("GET, HEAD")
    }

    private func onlyPost(_ call: Call, _ reply: () async -> Reply) async -> Reply {
        call.method == .post ? await reply() : methodNotAllowed("POST")
    }

    /// The token's admission, or the answer to somebody who has none.
    func authorize(_ call: Call) async -> Result<(key: AdmissionBook.TokenHash, AdmissionBook.Admission), Refusal> {
        guard let token = call.bearer else {
            return .failure(
                Refusal(
                    Reply(problem: .unauthorized, .unauthorized, "this needs the token that an accepted knock yields")
                        .with(.wwwAuthenticate, "Bearer")))
        }
        // A person chose the fixed token, so it could be guessed; the others could not.
        if let admission = admissions.admission(token: token),
            !admission.1.isFixed || !connections.withDoorman({ $0.isGuessing(call.address.key, now: $1) })
        {
            return .success(admission)
        }
        count { $0.wrongTokens += 1 }
        if let delay = connections.withDoorman({ $0.failureDelay(call.address.key, now: $1) }) {
            return .failure(Refusal(limited("too many wrong tokens came from your address", delay)))
        }
        await slowDown()
        return .failure(
            Refusal(
                Reply(problem: .unauthorized, .unauthorized, "the token is not valid here (any more)")
                    .with(.wwwAuthenticate, "Bearer error=\"invalid_token\"")))
    }

    struct Refusal: Error {
        let reply: Reply
        init(_ reply: Reply) { self.reply = reply }
    }

    func limited(_ why: String, _ seconds: Int) -> Reply {
        Reply(problem: .limited, .tooManyRequests, "\(why); try again in \(seconds) s", retryAfter: seconds)
    }
}
