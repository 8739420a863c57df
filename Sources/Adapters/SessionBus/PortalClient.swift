import CGIO
import LinuxRuntime
import MediaCore

/// A connection to xdg-desktop-portal, with one session: org.freedesktop.portal.Request and .Session.
///
/// Calls block, on any thread; `close` ends them.
final class PortalClient: Sendable {
    private struct Shared {
        /// The connection that has the portal's name. Signals of others are ignored, as anybody can send them.
        var owner = ""
        var session = ""
        var isSessionEnded = false
        /// The portal, the bus or this connection is gone.
        var isGone = false
        var isClosed = false
        var answers: [UInt32: BusMessage] = [:]
        /// The responses to requests, by their paths.
        var responses: [String: [BusValue]] = [:]
        var tokens = 0
        /// The call of `notify` that is not answered yet.
        var notification: UInt32?
    }

    static let ended = SourceFailure(.displayGone, "the screen cast was ended", remedy: "Start it again.")
    private static let name = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    /// The longest time that the portal and its backend need to answer without their user; starting them is part of it.
    private static let patience = MediaDuration.seconds(25)

    private let bus: BusConnection
    private let shared = Monitor(Shared())
    private let onEnd: @Sendable () -> Void
    private let onOwner: @Sendable (String) -> Void
    private let onSignal: @Sendable (BusMessage) -> Void
    private let onNotified: @Sendable () -> Void

    /// Connects, and has the bus start the portal unless it runs.
    /// - Parameters:
    ///   - onEnd: called on GIO's thread when the session or the portal has ended.
    ///   - onOwner: called on GIO's thread with the connection that has the portal's name from now on, also after the
    ///     end of the portal that this connection has used; empty: none.
    ///   - onSignal: called on GIO's thread with the portal's signals.
    ///   - onNotified: called on GIO's thread when the portal has answered a call of `notify`.
    init(
        address: String, onEnd: @escaping @Sendable () -> Void,
        onOwner: @escaping @Sendable (String) -> Void = { _ in },
        onSignal: @escaping @Sendable (BusMessage) -> Void = { _ in },
        onNotified: @escaping @Sendable () -> Void = {}
    ) throws(SourceFailure) {
        guard let bus = BusConnection(address: address) else {
            throw SourceFailure(
                .noDisplay, "no session bus answers, through which a Wayland desktop shares its screen",
                remedy: "Run share inside the graphical session (DBUS_SESSION_BUS_ADDRESS).")
        }
        self.bus = bus
        self.onEnd = onEnd
        self.onOwner = onOwner
        self.onSignal = onSignal
        self.onNotified = onNotified
        bus.listen { [weak self] in self?.take($0) ?? false }
        for (interface, member) in [("Request", "Response"), ("Session", "Closed")] {
            bus.match(
                "type='signal',sender='\(Self.name)',interface='org.freedesktop.portal.\(interface)',"
                    + "member='\(member)'")
        }
        bus.match(
            "type='signal',sender='\(BusConnection.bus)',interface='\(BusConnection.bus)',member='NameOwnerChanged',"
                + "arg0='\(Self.name)'")
        do throws(SourceFailure) {
            let started = try ask(
                BusConnection.bus, BusConnection.busPath, BusConnection.bus, "StartServiceByName",
                [.text(Self.name), .uint32(0)])
            let owner = try ask(
                BusConnection.bus, BusConnection.busPath, BusConnection.bus, "GetNameOwner", [.text(Self.name)])
            guard started.kind == .reply, let name = owner.arguments.first?.text, owner.kind == .reply else {
                throw Self.noPortal
            }
            shared.with { $0.owner = name }
        } catch {
            close()
            throw error
        }
    }

    /// Ends the session and disconnects, also while another thread waits for an answer. A second call does nothing.
    func close() {
        let session = shared.change { shared -> String? in
            guard !shared.isClosed else { return nil }
            shared.isClosed = true
            return shared.session
        }
        guard let session else { return }
        if !session.isEmpty {
            bus.call(Self.name, session, "org.freedesktop.portal.Session", "Close", expectsReply: false)
        }
        // GIO's own thread may be the one that ends here.
        bus.closeElsewhere()
    }

