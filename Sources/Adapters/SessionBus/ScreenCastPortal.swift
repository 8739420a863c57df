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
/// With input, the session is one of org.freedesktop.portal.RemoteDesktop: the desktop asks for both in one question.
/// Its restore tokens, which version 2 gives, are others.
package final class ScreenCastPortal: ScreenCast {
    /// The capabilities of a portal.
    package struct Abilities: Sendable, Equatable {
        package var version: Int
        /// Bits: 1 monitors, 2 windows, 4 virtual monitors.
        package var sourceTypes: Int
        /// Bits: 1 hidden, 2 embedded, 4 metadata; 0 before version 2.
        package var cursorModes: Int
        /// What programs can be granted of the keyboard and the pointer.
        package var devices: DesktopDevices
        /// The version of the portal for input, which gives restore tokens since version 2; 0: there is none.
        package var inputVersion: Int
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
    /// Nil: input is not asked for.
    private let inputTokens: TokenStore?
    private let inputs = Monitor(Inputs())
    private let client: Monitor<PortalClient?>
    private let end = Mutex<End>(End())

    private struct Inputs {
        /// The node whose picture the pointer moves over; nil: no input is granted.
        var node: UInt32?
        var queue = DesktopInputQueue()
    }

    private struct End {
        var isClosed = false
        var body: @Sendable () -> Void = {}
    }

    private static let closingTime = MediaDuration.milliseconds(300)

    /// - Parameters:
    ///   - address: of the session bus, as in DBUS_SESSION_BUS_ADDRESS.
    ///   - showsCursor: false asks for frames without the cursor.
    ///   - inputTokens: also asks for the pointer and the keyboard, if the portal has them, and keeps the restore
    ///     tokens of such grants; nil: does not.
    package init(address: String, tokens: TokenStore, showsCursor: Bool = true, inputTokens: TokenStore? = nil) {
        self.inputTokens = inputTokens
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
        // What is released reaches the desktop before the session ends.
        let isIdle = inputs.wait(until: MonotonicClock.now + Self.closingTime) { $0.queue.isIdle ? true : nil }
        if isIdle == nil { inputs.change { $0 = Inputs() } }
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
        let client = try PortalClient(
            address: address, onEnd: { [weak self] in self?.end.withLock { $0.body }() },
            onNotified: { [weak self] in
                self?.inputs.change { $0.queue.answered() }
                self?.sendNext()
            })
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
        let input = try client.properties(of: RemoteDesktop.interface)
        return Abilities(
            version: version, sourceTypes: types, cursorModes: properties["AvailableCursorModes"]?.number ?? 0,
            devices: RemoteDesktop.devices(input), inputVersion: input["version"]?.number ?? 0)
    }

    private func grant(_ client: PortalClient, _ usesRestoring: Bool) throws(SourceFailure) -> ScreenCastGrant {
        inputs.change { $0 = Inputs() }
        let abilities = try Self.abilities(client)
        // Nil: input is not asked for.
        let devices = inputTokens == nil || abilities.devices.isEmpty ? nil : abilities.devices
        let owner = devices == nil ? Self.interface : RemoteDesktop.interface
        let created = try client.request(
            owner, "CreateSession", [], [("session_handle_token", .text(client.makeToken()))])
        guard let session = created["session_handle"]?.text, session.hasPrefix("/") else { throw .strangePortal }
        client.follow(session: session)

        let tokens = devices == nil ? self.tokens : inputTokens ?? self.tokens
        let canRestore = devices == nil ? abilities.version >= 4 : abilities.inputVersion >= 2
        let token = canRestore && usesRestoring ? tokens.load() : nil
        var restoring: [(String, BusValue)] = canRestore ? [("persist_mode", .uint32(2))] : []
        if let token { restoring.append(("restore_token", .text(token))) }
        do throws(SourceFailure) {
            if let devices {
                _ = try client.request(
                    RemoteDesktop.interface, "SelectDevices", [.path(session)],
                    [("types", .uint32(UInt32(devices.rawValue)))] + restoring)
            }
            _ = try client.request(
                Self.interface, "SelectSources", [.path(session)],
                sourceOptions(abilities, hasInput: devices != nil) + (devices == nil ? restoring : []))
            let started = try client.request(owner, "Start", [.path(session), .text("")], [], waitsForUser: true)
            // The token that was used is void now.
            if canRestore { tokens.save(started["restore_token"]?.text) }
            let descriptor = try client.openPipeWire(session, Self.interface)
            guard let grant = Self.grant(started, descriptor, of: devices) else {
                Glibc.close(descriptor)
                throw .strangePortal
            }
            inputs.with { $0.node = grant.devices?.isEmpty ?? true ? nil : grant.node }
            return grant
        } catch {
            if token != nil, error.code == .notPermitted { tokens.save(nil) }
            throw error
        }
    }

    /// - Parameter hasInput: the cursor is asked for as metadata even if it is hidden, as it says who moves it.
    private func sourceOptions(_ abilities: Abilities, hasInput: Bool) -> [(String, BusValue)] {
        var options: [(String, BusValue)] = [
            ("types", .uint32(UInt32(truncatingIfNeeded: abilities.sourceTypes & 3))), ("multiple", .boolean(false)),
        ]
        let modes = showsCursor ? [4, 2] : hasInput ? [4, 1] : [1]
        if let mode = modes.first(where: { abilities.cursorModes & $0 != 0 }) {
            options.append(("cursor_mode", .uint32(UInt32(mode))))
        }
        return options
    }

    /// - Parameter wanted: the devices that were asked for; nil: none were.
    /// - Returns: nil if the answer is not as specified.
    private static func grant(
        _ started: BusValue, _ descriptor: Int32, of wanted: DesktopDevices?
    ) -> ScreenCastGrant? {
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
        let devices = DesktopDevices(rawValue: started["devices"]?.number ?? 0)
        return ScreenCastGrant(
            descriptor: descriptor, node: UInt32(truncatingIfNeeded: node), kind: kind, logicalSize: size,
            devices: wanted?.intersection(devices))
    }

    package func send(_ input: DesktopInput) {
        inputs.with { inputs in
            if inputs.node != nil { inputs.queue.append(input) }
        }
        sendNext()
    }

    private func sendNext() {
        func next() -> (DesktopInput, node: UInt32)? {
            inputs.with { inputs in inputs.node.flatMap { node in inputs.queue.next().map { ($0, node) } } }
        }
        while let (input, node) = next() {
            let (member, arguments) = RemoteDesktop.call(input, node)
            switch client.with({ $0 })?.notify(RemoteDesktop.interface, member, arguments) {
            case .pending: return
            case .answered: inputs.change { $0.queue.answered() }
            case .gone, nil: inputs.change { $0 = Inputs() }
            }
        }
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
