import EventLoop
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import PeerEngine
import SessionDescription
import Signaling
import Synchronization

/// A viewer's connection to one server, the host or a relay: its signalling and its media. Carries out the requests of
/// `ViewerSessionState`, one at a time.
final class ViewerConnection: Sendable {
    typealias Session = ViewerSession.State

    struct State: Sendable {
        /// The knock that waits for its answer.
        var ticket: KnockTicket?
        /// The codec that the server has announced, until the first offer.
        var announced: VideoCodec?
        /// Of the accepted knock.
        var token: String?
        var granted = GrantedServers.none
        var preparation: ICEServerPreparation?
        /// Of the STUN and TURN servers, for offers and restarts that come.
        var addresses = ICEServerPreparation.Addresses()
        /// The offer that the server has not answered yet.
        var offer: (text: String, capabilities: MediaCapabilities, gathered: PeerConnection.LocalCandidates)?
        /// The newest one.
        var peer: LoopBound<PeerConnection>?
        var request: Task<Void, Never>?
        var listening: Task<Void, Never>?
        var isOver = false
    }

    let number: Int
    let link: Link
    let session: ViewerSession
    let media: LoopBound<Media>
    let state = Mutex(State())
    private let made: Result<SignalingClient, SignalingError>

    init(_ number: Int, at link: Link, of session: ViewerSession, _ media: LoopBound<Media>) {
        (self.number, self.link, self.session, self.media) = (number, link, session, media)
        made = Result { () throws(SignalingError) in try session.makeClient(link) }
    }

    func client() throws(SignalingError) -> SignalingClient { try made.get() }

    // MARK: Requests

    /// - Parameter done: called with the result, unless the connection has ended before.
    func begin(_ request: Session.Request, _ done: @escaping @Sendable (Session.Result) -> Void) {
        switch request {
        case .finish(let failure, let closesMedia):
            Task { done(.finished(ViewerFailure(await finish(failure.reason, closesMedia: closesMedia)))) }
        case .withdraw: Task { done(.withdrawn(await withdraw())) }
        default:
            state.withLock { state in
                guard !state.isOver else { return }
                state.request = Task { done(await result(of: request)) }
            }
        }
    }

    static func resultWithoutConnection(_ request: Session.Request) -> Session.Result {
        switch request {
        case .finish(let failure, _): .finished(failure)
        case .withdraw: .withdrawn(true)
        default: .failed(ViewerFailure(.attemptEnded))
        }
    }

    private func result(of request: Session.Request) async -> Session.Result {
        do throws(ViewerFailure) {
            switch request {
            case .knock(let pass): return try await knock(pass)
            case .waitForAnswer: return try await waitForAnswer()
            case .connect:
                try await lookUp()
                try await makeOffer()
                try await sendOffer(timeout: nil)
                return .connected
            case .offer:
                try await sendOffer(timeout: nil)
                return .connected
            case .attempt(let attempt, let timeout): return await attempted(attempt, Duration(timeout))
            case .open, .withdraw, .finish: return Self.resultWithoutConnection(request)
            }
        } catch {
            return .failed(error)
        }
    }

    private func knock(_ pass: String?) async throws(ViewerFailure) -> Session.Result {
        do throws(SignalingError) {
            let settings = session.settings
            let ticket = try await client().knock(
                name: settings.name, identity: settings.identity, records: settings.records, pass: pass,
                takes: { [sink = session.sink] in sink.videoCodecs(for: $0).contains($0) })
            state.withLock { ($0.ticket, $0.announced) = (ticket, ticket.video) }
            return .knocked(words: ticket.words.description)
        } catch {
            throw ViewerFailure(error)
        }
    }

    private func waitForAnswer() async throws(ViewerFailure) -> Session.Result {
        do throws(SignalingError) {
            guard let ticket = state.withLock({ $0.ticket }) else { throw SignalingError(.refused, "not admitted") }
            let client = try client()
            let answer = try await client.waitForAnswer(ticket)
            state.withLock { $0.ticket = nil }
            switch answer {
            case .accepted(let token, let servers):
                state.withLock { ($0.token, $0.granted) = (token, GrantedServers(servers, by: link.host)) }
                if link == session.settings.link {
                    let admission = HomeAdmission(token: token, encryption: await client.encryption)
                    try session.note(admission, keys: await client.frameKeys)
                }
                let redirect = await client.redirect
                var order: Session.Redirect?
                if let redirect { order = await session.checked(redirect, of: self, after: nil) }
                return .admitted(pass: await client.pass, redirect: order)
            case .refused(let reason): throw SignalingError(.refused, reason)
            case .unanswered: throw SignalingError(.unanswered, "nobody answered within 60 s")
            }
        } catch {
            throw ViewerFailure(error)
        }
    }

    // MARK: The end

    /// Ends what runs.
    /// - Returns: the request that was in progress.
    private func cancel() -> Task<Void, Never>? {
        let (request, listening) = state.withLock { state in
            state.isOver = true
            return (state.request, state.listening)
        }
        request?.cancel()
        listening?.cancel()
        return request
    }

    /// Ends the session with the server.
    /// - Returns: the reason with what the servers' checks have found.
    private func finish(_ reason: EndReason, closesMedia: Bool) async -> EndReason {
        _ = cancel()
        if closesMedia {
            // The host is told after the end of the media.
            await closeMedia()
            await tellServer()
        } else {
            Task.detached { await self.tellServer() }
        }
        let explained = await explained(reason)
        Task.detached { await self.closeResolver() }
        return explained
    }

    /// Gives up what waits for its first frame.
    /// - Returns: false if the sink has its media.
    private func withdraw() async -> Bool {
        guard await media.ifRunning({ $0.input?.withdraw() ?? true }) ?? true else { return false }
        let request = cancel()
        await closeMedia()
        // A server that does not answer holds up nobody.
        Task.detached {
            await request?.value
            await self.tellServer()
            await self.closeResolver()
        }
        return true
    }

    /// Ends it after the sink has gone to another connection.
    func retire() {
        _ = cancel()
        media.perform { $0.close {} }
        Task.detached {
            await self.tellServer()
            await self.closeResolver()
        }
    }

    /// Closes the media at the end of the session. May be called after `finish`.
    func close() async {
        _ = cancel()
        await closeMedia()
    }

    private func closeMedia() async { await media.performAndWait { $0.close($1) } }

    /// Takes back the knock and the session, and closes the connections.
    private func tellServer() async {
        guard let client = try? client() else { return }
        let ticket = state.withLock { state in
            defer { state.ticket = nil }
            return state.ticket
        }
        if let ticket { await client.withdraw(ticket) }
        await client.leave()
        // TLS waits up to 5 s for the peer's close_notify.
        Task.detached { await client.close() }
    }

    private func closeResolver() async { await state.withLock { $0.preparation }?.close() }

    /// Adds the results of server checks to a reason that says that no connection was found, or that it was lost.
    private func explained(_ reason: EndReason) async -> EndReason {
        guard let preparation = state.withLock({ $0.preparation }) else { return reason }
        let lost = reason == .hostIsSilent ? await media.ifRunning { $0.stream.connection?.path.report } ?? nil : nil
        guard var report = reason.code == .noRoute ? reason.connectivity : lost else { return reason }
        report.servers = await preparation.findings().map { .init(url: $0.url, finding: $0.finding) }
        return lost == nil ? EndReason(report, other: "the host") : reason.explained(by: report)
    }
}