    /// The connection of the portal that is used.
    var owner: String { shared.with { $0.owner } }

    var isSessionEnded: Bool { shared.with { $0.isSessionEnded } }

    /// Asks the bus for a signal of the portal.
    func match(_ interface: String, _ member: String) {
        bus.match("type='signal',sender='\(Self.name)',interface='\(interface)',member='\(member)'")
    }

    func follow(session: String) { shared.with { $0.session = session } }

    /// A token for the path of a request or a session.
    func makeToken() -> String {
        shared.with { shared in
            shared.tokens += 1
            return "share\(shared.tokens)"
        }
    }

    // MARK: Calls

    func properties(of interface: String) throws(SourceFailure) -> BusValue {
        let reply = try ask(Self.name, Self.path, BusConnection.properties, "GetAll", [.text(interface)])
        // An interface that is not there is an error, or has no properties.
        return reply.kind == .reply ? reply.arguments.first ?? .text("") : .text("")
    }

    /// Makes a request and waits for its response.
    /// - Parameter waitsForUser: without a time limit.
    /// - Returns: the results, a dictionary.
    /// - Throws: `.notPermitted` if the user has dismissed it, `.unsupported` if the desktop has refused it.
    func request(
        _ interface: String, _ member: String, _ arguments: [BusValue], _ options: [(String, BusValue)],
        waitsForUser: Bool = false
    ) throws(SourceFailure) -> BusValue {
        let token = makeToken()
        let sender = String(bus.uniqueName.dropFirst().map { $0 == "." ? "_" : $0 })
        var path = "\(Self.path)/request/\(sender)/\(token)"
        let entries = (options + [("handle_token", BusValue.text(token))]).map {
            BusValue.entry(.text($0.0), .variant($0.1))
        }
        let reply = try ask(Self.name, Self.path, interface, member, arguments + [.array(of: "{sv}", entries)])
        guard reply.kind == .reply else {
            // The bus answers for a portal that has ended.
            throw shared.with({ $0.isGone }) ? Self.portalLost : Self.refused(reply.arguments.first?.text)
        }
        // Portals before 0.9 choose the path themselves.
        if let given = reply.arguments.first?.text { path = given }
        let values = try wait(waitsForUser ? nil : Self.patience) { $0.responses.removeValue(forKey: path) }
        guard values.count == 2, let code = values[0].number else { throw .strangePortal }
        switch code {
        case 0: return values[1]
        case 1: throw Self.dismissed
        default: throw Self.refused(nil)
        }
    }

    enum Notification { case pending, answered, gone }

    /// Tells the portal something about the session, and returns at once. The next time when it has answered.
    /// - Returns: `.pending` if `onNotified` follows; `.gone` if there is no session any more.
    func notify(_ interface: String, _ member: String, _ arguments: [BusValue]) -> Notification {
        let session = shared.with { $0.isClosed || $0.isSessionEnded || $0.isGone ? "" : $0.session }
        guard !session.isEmpty else { return .gone }
        // Without the lock, which GIO's thread needs while the connection waits for that.
        let serial = bus.call(
            Self.name, Self.path, interface, member, [.path(session), .dictionary([:])] + arguments)
        guard serial != 0 else { return .gone }
        return shared.with { shared in
            if shared.answers.removeValue(forKey: serial) != nil { return .answered }
            shared.notification = serial
            return .pending
        }
    }

    /// A connection to PipeWire for the streams of a session.
    func openPipeWire(_ session: String, _ interface: String) throws(SourceFailure) -> Int32 {
        let arguments = BusValue.tuple([.path(session), .dictionary([:])])
        let descriptor = bus.ifOpen {
            cgio_call_for_descriptor(
                $0, Self.name, Self.path, interface, "OpenPipeWireRemote", arguments.variant, 10_000)
        }
        guard let descriptor, descriptor >= 0 else {
            guard bus.isConnected else { throw Self.portalLost }
            throw SourceFailure(
                .unsupported, "the desktop portal has no connection to PipeWire, which carries the picture",
                remedy: "Start the services pipewire and wireplumber of your user.")
        }
        return descriptor
    }

