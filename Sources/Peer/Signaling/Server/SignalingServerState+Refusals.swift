import Admission
import FoundationEssentials
import HTTP
import HTTPTypes
import Identity
import NIOCore

/// A response that ends the handling of a request early.
struct Refusal: Error {
    let reply: RouteResponse
    init(_ reply: RouteResponse) { self.reply = reply }
}

extension SignalingServerState {
    /// Decodes a JSON body; nil if it is none of that type, or longer than `limit` bytes.
    func document<Document: Decodable>(
        _ type: Document.Type, of call: RouteRequest, limit: Int = 4_096
    ) -> Document? {
        guard call.body.readableBytes <= limit else { return nil }
        return try? JSONDecoder().decode(type, from: Data(call.body.readableBytesView))
    }

    /// Decodes a JSON body.
    /// - Parameter what: says what the body is, in the response to another one.
    func document<Document: Decodable>(
        _ type: Document.Type, of call: RouteRequest, limit: Int = 4_096, or what: String
    ) throws(Refusal) -> Document {
        guard let document = document(type, of: call, limit: limit) else { throw Refusal(malformed(what)) }
        return document
    }

    /// Looks the request's bearer token up.
    /// - Parameter source: how a client gets a token, for the message.
    func authorize<Found: Sendable>(
        _ call: RouteRequest, source: String, _ find: (String) -> Found?
    ) async throws(Refusal) -> Found {
        guard let token = call.bearer else {
            throw Refusal(
                RouteResponse(problem: .unauthorized, .unauthorized, "this needs the token that \(source) yields")
                    .with(.wwwAuthenticate, "Bearer"))
        }
        // A correct token is accepted after any number of wrong ones from this address, as tokens are too long to be
        // guessed.
        if let found = find(token) { return found }
        count { $0.refusals.wrongTokens += 1 }
        let reply = RouteResponse(problem: .unauthorized, .unauthorized, "the token is not valid here (any more)")
            .with(.wwwAuthenticate, "Bearer error=\"invalid_token\"")
        throw Refusal(await slowed(call, "wrong tokens", reply))
    }

    /// The response to a wrong proof or signature. It is counted and delayed.
    func wrong(_ call: RouteRequest, _ problem: Problem, _ what: String) async -> RouteResponse {
        count { $0.refusals.wrongProofs += 1 }
        return await slowed(call, "wrong proofs", RouteResponse(problem: problem, .forbidden, what))
    }

    /// Counts a failure against its address, and delays the response; with too many failures, the response is 429.
    private func slowed(_ call: RouteRequest, _ what: String, _ reply: RouteResponse) async -> RouteResponse {
        if let delay = connections.withLimiter({ $0.failureDelay(call.address.key, now: $1) }) {
            return .limited("too many \(what) came from your address", delay)
        }
        await slowDown()
        return reply
    }
}
