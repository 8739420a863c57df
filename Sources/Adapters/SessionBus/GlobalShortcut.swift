import LinuxRuntime
public import MediaCore

/// A key of the whole desktop, which its user grants through the portal: org.freedesktop.portal.GlobalShortcuts of
/// xdg-desktop-portal, versions 1 and 2.
public final class GlobalShortcut: Sendable {
    private struct State {
        var client: PortalClient?
        var session = ""
        /// The connection that has the portal's name; empty: none has.
        var owner = ""
        /// The owner that was asked for the key.
        var asked = ""
        var presses = ShortcutPresses()
        var isClosed = false
    }

    private static let interface = "org.freedesktop.portal.GlobalShortcuts"
    private let address: String
    private let id: String
    private let clock: @Sendable () -> MediaInstant
    private let onPress: @Sendable () -> Void
    private let state = Monitor(State())

    /// - Parameters:
    ///   - address: of the session bus, as in DBUS_SESSION_BUS_ADDRESS.
    ///   - id: what the desktop remembers the key by.
    ///   - clock: nil: the monotonic clock.
    ///   - onPress: called on GIO's thread, once for each press, however long the key is held; must not block.
    public init(
        address: String, id: String, clock: (@Sendable () -> MediaInstant)? = nil,
        onPress: @escaping @Sendable () -> Void
    ) {
        self.address = address
        self.id = id
        self.clock = clock ?? { MonotonicClock.now }
        self.onPress = onPress
    }

    deinit { close() }

    /// Asks for the key. Blocks until the user has answered, if the desktop asks. May be called again after
    /// `waitForRestart`.
    /// - Parameters:
    ///   - description: what the key does, for people.
    ///   - preferred: as in the XDG shortcuts specification: "CTRL+ALT+b".
    /// - Returns: the key that the user has chosen, as the desktop says it and unverified; nil if none is set, or the
    ///   desktop does not say which.
    /// - Throws: if the desktop has no such keys, or its user does not want one.
    public func bind(description: String, preferred: String) throws(SourceFailure) -> String? {
        state.with { $0.asked = $0.owner }
        let client = try PortalClient(
            address: address, onEnd: {}, onOwner: { [weak self] in self?.note(owner: $0) },
            onSignal: { [weak self] message in self?.take(message) })
        let (isClosed, former) = state.change { state in
            let former = state.client
            state.client = client
            state.asked = client.owner
            // A later one may have been told of already.
            if state.owner.isEmpty { state.owner = client.owner }
            (state.session, state.presses) = ("", ShortcutPresses())
            return (state.isClosed, former)
        }
        former?.close()
        if isClosed { client.close() }
        do throws(SourceFailure) {
            return try bind(client, description, preferred)
        } catch {
            // Of a portal that has ended the next one may be told.
            if error.code != .displayGone { close() }
            throw error
        }
    }

    private func bind(
        _ client: PortalClient, _ description: String, _ preferred: String
    ) throws(SourceFailure) -> String? {
        guard try client.properties(of: Self.interface)["version"]?.number != nil else {
            throw SourceFailure(.unsupported, "the desktop portal has no global shortcuts", remedy: "")
        }
        client.match(Self.interface, "Activated")
        client.match(Self.interface, "Deactivated")
        let created = try client.request(
            Self.interface, "CreateSession", [], [("session_handle_token", .text(client.makeToken()))])
        guard let session = created["session_handle"]?.text, session.hasPrefix("/") else { throw .strangePortal }
        client.follow(session: session)
        state.with { $0.session = session }
        let shortcut = BusValue.tuple([
            .text(id), .dictionary(["description": .text(description), "preferred_trigger": .text(preferred)]),
        ])
        let bound = try client.request(
            Self.interface, "BindShortcuts", [.path(session), .array(of: "(sa{sv})", [shortcut]), .text("")], [],
            waitsForUser: true)
        guard let granted = bound["shortcuts"]?.list?.first(where: { $0.list?.first?.text == id }) else {
            throw SourceFailure(.notPermitted, "the desktop has granted no shortcut", remedy: "")
        }
        let key = granted.list?.last?["trigger_description"]?.text ?? ""
        return key.isEmpty ? nil : key
    }

    /// Waits until another portal runs than the one that was asked for the key, which has ended with it.
    /// - Returns: false when the shortcut is closed.
    public func waitForRestart() -> Bool {
        state.wait { state in
            if state.isClosed { return false }
            return !state.owner.isEmpty && state.owner != state.asked ? true : nil
        }
    }

    /// Gives the key up, also while `bind` or `waitForRestart` waits. A second call does nothing.
    public func close() {
        let client = state.change { state in
            defer { (state.client, state.isClosed) = (nil, true) }
            return state.client
        }
        client?.close()
    }

    /// Called on GIO's thread.
    private func note(owner: String) { state.change { $0.owner = owner } }

    /// Called on GIO's thread with signals of the portal.
    private func take(_ message: BusMessage) {
        let isPress = message.isSignal(Self.interface, "Activated")
        guard isPress || message.isSignal(Self.interface, "Deactivated"), message.arguments.count >= 2,
            message.arguments[1].text == id
        else { return }
        let now = clock()
        let counts = state.with { state -> Bool in
            guard !state.session.isEmpty, state.session == message.arguments[0].text else { return false }
            if isPress { return state.presses.press(at: now) }
            state.presses.release(at: now)
            return false
        }
        if counts { onPress() }
    }
}
