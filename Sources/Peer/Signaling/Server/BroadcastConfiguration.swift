import Admission
import HTTP
public import Identifiers
public import Identity
public import MediaCore

/// One broadcast as a ``SignalingServer`` serves it: who may join, and how many at a time.
///
/// The limits protect the broadcast's user, and hold for each broadcast by itself. Limits of connections, requests and
/// failures protect the server, and hold for all broadcasts together (``SignalingServer/Configuration``).
public struct BroadcastConfiguration: Sendable {
    public var id: BroadcastID
    /// The link's secret, 16 bytes.
    public var secret: [UInt8]
    /// The token with which players join without a knock; nil unless the user asked for it. See ``FixedToken``.
    public var fixedToken: String?
    /// The broadcast's name, which its page shows before the knock; nil: none.
    public var name: String?
    /// The codec of its video, which viewers learn before anybody is asked about them; nil: there is no video, or it is
    /// not known.
    public var videoCodec: VideoCodec?
    /// What several servers of this broadcast share, 32 bytes: who was admitted by one gets a pass for the others. Nil:
    /// there are no others.
    public var passKey: [UInt8]?
    public var iceServers: [ICEServer] = []
    /// Makes credentials for the TURN servers among them that have no user name.
    public var turnSecret: TURNSecret?
    /// Knocks that wait for an answer at a time.
    public var pendingKnocks = 8
    /// Those from one address (IPv6: /64).
    public var pendingKnocksPerAddress = 2
    public var sessionCapacity = 64
    /// Until a knock counts as unanswered; until a knock that nobody polls is withdrawn.
    public var knockTimeout: Duration = .seconds(60)
    public var abandonTimeout: Duration = .seconds(5)
    /// Until a knock whose challenge is not signed is removed.
    public var signatureTimeout: Duration = .seconds(10)
    /// How long a refused viewer is refused again without a question.
    public var refusalTimeout: Duration = .seconds(60)
    var knockRate = KnockRate()
    var tokenLimits = TokenTable.Limits()
    var eventStreamCapacity = 256

    /// Makes room for so many viewers at a time.
    public mutating func serve(viewers: Int) {
        // Twice as many places as viewers, for those whose end nobody has noticed yet.
        sessionCapacity = viewers * 2
        eventStreamCapacity = max(eventStreamCapacity, viewers * 2)
        tokenLimits.all = max(tokenLimits.all, viewers * 2)
        tokenLimits.ofAddress = max(tokenLimits.ofAddress, viewers / 8)
        pendingKnocks = max(pendingKnocks, viewers / 16)
        // All may come at once, also from a few addresses, or come back within seconds.
        knockRate.burst = max(knockRate.burst, Double(viewers + 1) / (1 - RequestLimiter.reserved))
        knockRate.perSecond = max(knockRate.perSecond, Double(viewers) / 4)
    }

    /// The rate of knocks with a correct proof, over all addresses.
    struct KnockRate: Sendable {
        var burst = 60.0
        var perSecond = 20.0
    }

    var knockLimits: KnockTable.Limits {
        .knocks(
            answer: knockTimeout, abandoned: abandonTimeout, signature: signatureTimeout, refusal: refusalTimeout,
            questions: pendingKnocks, questionsOfAddress: pendingKnocksPerAddress)
    }

    public init(id: BroadcastID = .random(), secret: [UInt8] = Link.randomSecret(), fixedToken: String? = nil) {
        self.id = id
        self.secret = secret
        self.fixedToken = fixedToken
    }
}
