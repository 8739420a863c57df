package import Admission
import HTTP
public import Identifiers
public import Identity
public import MediaCore

/// One broadcast as a ``SignalingServer`` serves it: who may join, and how many at a time.
///
/// The limits protect the broadcast's user, and hold for each broadcast by itself. Limits of connections, requests and
/// failures protect the server, and hold for all broadcasts together (``SignalingServer/Configuration``).
public struct ServedBroadcastConfiguration: Sendable {
    public var id: BroadcastID
    /// The link's secret, 16 bytes.
    public var secret: [UInt8]
    /// Viewers of the local network may knock without the secret (``Link/announcedSecret``).
    public var isAnnounced = false
    /// The token with which players join without a knock; nil unless the user asked for it. See ``FixedToken``.
    public var fixedToken: String?
    /// The broadcast's name, which its page shows before the knock; nil: none.
    public var name: String?
    /// How its media reaches viewers at a relay; nil: knocks are of version 1 (``KnockChallenge``).
    package var encryption: Encryption? {
        get { if case .own(let encryption) = protection { encryption } else { nil } }
        set { protection = newValue.map { .own($0) } ?? .none }
    }
    /// At a relay: what it sends is encrypted for viewers whom the host sends here. Players without an admission are
    /// told so.
    public var isEncryptedByHost: Bool {
        get { if case .ofPublisher = protection { true } else { false } }
        set { protection = newValue ? .ofPublisher : .none }
    }
    private var protection = Protection.none
    /// The codec of its video, which viewers learn before anybody is asked about them; nil: there is no video, or it is
    /// not known.
    public var videoCodec: VideoCodec?
    /// What several servers of this broadcast share, 32 bytes: who was admitted by one gets a pass for the others. Nil:
    /// there are no others.
    public var passKey: [UInt8]?
    public var iceServers: [ICEServer] = []
    /// Makes credentials for the TURN servers among them that have no user name.
    public var turnSecret: TURNSecret?
    public var sessionCapacity = 64
    package var knockLimits = KnockTable.Limits.knocks()
    /// The rate of knocks with a correct proof, over all addresses.
    var knockRate = RequestLimiter.Rate(burst: 60, perSecond: 20)
    var tokenLimits = TokenTable.Limits()
    var eventStreamCapacity = 256

    private enum Protection: Sendable {
        case none
        /// Of what this host publishes to a relay.
        case own(Encryption)
        /// Of what a host publishes here.
        case ofPublisher
    }

    /// Of what the host publishes to a relay.
    package struct Encryption: Sendable {
        /// 16 random bytes of one run of the host.
        package var run: [UInt8]
        /// It is encrypted for the viewers, who get its keys with their admission. Those that take none are refused.
        package var isSealed: Bool
        /// Viewers come over the relay, which passes on what they say and are told: that is encrypted.
        package var sealsMessages = false

        package init(run: [UInt8], isSealed: Bool) { (self.run, self.isSealed) = (run, isSealed) }
    }

    /// Makes room for so many viewers at a time.
    public mutating func serve(viewers: Int) {
        // Twice as many places as viewers, for those whose end nobody has noticed yet.
        sessionCapacity = viewers * 2
        eventStreamCapacity = max(eventStreamCapacity, viewers * 2)
        tokenLimits.all = max(tokenLimits.all, viewers * 2)
        tokenLimits.ofAddress = max(tokenLimits.ofAddress, viewers / 8)
        knockLimits.questions.all = max(knockLimits.questions.all, viewers / 16)
        // All may come at once, also from a few addresses, or come back within seconds.
        knockRate.burst = max(knockRate.burst, Double(viewers + 1) / (1 - RequestLimiter.reserved))
        knockRate.perSecond = max(knockRate.perSecond, Double(viewers) / 4)
    }

    /// Makes room for viewers who knock here and watch at a relay. Each admission takes some 0.3 ms of the host's CPU.
    public mutating func admitViewersOfRelay() {
        (tokenLimits.all, tokenLimits.ofAddress) = (8_192, 1_024)
        knockLimits.questions.all = max(knockLimits.questions.all, 256)
        knockRate = RequestLimiter.Rate(burst: 500, perSecond: 200)
    }

    public init(id: BroadcastID = .random(), secret: [UInt8] = Link.randomSecret(), fixedToken: String? = nil) {
        self.id = id
        self.secret = secret
        self.fixedToken = fixedToken
    }
}
