import CommandSupport
import FoundationEssentials
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import PixelConversion
import PortalCapture
import SessionBus

/// The screen of a Wayland session, which the desktop's portal grants.
enum PortalSource {
    /// Whether this is a Wayland session, whose screen an X display does not show.
    static func isWayland(_ environment: [String: String]) -> Bool {
        environment["XDG_SESSION_TYPE"] == "wayland" || !(environment["WAYLAND_DISPLAY"] ?? "").isEmpty
    }

    /// Asks the desktop for a screen. Blocks until its user has chosen one, or the run ends.
    /// - Parameters:
    ///   - asksAgain: shows the desktop's question even if an earlier answer could be restored.
    ///   - asksForInput: asks for the pointer and the keyboard, too; without them the screen is shared all the same.
    ///   - ending: ends the question.
    ///   - cursor: whether the cursor is in the picture.
    static func open(
        asksAgain: Bool, asksForInput: Bool, until ending: Monitor<EndReason?>, cursor: PortalScreen.Cursor = .shown,
        environment: [String: String]
    ) throws(SourceFailure) -> sending PortalScreen {
        let address = try address(environment)
        let tokens = Self.tokens("screencast-token", environment)
        let inputTokens = Self.tokens("remote-desktop-token", environment)
        let cast = ScreenCastPortal(
            address: address, tokens: tokens, showsCursor: cursor != .hidden,
            inputTokens: asksForInput ? inputTokens : nil)
        let abilities = try asksForInput ? ScreenCastPortal.abilities(address: address) : nil
        let hasInput = abilities?.devices.isEmpty == false
        if asksAgain { (hasInput ? inputTokens : tokens).save(nil) }
        let isOpen = Monitor(false)
        // The thread ends with the run; there is one question in it.
        _ = try? NamedThread.start("portal-end") {
            ending.wait { $0 == nil ? nil : () }
            if !isOpen.with({ $0 }) { cast.close() }
        }
        let isKnown = (hasInput ? inputTokens : tokens).load() != nil
        ErrorOutput.writeLine(
            isKnown
                ? "share: the desktop shares what was chosen last time (--ask-again chooses anew)"
                : "share: the desktop asks which screen or window to share"
                    + (hasInput ? ", and whether viewers may control it" : ""))
        let input = asksForInput ? PortalInput(cast) : nil
        let screen = try PortalScreen(cast, converter: YUVConverter(), cursor: cursor, input: input) {
            ErrorOutput.writeLine("share: \($0)")
        }
        isOpen.with { $0 = true }
        return screen
    }

    /// What the portal of this session can do.
    static func abilities(_ environment: [String: String]) throws(SourceFailure) -> ScreenCastPortal.Abilities {
        try ScreenCastPortal.abilities(address: address(environment))
    }

    private static func address(_ environment: [String: String]) throws(SourceFailure) -> String {
        guard let address = SessionBusAddress.running(in: environment) else {
            throw SourceFailure(
                .noDisplay, "there is no session bus, through which a Wayland desktop shares its screen",
                remedy: "Run share inside the graphical session (DBUS_SESSION_BUS_ADDRESS).")
        }
        return address
    }

    // MARK: The restore token

    /// The token is kept in a file in `$XDG_STATE_HOME/share`, else `~/.local/state/share`.
    private static func tokens(_ name: String, _ environment: [String: String]) -> ScreenCastPortal.TokenStore {
        let folder = StateFolder.path(environment)
        let path = folder + "/\(name)"
        return ScreenCastPortal.TokenStore(
            load: {
                guard let status = FileStatus(path), status.isFile, status.size <= 1_024,
                    let text = try? String(contentsOfFile: path, encoding: .utf8)
                else { return nil }
                let token = text.trimmed
                return token.isEmpty ? nil : token
            },
            save: { token in
                guard let token else {
                    try? FileManager.default.removeItem(atPath: path)
                    return
                }
                do {
                    try PrivateDirectory.prepare(folder, for: "the desktop's answer")
                    try PrivateFile.write(token + "\n", to: path, .replacing)
                } catch {
                    ErrorOutput.writeLine("share: the desktop will ask again next time: \(error)")
                }
            })
    }
}
