public import Identifiers
public import MediaCore

extension ViewerSessionState {
    public enum Input: Sendable {
        case start
        /// This side ends the session.
        case leave(Failure)
        /// The request with this number has ended.
        case result(Int, Result)
        /// The host's event on the event stream of a connection.
        case told(Int, HostWord)
        /// - Parameter source: the connection that has opened the media.
        case media(source: Int, MediaChange, Event)
        /// The sink has begun to get the media of this connection.
        case firstFrame(Int)
        /// The media of a connection has ended.
        case ended(Int, Failure)
        /// - Parameter source: as for `media`.
        case recovery(source: Int, OutageRecovery.Request)
        /// Another report of a connection.
        /// - Parameter ofAny: also of one whose media is not shown yet.
        case report(Int, Event, ofAny: Bool)
    }

    public enum Action: Sendable {
        /// Answer with `.result`. A request of a connection replaces the one before.
        case request(Int, of: Int, Request)
        /// The server of this link has admitted the viewer, and may name others from now on.
        case noteNamer(Link)
        /// Read the event stream of a connection, and renew the credentials of its servers.
        case listen(Int)
        /// Tell the media of a connection how its attempt to reconnect ended.
        case noteAttempt(of: Int, OutageRecovery.AttemptResult, Failure)
        /// Close the connections from before an outage.
        case closeConnections(of: Int)
        /// End a connection whose sink the present one has got.
        case retire(Int)
        /// The viewers of a relay go back to their host, in a session that forwards packets.
        case returnViewers
        case tell(Report)
        case pass(Event)
        case end(Failure)
    }

    public enum Request: Sendable {
        /// Make the connection. `.opened` or `.failed` follows in any case, and nothing else is requested before.
        /// - Parameter former: the connection whose media goes on, with the sink; nil: there is none, or the sink stays
        ///   there.
        case open(Link, former: Int?)
        case knock(pass: String?)
        case waitForAnswer
        /// Look the servers up, open a transport, gather, and send an offer.
        case connect
        /// Send the same offer again.
        case offer
        case attempt(ReconnectionPolicy.Attempt, timeout: MediaDuration)
        /// Give the attempt at another server up, unless the sink has its media.
        case withdraw(Failure)
        /// End the connection, and find out more about the reason.
        /// - Parameter closesMedia: the media ends first; else the next connection takes it over.
        case finish(Failure, closesMedia: Bool)
    }

    public enum Result: Sendable {
        case opened
        case knocked(words: String)
        case admitted(pass: String?, redirect: Redirect?)
        /// The server has answered the offer.
        case connected
        case attempted(OutageRecovery.AttemptResult, Failure)
        /// - Parameter isWithdrawn: false if the sink has the connection's media.
        case withdrawn(Bool)
        /// The connection has ended, for this reason.
        case finished(Failure)
        case failed(Failure)
    }

    /// A host's order to watch elsewhere, whose signature is right.
    public struct Redirect: Sendable {
        public var link: Link
        /// The milliseconds between the knock and the order.
        public var age: Int
        /// The host itself sends to no viewer.
        public var isOnly: Bool

        public init(link: Link, age: Int, isOnly: Bool = false) {
            (self.link, self.age, self.isOnly) = (link, age, isOnly)
        }
    }

    /// An event that a host or relay sends on its event stream.
    public enum HostWord: Sendable {
        /// The broadcast has ended, or the viewer was removed.
        case ended(Failure)
        case alternates([Link])
        /// The relay is about to stop.
        case stopping
        case redirect(Redirect)
        case returnToHost
        /// The host holds the broadcast back, or does not any more (nil).
        case held(BroadcastHold?)
        case publisherInterrupted(Bool)
    }

    public enum MediaChange: Sendable {
        case connected(path: String)
        /// An outage has lasted so long.
        case waiting(MediaDuration)
        case other
    }

    /// A report of the session to its owner.
    public enum Report: Sendable {
        case knocking(words: String)
        case accepted
        case queueFull
        case serverBusy(Link, Failure, seconds: Int)
        case sessionLost(Failure, next: Link)
        case returningToHost(Failure)
        /// - Parameter to: nil: the host itself.
        case redirectFailed(to: Link?, Failure)
        case redirected(to: Link?)
        case connected(path: String)
        case broadcastHeld(BroadcastHold?)
        case publisherInterrupted(Bool)
    }

    /// A connection to one server.
    struct Connection {
        enum Stage {
            case opening, knocking
            case knockPause(until: MediaInstant)
            case waiting
            /// It waits for the attempt at the server that the admission has named.
            /// - Parameter isOnly: the host sends nothing if that fails.
            case redirecting(isOnly: Bool)
            case connecting
            case offerPause(until: MediaInstant)
            case open
            /// The host's reason is waited for.
            case closing(Failure, until: MediaInstant)
            /// An attempt at another server is given up first, or this is the one.
            case ending(Failure)
            case finishing
        }

        let number: Int
        /// The connection that has opened the media.
        let media: Int
        let link: Link
        var stage = Stage.opening
        /// The request in progress.
        var request: Int?
        var knockEnd: MediaInstant?
        /// The offers that a busy server has refused.
        var refusedOffers = 0
        var followed: Int?
        var hasToldBusy = false
        /// When media came first; nil unless this is the only server that sends.
        var onlySince: MediaInstant?

        mutating func begin(_ stage: Stage, request: Int?) {
            self.stage = stage
            self.request = request
        }

        var due: MediaInstant? {
            switch stage {
            case .knockPause(let end), .offerPause(let end), .closing(_, let end): end
            default: nil
            }
        }

        var isEnding: Bool {
            switch stage {
            case .closing, .ending, .finishing: true
            default: false
            }
        }

        var takesOrders: Bool {
            switch stage {
            case .open, .closing: true
            default: false
            }
        }
    }

    /// An attempt to watch at another server, or at the host again, while the present connection goes on.
    struct Redirection {
        /// Others may go there at the same time, and a server asks about two of an address at once.
        static var attempts: Int { 5 }
        /// How long a connection may take, from the knock to its first frame.
        static var timeLimit: MediaDuration { .seconds(10) }
        /// A viewer that has come back so often stays.
        static var returnLimit: Int { 3 }
        /// Returns are counted anew after so long at the only server that sends.
        static var stayTime: MediaDuration { .seconds(60) }

        let target: Link
        let limit: Int
        var attempt = 1
        /// Nil during the pause before the next attempt.
        var connection: Connection?
        /// The end of the pause, or of the connection's time.
        var end: MediaInstant
        var pass: String?
        var path = ""

        /// Nil if the attempt is being given up.
        var due: MediaInstant? {
            guard let connection else { return end }
            return connection.isEnding ? nil : min(connection.due ?? end, end)
        }
    }
}
