import CGIO
import Glibc
package import LinuxRuntime
package import MediaCore
import Synchronization

/// The desktop portal for screen casts: org.freedesktop.portal.ScreenCast, versions 1 to 5, of xdg-desktop-portal.
///
/// It asks for one monitor or window, with the cursor as metadata if possible, and that the grant holds until it is
/// revoked: the portal then gives a restore token, which is good for one use and replaced by each grant.
///
/// With input, the session is one of org.freedesktop.portal.RemoteDesktop, versions 1 and 2: the desktop asks for both
/// in one question, each time anew.
package final class ScreenCastPortal: ScreenCast {
    /// The capabilities of a portal.
    package struct Abilities: Sendable, Equatable {
        package var version: Int
        /// Bits: 1 monitors, 2 windows, 4 virtual monitors.
        package var sourceTypes: Int
        /// Bits: 1 hidden, 2 embedded, 4 metadata; 0 before version 2.
        package var cursorModes: Int
    }

    /// Keeps the restore token.
    package struct TokenStore: Sendable {
        package var load: @Sendable () -> String?
        /// nil removes it.
        package var save: @Sendable (String?) -> Void

        package init(load: @escaping @Sendable () -> String?, save: @escaping @Sendable (String?) -> Void) {
            (self.load, self.save) = (load, save)
        }
    }

    static let interface = "org.freedesktop.portal.ScreenCast"
    private let address: String
    private let tokens: TokenStore
    private let showsCursor: Bool
    private let asksForInput: Bool
    /// The node whose picture the pointer moves over; nil: no input is granted.
    private let inputNode = Monitor<UInt32?>(nil)
    private let client: Monitor<PortalClient?>
    private let end = Mutex<End>(End())

    private struct End {
        var isClosed = false
        var body: @Sendable () -> Void = {}
    }

    /// - Parameters:
    ///   - address: of the session bus, as in DBUS_SESSION_BUS_ADDRESS.
    ///   - showsCursor: false asks for frames without the cursor.
    ///   - asksForInput: also asks for the pointer and the keyboard.
    package init(address: String, tokens: TokenStore, showsCursor: Bool = true, asksForInput: Bool = false) {
        self.asksForInput = asksForInput
        self.address = address
        self.tokens = tokens
        self.showsCursor = showsCursor
        client = Monitor(nil)
    }

    deinit { close() }

    package func onEnd(_ body: @escaping @Sendable () -> Void) { end.withLock { $0.body = body } }

    package var isEnded: Bool { client.with { $0 }?.isSessionEnded ?? false }

    package func close() {
        end.withLock { $0.isClosed = true }
        take()?.close()
    }

    /// The capabilities of the portal at a bus.
    /// - Throws: `.noDisplay` if there is no bus, no portal, or none for screen casts.
    package static func abilities(address: String) throws(SourceFailure) -> Abilities {
        let client = try PortalClient(address: address, onEnd: {})
        defer { client.close() }
        return try abilities(client)
    }

    package func open(usesRestoring: Bool) throws(SourceFailure) -> ScreenCastGrant {
        take()?.close()
        let client = try PortalClient(address: address, onEnd: { [weak self] in self?.end.withLock { $0.body }() })
        self.client.with { $0 = client }
        if end.withLock({ $0.isClosed }) {
            take()?.close()
            throw PortalClient.ended
        }
        do throws(SourceFailure) {
            return try grant(client, usesRestoring)
        } catch {
            client.close()
            throw error
        }
    }

    private func take() -> PortalClient? {
        client.with { client in
            defer { client = nil }
            return client
        }
    }

    private static func abilities(_ client: PortalClient) throws(SourceFailure) -> Abilities {
        let properties = try client.properties(of: interface)
        guard let version = properties["version"]?.number, let types = properties["AvailableSourceTypes"]?.number,
            types & 3 != 0
        else { throw .noScreenCast }
        return Abilities(
            version: version, sourceTypes: types, cursorModes: properties["AvailableCursorModes"]?.number ?? 0)
    }

    private func grant(_ client: PortalClient, _ usesRestoring: Bool) throws(SourceFailure) -> ScreenCastGrant {
        inputNode.with { $0 = nil }
        let abilities = try Self.abilities(client)
        if asksForInput { try RemoteDesktop.check(client) }
        let owner = asksForInput ? RemoteDesktop.interface : Self.interface
        let created = try client.request(
            owner, "CreateSession", [], [("session_handle_token", .text(client.makeToken()))])
        guard let session = created["session_handle"]?.text, session.hasPrefix("/") else { throw .strangePortal }
        client.follow(session: session)

        // A session with input keeps nothing: whoever could restore it could control the desktop unasked.
        let canRestore = abilities.version >= 4 && !asksForInput
        let token = canRestore && usesRestoring ? tokens.load() : nil
        do throws(SourceFailure) {
            if asksForInput {
                _ = try client.request(
                    RemoteDesktop.interface, "SelectDevices", [.path(session)],
                    [("types", .uint32(UInt32(RemoteDesktop.devices)))])
            }
            _ = try client.request(
                Self.interface, "SelectSources", [.path(session)],
                sourceOptions(abilities, canRestore: canRestore, token))
            let started = try client.request(owner, "Start", [.path(session), .text("")], [], waitsForUser: true)
            // The token that was used is void now.
            if canRestore { tokens.save(started["restore_token"]?.text) }
            let descriptor = try client.openPipeWire(session, Self.interface)
            guard let grant = Self.grant(started, descriptor) else {
                Glibc.close(descriptor)
                throw .strangePortal
            }
            inputNode.with { $0 = asksForInput && grant.takesInput ? grant.node : nil }
            return grant
        } catch {
            if token != nil, error.code == .notPermitted { tokens.save(nil) }
            throw error
        }
    }

    private func sourceOptions(
        _ abilities: Abilities, canRestore: Bool, _ token: String?
    ) -> [(String, BusValue)] {
        var options: [(String, BusValue)] = [
            ("types", .uint32(UInt32(truncatingIfNeeded: abilities.sourceTypes & 3))), ("multiple", .boolean(false)),
        ]
        let modes = showsCursor ? [4, 2] : [1]
        if let mode = modes.first(where: { abilities.cursorModes & $0 != 0 }) {
            options.append(("cursor_mode", .uint32(UInt32(mode))))
        }
        if canRestore { options.append(("persist_mode", .uint32(2))) }
        if let token { options.append(("restore_token", .text(token))) }
        return options
    }

    /// - Returns: nil if the answer is not as specified.
    private static func grant(_ started: BusValue, _ descriptor: Int32) -> ScreenCastGrant? {
        guard let stream = started["streams"]?.list?.first?.list, let node = stream.first?.number, stream.count == 2
        else { return nil }
        let kind: ScreenCastGrant.Kind =
            switch stream[1]["source_type"]?.number {
            case 1: .monitor
            case 2: .window
            default: .other
            }
        let sides = stream[1]["size"]?.list?.compactMap(\.number) ?? []
        let size =
            sides.count == 2 && sides.allSatisfy { $0 > 0 } ? PixelSize(width: sides[0], height: sides[1]) : nil
        let devices = started["devices"]?.number ?? 0
        return ScreenCastGrant(
            descriptor: descriptor, node: UInt32(truncatingIfNeeded: node), kind: kind, logicalSize: size,
            takesInput: devices & RemoteDesktop.devices == RemoteDesktop.devices)
    }

    package func send(_ input: DesktopInput) {
        guard let node = inputNode.with({ $0 }), let client = client.with({ $0 }) else { return }
        let (member, arguments) = RemoteDesktop.call(input, node)
        client.notify(RemoteDesktop.interface, member, arguments)
    }
}

extension SourceFailure {
    fileprivate static let noScreenCast = SourceFailure(
        .noDisplay, "the desktop portal cannot share screens",
        remedy: "Install the portal of your desktop: xdg-desktop-portal-gnome, -kde or -wlr (sway).")
    static let strangePortal = SourceFailure(
        .unsupported, "the desktop portal does not answer as its specification says",
        remedy: "Restart the service xdg-desktop-portal, or log in again.")
}
