import Admission
import Identifiers
import MediaCore
import PeerConnection
import PeerEngine
import Signaling

extension PublicationState {
    struct Endpoint: Sendable {
        var name: String
        /// A relay passes on what is said to it.
        var isOverRelay: Bool
    }

    enum Input: Sendable {
        case start
        case result(Int, of: Int, Result)
        /// - Parameter Int: the connection's number, as in each case below.
        case told(Int, ServiceEvent)
        case streamOpened(Int)
        /// - Parameter isRefused: nothing listens at the endpoint's port.
        case streamEnded(Int, isRefused: Bool)
        /// The media of the present connection has changed.
        case media(MediaChange)
        case ended(SessionID)
        case decided(Int, KnockID, KnockDecision)
        /// This side ends the publication.
        case close(EndReason)
    }

    enum MediaChange: Sendable { case connected, interrupted, resumed }

    enum Action: Sendable {
        /// Answer with `.result` and the request's number.
        case request(Int, of: Int, Request)
        /// The connection is open: listen to its events, and tell it what is shown.
        case begin(Int)
        case listen(Int)
        /// - Parameter isGone: the session ends first, and nobody waits for the endpoint; else the endpoint is told
        ///   first.
        case close(Int, SessionID?, isGone: Bool)
        /// End a session that no connection has.
        case discard(SessionID)
        /// - Parameter SessionID: the one of the connection that has told it.
        case report(ServiceEvent, SessionID?)
        case list(Int)
        /// Answer with `.decided` and the question's number.
        case ask(Int, Knock, at: Int)
        case decide(KnockDecision, about: KnockID, at: Int)
        case withdraw(Int, KnockID, at: Int)
        case emit(BroadcastEvent)
        /// The publication goes on at another relay.
        case moved(Int)
        case end(EndReason)
    }

    enum Request: Sendable {
        /// Pair with another relay: the connection exists when that has succeeded.
        case pair(ServiceLink, resuming: BroadcastID)
        /// Send the offer, and begin the session with the answer.
        case open
        /// Restart ICE.
        case restart(SessionID, Servers)
        /// End the session, unless ICE has found a path.
        case replace(SessionID)
    }

    enum Result: Sendable {
        case paired(Endpoint)
        /// - Parameter hasServers: the endpoint has named STUN or TURN servers.
        case opened(SessionID, hasServers: Bool)
        /// - Parameter usesServers: the session uses the servers from now on.
        case restarted(OutageRecovery.AttemptResult, usesServers: Bool)
        /// - Parameter Bool: the session was ended.
        case replaced(Bool)
        case failed(EndReason)
    }

    /// The use of the servers that the endpoint has named.
    enum Servers: Sendable {
        /// They stay as they are.
        case kept
        case added
        /// There is no restart if none has an address, or if ICE has found a path meanwhile.
        case addedUnlessConnected
    }

    /// A connection to one endpoint.
    struct Connection {
        enum Stage {
            case pairing, opening
            case open(SessionID)
            /// No path was found: the session ends, and the next one uses the endpoint's servers.
            case replacing(SessionID)
            case pausing(until: MediaInstant)
            /// The media has ended, and the service's reason is waited for.
            case closing(SessionID, until: MediaInstant)
            case ended(SessionID?)
        }

        enum Media {
            /// - Parameter check: when the endpoint's servers are needed; nil: never.
            case connecting(check: MediaInstant?)
            case connected
            /// - Parameters:
            ///   - restarts: of ICE in this outage.
            ///   - next: when the next one begins; nil: no further one is made.
            case interrupted(restarts: Int, next: MediaInstant?)
        }

        let number: Int
        var endpoint: Endpoint
        var stage = Stage.opening
        /// The request in progress.
        var request: Int?
        var media = Media.connecting(check: nil)
        var hasUnusedServers = false
        /// The refused offers of the session that replaces one without a path.
        var refusedOffers = 0
        /// When the next event stream is opened; nil: one is open or being opened, or none is wanted.
        var stream: MediaInstant?
        /// The event streams that were refused, one after the other.
        var refusals = 0

        mutating func begin(_ stage: Stage, request: Int?) {
            self.stage = stage
            self.request = request
        }

        /// Nil before the answer, and between two sessions.
        var session: SessionID? {
            switch stage {
            case .open(let session), .replacing(let session), .closing(let session, _), .ended(let session?): session
            case .pairing, .opening, .pausing, .ended(nil): nil
            }
        }

        var due: MediaInstant? {
            switch (stage, media) {
            case (.pausing(let end), _), (.closing(_, let end), _): end
            case (.open, .connecting(let check)): check
            case (.open, .interrupted(_, let next)): request == nil ? next : nil
            default: nil
            }
        }

        /// A relay that passes on a service's events could make up other relays, which would get the broadcast, and
        /// questions about viewers. The services that are reached over it have neither.
        func believes(_ event: ServiceEvent) -> Bool {
            switch event {
            case .alternates, .reconnect, .viewer, .viewerWithdrawn, .viewerJoined, .viewerLeft, .slowestBitrate:
                !endpoint.isOverRelay
            case .serviceInfo, .broadcastURL, .finished, .candidates: true
            }
        }
    }

    /// The search for another relay.
    struct Move {
        /// Why the former connection is over.
        let reason: EndReason
        /// When the search ends.
        let end: MediaInstant
        /// The index of the relay that is tried next.
        var relay = 0
        /// The end of the pause after each of them was tried.
        var pause: MediaInstant?
    }
}
