public import MediaCore

/// Who watches or wants to.
public struct ViewerDescription: Sendable, Equatable {
    public var name: String
    /// "browser", "share", ...
    public var kind: String
    public var address: String
    /// The four words of the viewer's knock, which it sees too; empty for a player with the fixed token.
    public var words: String

    public init(name: String, kind: String, address: String, words: String) {
        self.name = name
        self.kind = kind
        self.address = address
        self.words = words
    }
}

/// Why a session is over.
public struct EndReason: Error, Sendable, Equatable {
    public enum Code: String, Sendable {
        /// The person here ended it.
        case stopped
        /// The host ended it.
        case hostEnded
        /// The viewer left.
        case viewerLeft
        case refused, unanswered, wrongSecret, untrusted, unreachable, badLink
        /// Nothing came any more, or ICE found no way.
        case connectionLost, noRoute
        case sourceGone, portUnavailable, failed
    }
    public var code: Code
    /// For a person.
    public var sentence: String
    public var remedy: String
    /// With `noRoute` and `connectionLost`: what was tried.
    public var route: ConnectivityReport?

    public init(_ code: Code, _ sentence: String, remedy: String = "") {
        self.code = code
        self.sentence = sentence
        self.remedy = remedy
    }

    /// There is no way for the media.
    init(_ route: ConnectivityReport, other: String) {
        self.init(.noRoute, route.sentence(other: other), remedy: route.remedy(other: other))
        self.route = route
    }

    /// A viewer's session whose place its next one takes.
    public static let replaced = EndReason(.viewerLeft, "the viewer came again")
}

public enum BroadcastEvent: Sendable {
    /// A sound track is being recorded: what, in words.
    case sharing(String)
    case knock(ViewerDescription)
    /// Remembered: without a question, as its identity was let in for good before.
    case accepted(ViewerDescription, isRemembered: Bool)
    case refused(ViewerDescription, reason: String)
    case viewerJoined(ViewerDescription, viewers: Int)
    /// Media flows to this viewer.
    case connected(ViewerDescription, path: String)
    /// Nothing comes from this viewer; it may come back within 30 s of its last sign.
    case interrupted(ViewerDescription)
    /// It is heard again.
    case resumed(ViewerDescription, path: String, after: MediaDuration)
    case viewerLeft(ViewerDescription, reason: EndReason, viewers: Int)
    /// A track or a device failed; the session goes on.
    case warning(String)
    case ended(EndReason)
}

/// What a viewer gets of what the host makes.
public enum ViewerLayer: String, Sendable, CaseIterable {
    /// The main encoding whole.
    case all
    /// Of the main encoding, the base of two temporal layers alone.
    case base
    /// The lower encoding, for those who are much slower than others.
    case low
    /// Of the lower encoding, the base of two temporal layers alone.
    case lowBase = "low base"
    /// Nothing for now: it could not follow, or nothing comes from it.
    case none
}

public struct HostStatistics: Sendable {
    public var viewers: Int
    /// Viewers with media flowing.
    public var connected: Int
    /// Of those, viewers who get the base of two temporal layers alone.
    public var baseViewers = 0
    /// Of those, viewers who get the lower of two encodings.
    public var lowViewers = 0
    public var video: VideoPipelineStatistics
    public var packetsSent: Int
    public var bytesSent: Int
    public var retransmissions: Int
    public var estimate: Bitrate?
    public var roundTrip: MediaDuration?
    /// What waits to be sent to the viewer for whom most does, as time at its rate.
    public var queue: MediaDuration?
    /// Of the viewer who loses most, 0...1.
    public var fractionLost = 0.0
    /// How each viewer with media flowing is reached: "direct, ..." or "relayed, ...".
    public var routes: [String] = []
    /// What holds the picture back: nil if nothing does.
    public var limit: String?
    /// What each viewer of `routes` gets, in the same order.
    public var layers: [ViewerLayer] = []
    /// How often a viewer had to wait over 150 ms on this side until a change of the picture had been sent to it whole, of all viewers,
    /// and how long in all. What they lose on the way only they can see.
    public var freezes = 0
    public var freezeTime = MediaDuration.zero
    /// What viewers asked for because they could not go on: key frames, or frames made from one that they had kept.
    public var keyframeRequests = 0
    /// Packets that were not what they should be, by everyone.
    public var badPackets: Int
}

public enum WatchEvent: Sendable {
    /// The host has to answer; the words are for comparing.
    case knocking(words: String)
    case accepted
    /// The host has answered; what the broadcast is called.
    case named(String)
    case connected(path: String)
    /// Nothing comes from the host; the session tries to get back for 30 s from its last sign.
    case interrupted
    /// Still interrupted, about once a second: for how long.
    case waiting(MediaDuration)
    /// The host is heard again.
    case resumed(path: String, after: MediaDuration)
    case viewerCount(Int)
    case warning(String)
}

/// What a session has received; `PlaybackStatistics` says what became of it.
public struct WatchStatistics: Sendable {
    public var packetsReceived: Int
    public var bytesReceived: Int
    public var packetsLost: Int
    public var nacks: Int
    public var keyframeRequests: Int
    public var roundTrip: MediaDuration?
    /// What the host believes that the path to here carries; nil if it does not say.
    public var estimate: Bitrate?
    /// Frames made from one that was kept, with which the picture went on after a loss without a key frame.
    public var recoveries: Int
    /// How long sound waits for what is late; pictures wait for nothing.
    public var queue: MediaDuration?
    /// Packets that came after all, when asked for again.
    public var repaired: Int
    /// Times for which nothing could be shown although something was there, and how long they took.
    public var freezes: Int
    public var freezeTime: MediaDuration
    /// "direct, ..." or "relayed, ...".
    public var route: String
    /// The highest temporal layer of the frames since the last report; nil if none came.
    public var layer: Int?
    public var badPackets: Int
}
