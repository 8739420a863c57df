import Admission
import Identifiers
import MediaCore
import MediaEngine
import PeerConnection
import Signaling

extension RelayHandoverState {
    enum Input: Sendable {
        case start
        /// Viewers reach the host from now on. A broadcast that the relay has without a tunnel could not get one later.
        case tunnelOpened
        /// A viewer has come.
        /// - Parameter viewers: those that are served directly.
        case joined(viewers: Int)
        case ended(SessionID, viewers: Int)
        case opened(SessionID, Viewer)
        /// A viewer with these sessions has opened a stream of events.
        case streamOpened([SessionID])
        /// The broadcast's viewers, as `look` has asked.
        case seen(Snapshot, for: Purpose)
        case flows([SharedBottleneckDetector.Flow])
        /// The publication goes on at another relay.
        case moved(to: ServiceLink)
        /// The relay has told where the broadcast can be watched.
        case published(Link)
        /// How many watch at the relay.
        case relayViewers(Int)
        /// Whether the relay has its viewers go back.
        /// - Parameter of: the publication's number.
        case returning(Bool, of: Int)
        case publicationEnded(EndReason, of: Int)
        case stop
    }

    enum Action: Sendable {
        /// `.publicationEnded` follows with this number.
        case publish(Int)
        /// End the publication.
        case close(EndReason)
        /// Answer with `.seen`.
        case look(for: Purpose)
        /// Answer with `.flows`.
        case measureFlows
        /// Answer with `.returning`.
        case returnViewers(Int)
        case redirect(SessionID, Viewer, to: Link)
        /// Call the viewers back that were sent to the relay.
        case callBack
        /// The relay alone sends: let viewers in, or have them wait.
        case admit(Bool)
        /// The relay of the tunnel is the one whose servers are used.
        case moveHome
        case report(BroadcastEvent)
        case tellAudience(RelayViewerCount)
        /// Nobody watches at the relay any more.
        case clearAudience
    }

    /// The purpose of a look at the broadcast's viewers.
    enum Purpose: Sendable {
        case send, calm, retry
        case connection(SessionID, Viewer)
        case streams([SessionID])
    }

    struct Snapshot: Sendable {
        /// How many are served directly.
        var count = 0
        var viewers: [SessionID: Viewer] = [:]
        /// The sessions of viewers to which no media flows yet.
        var unconnected: Set<SessionID> = []
    }

    enum Phase {
        /// - Parameter until: no publication is attempted before; nil: one may be.
        case idle(until: MediaInstant?)
        /// - Parameter link: where the viewers are sent; nil while the relay has not told it.
        case publishing(at: ServiceLink, link: Link?)
        /// The publication ends because few viewers are left, at this time at the latest; nil: viewers are called back.
        case returning(at: ServiceLink, end: MediaInstant?)
        case over
    }
}