    private func ask(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]
    ) throws(SourceFailure) -> BusMessage {
        let serial = bus.call(destination, path, interface, member, arguments)
        guard serial != 0 else { throw Self.portalLost }
        return try wait(Self.patience) { $0.answers.removeValue(forKey: serial) }
    }

    private func wait<Value>(
        _ patience: MediaDuration?, _ find: (inout Shared) -> Value?
    ) throws(SourceFailure) -> Value {
        func look(_ shared: inout Shared) -> Result<Value, SourceFailure>? {
            if let value = find(&shared) { return .success(value) }
            if shared.isClosed || shared.isSessionEnded { return .failure(Self.ended) }
            return shared.isGone ? .failure(Self.portalLost) : nil
        }
        let deadline = patience.map { MonotonicClock.now + $0 }
        var result: Result<Value, SourceFailure>?
        repeat {
            // GIO announces the end of a connection only to main loops, so that it is looked for while the answer is
            // awaited.
            guard bus.isConnected else { throw Self.portalLost }
            let next = MonotonicClock.now + .seconds(2)
            result = shared.wait(until: deadline.map { min($0, next) } ?? next, look)
        } while result == nil && deadline.map { MonotonicClock.now < $0 } ?? true
        guard let result else {
            throw SourceFailure(
                .unsupported, "the desktop portal does not answer",
                remedy: "Restart the service xdg-desktop-portal, or log in again.")
        }
        return try result.get()
    }

    // MARK: Messages

    /// Called on GIO's thread.
    private func take(_ message: BusMessage) -> Bool {
        var isNotified = false
        let hasEnded = shared.change { shared -> Bool in
            if message.kind == .reply || message.kind == .error {
                // The answer to a call of `notify`. Decided with the lock, as that may look for the answer meanwhile.
                if shared.notification == message.replySerial {
                    shared.notification = nil
                    isNotified = !shared.isClosed
                    return false
                }
                // Late answers stay until the end of the connection, which makes a handful of calls.
                if shared.answers.count < 64 { shared.answers[message.replySerial] = message }
            } else if let owner = message.newOwner(of: Self.name) {
                guard !shared.owner.isEmpty, owner != shared.owner, !shared.isGone else { return false }
                shared.isGone = true
                return true
            } else if message.kind == .signal, !shared.owner.isEmpty, message.sender == shared.owner {
                if message.isSignal("org.freedesktop.portal.Request", "Response") {
                    if shared.responses.count < 64 { shared.responses[message.path] = message.arguments }
                } else if message.isSignal("org.freedesktop.portal.Session", "Closed"), !shared.session.isEmpty,
                    message.path == shared.session, !shared.isSessionEnded
                {
                    shared.isSessionEnded = true
                    return true
                }
            }
            return false
        }
        if isNotified { onNotified() }
        if hasEnded { onEnd() }
        if let owner = message.newOwner(of: Self.name) { onOwner(owner) }
        let owner = shared.with { $0.owner }
        if message.kind == .signal, !owner.isEmpty, message.sender == owner { onSignal(message) }
        return false
    }

    // MARK: Failures

    private static let noPortal = SourceFailure(
        .noDisplay, "this session has no desktop portal, through which a Wayland desktop shares its screen",
        remedy: "Install xdg-desktop-portal and the one of your desktop: xdg-desktop-portal-gnome, -kde or -wlr (sway)."
    )
    private static let portalLost = SourceFailure(
        .displayGone, "the desktop portal has ended", remedy: "Start the service xdg-desktop-portal, or log in again.")
    private static let dismissed = SourceFailure(
        .notPermitted, "no screen was chosen: the desktop's question was dismissed",
        remedy: "Run it again, and choose a screen or a window.")

    private static func refused(_ why: String?) -> SourceFailure {
        let reason = why.map { ": " + UntrustedText.clean($0, limit: 200, fallback: "no reason") } ?? ""
        return SourceFailure(
            .unsupported, "the desktop does not let its screen be shared" + reason,
            remedy: "Its settings may forbid it, or the portal of the desktop (xdg-desktop-portal-gnome, -kde, -wlr) "
                + "cannot do it here.")
    }
}
