import Admission
import HTTPTypes

/// The routes of one broadcast, below /ID.
struct BroadcastRoutes: Sendable {
    let server: SignalingService
    let broadcast: BroadcastResource

    var configuration: BroadcastConfiguration { broadcast.configuration }

    func respond(to call: RouteRequest) async -> RouteResponse {
        let item = call.path.dropFirst(2).first
        switch (call.path.dropFirst().first, call.path.count) {
        case ("knock", 2): return await onlyPost(call) { await knock(call) }
        case ("knock", 3): return await knock(call, item)
        case ("whep", 2): return await whep(call)
        case ("whep", 3): return await session(call, item)
        case ("events", 2): return await events(call)
        case ("messages", 2):
            return await onlyPost(call) {
                RouteResponse(problem: .reserved, .notImplemented, "this host takes no messages")
            }
        default: return .notFound
        }
    }

    private func onlyPost(_ call: RouteRequest, _ reply: () async -> RouteResponse) async -> RouteResponse {
        call.method == .post ? await reply() : .methodNotAllowed("POST")
    }

    /// Returns the admission of the request's token, or the response to a request without a valid one.
    func authorize(_ call: RouteRequest) async -> Result<
        (key: AdmissionRegister.TokenHash, AdmissionRegister.Admission), Refusal
    > {
        guard let token = call.bearer else {
            return .failure(
                Refusal(
                    RouteResponse(
                        problem: .unauthorized, .unauthorized, "this needs the token that an accepted knock yields"
                    )
                    .with(.wwwAuthenticate, "Bearer")))
        }
        // A correct token is accepted after any number of wrong ones from this address, as tokens are too long to be
        // guessed.
        if let admission = broadcast.admissions.admission(token: token) { return .success(admission) }
        server.count { $0.wrongTokens += 1 }
        if let delay = server.connections.withLimiter({ $0.failureDelay(call.address.key, now: $1) }) {
            return .failure(Refusal(.limited("too many wrong tokens came from your address", delay)))
        }
        await server.slowDown()
        return .failure(
            Refusal(
                RouteResponse(problem: .unauthorized, .unauthorized, "the token is not valid here (any more)")
                    .with(.wwwAuthenticate, "Bearer error=\"invalid_token\"")))
    }

    struct Refusal: Error {
        let reply: RouteResponse
        init(_ reply: RouteResponse) { self.reply = reply }
    }
}
