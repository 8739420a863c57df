/// A column of the table in Docs/interoperability.md: what a player offers, or has to bear.
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

    /// Played across a link that loses packets.
    var isLossy: Bool { self == .noRTX || self == .loss }
    /// Played from a screen that rests, in one session.
    var isOfStillScreen: Bool { self == .still || self == .denseText }
}

/// What a player is asked for; see Tests/ForeignPeers/README.md.
struct PlayerOptions: Sendable {
    enum Feedback: String, Sendable {
        case `default`, remb
        case transportCC = "transport-cc"
    }

    /// Sections of the offer, in this order.
    var media = ["video", "audio"]
    var isTrickling = false
    var hasRTX = true
    /// webrtcbin asks for lost packets only if it is told to; the others always do.
    var hasNACK = false
    var feedback = Feedback.default
    var restarts = false
    /// From the first picture to what is counted, in s.
    var skip = 0.5
    /// What is counted, in s.
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
            // The host finds out within some losses that Pion makes nothing of RTX.
            (skip, seconds) = (4, 6)
        case .still, .denseText:
            media = ["video"]
            // Until everybody is there and the page is as sharp as it gets; then two of the intervals in which browsers
            // ask for a key frame.
            (skip, seconds) = (12, 8)
        }
    }
}
