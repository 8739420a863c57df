import LinuxRuntime
public import MediaCore

/// A key of the whole desktop, which its user grants through the portal: org.freedesktop.portal.GlobalShortcuts of
/// xdg-desktop-portal, versions 1 and 2.
public final class GlobalShortcut: Sendable {
    private struct State {
        var client: PortalClient?
        var session = ""
        var isClosed = false
    }

    private static let interface = "org.freedesktop.portal.GlobalShortcuts"
    private let address: String
    private let id: String
    private let onPress: @Sendable () -> Void
    private let state = Monitor(State())

    /// - Parameters:
    ///   - address: of the session bus, as in DBUS_SESSION_BUS_ADDRESS.
    ///   - id: what the desktop remembers the key by.
    ///   - onPress: called on GIO's thread; must not block.
    public init(address: String, id: String, onPress: @escaping @Sendable () -> Void) {
        self.address = address
        self.id = id
        self.onPress = onPress
    }

    deinit { close() }

    /// Asks for the key. Blocks until the user has answered, if the desktop asks.
    /// - Parameters:
    ///   - description: what the key does, for people.
    ///   - preferred: as in the XDG shortcuts specification: "CTRL+ALT+b".
    /// - Returns: the key that the user has chosen, as the desktop says it and unverified; nil if it does not.
    /// - Throws: if the desktop has no such keys, or its user does not want one.
    public func bind(description: String, preferred: String) throws(SourceFailure) -> String? {
        let client = try PortalClient(
            address: address, onEnd: {}, onSignal: { [weak self] message in self?.take(message) })
        let isClosed = state.with { state in
            state.client = client
            return state.isClosed
        }
        if isClosed { client.close() }
        do throws(SourceFailure) {
            return try bind(client, description, preferred)
        } catch {
            close()
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
        let granted = bound["shortcuts"]?.list?.first { $0.list?.first?.text == id }
        return granted?.list?.last?["trigger_description"]?.text
    }

    /// Gives the key up, also while `bind` waits. A second call does nothing.
    public func close() {
        let client = state.with { state in
            defer { (state.client, state.isClosed) = (nil, true) }
            return state.client
        }
        client?.close()
    }

    /// Called on GIO's thread with signals of the portal.
    private func take(_ message: BusMessage) {
        guard message.isSignal(Self.interface, "Activated"), message.arguments.count >= 2,
            message.arguments[1].text == id,
            state.with({ !$0.session.isEmpty && $0.session == message.arguments[0].text })
        else { return }
        onPress()
    }
}
