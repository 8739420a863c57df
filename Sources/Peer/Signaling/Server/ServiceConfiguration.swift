public import Admission
import HTTP

/// One service as a ``SignalingServer`` serves it: what hosts are told, and how many may pair and publish at a time.
///
/// The limits protect the service's user, and hold for each service by itself. Limits of connections, requests and
/// failures protect the server, and hold for all of its broadcasts and services together
/// (``SignalingServer/Configuration``).
public struct ServiceConfiguration: Sendable {
    public var description: ServiceDescription
    /// 16 bytes in the service's link, which hosts prove to have; nil: the link has none.
    public var linkSecret: [UInt8]?
    public var iceServers: [ICEServer] = []
    /// Makes credentials for the TURN servers among them that have no user name.
    public var turnSecret: TURNSecret?
    /// Where people can watch what this service takes in; told with each grant. An event may replace it.
    public var broadcastURL: String?
    /// The token with which WHIP tools publish without a pairing; nil unless the user asked for it. See ``FixedToken``.
    public var fixedToken: String?
    /// Until a tunnel at which nobody was ends when another host wants its place.
    public var idleTunnelTimeout: Duration = .seconds(600)
    /// Until a tunnel at which nobody was ends by itself, unless a person has accepted its host.
    public var emptyTunnelTimeout: Duration = .seconds(12 * 3_600)
    package var pairingLimits = PairingTable.Limits()
    var pairingRate = RequestLimiter.Rate(burst: 60, perSecond: 20)
    var eventStreamCapacity = 64

    /// Sessions at a time. A granted pairing has its place among them.
    public var sessionCapacity: Int {
        get { pairingLimits.broadcasts }
        set { pairingLimits.broadcasts = newValue }
    }

    /// Makes room for so many broadcasts at a time, with a stream of events each.
    public mutating func serve(broadcasts: Int) {
        sessionCapacity = broadcasts
        eventStreamCapacity = max(eventStreamCapacity, broadcasts * 2)
    }

    public init(_ description: ServiceDescription, fixedToken: String? = nil) {
        self.description = description
        self.fixedToken = fixedToken
    }
}
