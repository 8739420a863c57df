/// A column of the table in Docs/interoperability.md: a property of the offer or of the link.
enum PlayerCase: String, CaseIterable, Sendable {
    case defaultOffer = "default offer"
    case noRTX = "no RTX"
    case rembOnly = "REMB only"
    case transportCC = "transport-cc"
    case audioFirst = "audio first"
    case twoAudio = "2 audio"
    case dataChannel = "data channel"
    case trickle
    case restart
    case loss = "3 % loss"
    case still
    case denseText = "dense text"

    /// Whether the case is played over a link that loses packets.
    var isLossy: Bool { self == .noRTX || self == .loss }
    /// Whether the case is played from a still screen, in one session.
    var isOfStillScreen: Bool { self == .still || self == .denseText }
}

/// The options of a player; see Tests/ForeignPeers/README.md.
struct PlayerOptions: Sendable {
    enum Feedback: String, Sendable {
        case `default`, remb
        case transportCC = "transport-cc"
    }

    /// The sections of the offer, in this order.
    var media = ["video", "audio"]
    var isTrickling = false
    var hasRTX = true
    /// webrtcbin requests lost packets only if it is told to; the other players always do.
    var hasNACK = false
    var feedback = Feedback.default
    var restarts = false
    /// The time from the first frame to the measured interval, in s.
    var skip = 0.5
    /// The measured interval, in s.
    var seconds = 3.0

    init(_ playerCase: PlayerCase) {
        switch playerCase {
        case .defaultOffer: break
        case .noRTX:
            (hasRTX, hasNACK) = (false, true)
            (skip, seconds) = (1, 8)
        case .rembOnly:
            feedback = .remb
            // aiortc sends its first REMB after 3 s.
            seconds = 6
        case .transportCC: feedback = .transportCC
        case .audioFirst: media = ["audio", "video"]
        case .twoAudio: media = ["video", "audio", "audio"]
        case .dataChannel: media = ["data", "video", "audio"]
        case .trickle: isTrickling = true
        case .restart:
            restarts = true
            skip = 1.5
        case .loss:
            hasNACK = true
            // The host needs some losses to detect that Pion ignores RTX.
            (skip, seconds) = (4, 6)
        case .still, .denseText:
            media = ["video"]
            // Until all players are connected and the page is refined; then two of the intervals in which browsers
            // request a key frame.
            (skip, seconds) = (24, 8)
        }
    }
}
