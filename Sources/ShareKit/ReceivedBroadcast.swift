import Admission
internal import Identifiers
internal import LinuxRuntime
internal import MediaCore
internal import Service
internal import Signaling

/// A broadcast that a ``BroadcastService`` takes in, and the way back to the app that sends it.
public final class ReceivedBroadcast: Sendable, Identifiable, Hashable {
    /// Differs from that of every other broadcast.
    public let id: String
    /// The app's name and identifier, as it says; not verified. Empty for a WHIP tool.
    public let application: String
    /// The app's identifier, as it says; not verified. By convention in reverse-DNS notation. Empty for a WHIP tool.
    public let applicationID: String
    /// The app's icon, a PNG file that is not decoded here: at most 256 x 256 pixels and 16 KiB; nil if it has none.
    public let applicationIcon: [UInt8]?
    /// The address of the sender, without port.
    public let address: String
    /// What the sender's user has entered, by the names of the service's fields.
    public let setup: [String: String]

    private let session: SessionID
    private let service: Monitor<ServiceSession?>

    init(_ session: SessionID, _ publisher: Publisher, of service: Monitor<ServiceSession?>) {
        self.session = session
        self.service = service
        id = session.text
        application = publisher.application?.name ?? ""
        applicationID = publisher.application?.id ?? ""
        applicationIcon = publisher.application?.icon?.bytes
        address = publisher.address
        setup = publisher.setup
    }

    /// Tells the app how many people watch, and how many like it; nil is unknown.
    public func send(viewers: Int?, likes: Int? = nil) {
        service.with { $0 }?.send(ServiceInfo(viewers: viewers, likes: likes), to: session)
    }

    /// Passes a comment on to the app.
    /// - Parameters:
    ///   - text: one line, of which 500 characters at most arrive; nothing is sent if none is visible.
    ///   - name: of who wrote it.
    public func send(comment text: String, from name: String) {
        guard let comment = BroadcastComment(from: name, text) else { return }
        service.with { $0 }?.send(ServiceInfo(comment: comment), to: session)
    }

    /// Tells the app where people can watch: an `http` or `https` address.
    public func send(url: String) { service.with { $0 }?.send(url: url, to: session) }

    /// Ends the broadcast. Does nothing if it has ended.
    /// - Parameters:
    ///   - reason: a sentence for the app's user.
    ///   - nextStep: what that user may do about it, for example sign in; a sentence or an address.
    public func finish(reason: String, nextStep: String? = nil) {
        service.with { $0 }?.finish(session, reason: reason, nextStep: nextStep)
    }

    /// Two values are equal if they are of the same broadcast.
    public static func == (one: ReceivedBroadcast, other: ReceivedBroadcast) -> Bool { one.id == other.id }
    /// Hashes the `id` alone.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
