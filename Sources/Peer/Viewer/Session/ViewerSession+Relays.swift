import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import Signaling

/// Goes on at another relay of the cluster when the one that it watches at has gone, or asks for that.
extension ViewerSession {
    /// How long other relays are tried.
    static let moveTime = MediaDuration.seconds(30)
    /// The silence after which another relay is tried.
    static let patience = MediaDuration.seconds(4)

    /// Which relay is tried next. A value without a clock of its own.
    struct Relays {
        /// Those that the last one has named, in the order in which they are tried.
        private var others: [Link] = []
        private var next = 0
        /// When the last one was lost; nil while one works.
        private var lostSince: MediaInstant?
        /// Why the session elsewhere ended from which the viewer has come back; nil once it is connected.
        var formerEnd: EndReason?

        /// Takes the links that a relay names and has signed.
        mutating func note(_ links: [Link]) {
            others = links.shuffled()
            next = 0
        }

        mutating func noteConnected() { (lostSince, formerEnd) = (nil, nil) }

        var isEmpty: Bool { others.isEmpty }

        /// Other relays are being tried.
        var isMoving: Bool { lostSince != nil }

        /// - Parameter link: the one that was lost; it is tried again after all others.
        /// - Returns: nil if none is known, or the time is over.
        mutating func next(after link: Link, now: MediaInstant) -> Link? {
            guard !others.isEmpty else { return nil }
            if lostSince == nil {
                others = others.filter { $0 != link } + [link]
                (lostSince, next) = (now, 0)
            }
            guard let begin = lostSince, now - begin < ViewerSession.moveTime else { return nil }
            defer { next += 1 }
            return others[next % others.count]
        }

        /// Whether all were tried, so that a pause follows.
        var isRoundOver: Bool { next > 0 && next % others.count == 0 }
    }
}

extension EndReason {
    /// Whether the broadcast may go on at another relay.
    /// - Parameter isMoving: one was lost, and others are being tried: some cannot take it now.
    func mayGoOnElsewhere(_ isMoving: Bool) -> Bool {
        switch code {
        case .connectionLost, .unreachable, .noRoute: true
        case .failed: isMoving
        default: false
        }
    }

    /// The relay asks its viewers to watch at another one.
    static let movesOn = EndReason(.connectionLost, "the relay is about to stop")
}
