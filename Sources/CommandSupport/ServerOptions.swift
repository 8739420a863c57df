package import ArgumentParser
import FoundationEssentials
import MediaCore
package import Signaling

/// Options for STUN and TURN servers, shared by host, join and doctor.
package struct ServerOptions: ParsableArguments {
    package init() {}

    @Option(
        help: ArgumentHelp(
            "STUN server, which reports the public address of this machine (HOST[:PORT]); may be repeated.",
            valueName: "server"))
    package var stun: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            TURN server, which relays media where no direct path exists: turn:USER@HOST[:PORT][?transport=tcp], or \
            turns: for TLS; may be repeated. The credential is read from SHARE_TURN_CREDENTIAL.
            """, valueName: "url"))
    package var turn: [String] = []

    @Flag(help: "Send media through the TURN servers only, and give the peer no candidate with your own address.")
    package var relayOnly = false

    package func validate() throws {
        for text in stun { _ = try Self.stun(text) }
        // Whether a user name is needed shows later.
        for text in turn { _ = try text.contains("@") ? Self.turn(text, "unknown as yet") : Self.turn(text) }
    }

    /// The servers of a node that makes the credentials itself, in the given order, STUN before TURN.
    package func serversWithSecret() throws -> [ICEServer] {
        guard !turn.contains(where: { $0.contains("@") }) else {
            throw ValidationError("--turn-secret makes the user names: leave them out of --turn.")
        }
        return try stun.map { ICEServer(urls: [try Self.stun($0)]) } + turn.map { try Self.turn($0) }
    }

    /// The servers in the given order, STUN before TURN.
    package func servers() throws -> [ICEServer] {
        let credential = ProcessInfo.processInfo.environment["SHARE_TURN_CREDENTIAL"] ?? ""
        if !turn.isEmpty, credential.isEmpty {
            throw CommandError(
                sentence: "the TURN server's credential is missing", remedy: "Put it in SHARE_TURN_CREDENTIAL.",
                status: .usage)
        }
        return try servers(credential: credential)
    }

    private func servers(credential: String) throws -> [ICEServer] {
        try stun.map { ICEServer(urls: [try Self.stun($0)]) } + turn.map { try Self.turn($0, credential) }
    }

    private static func stun(_ text: String) throws -> String {
        try read(text.lowercased().hasPrefix("stun:") ? text : "stun:" + text, "--stun").text
    }

    /// - Parameter text: a URL without a user name.
    private static func turn(_ text: String) throws -> ICEServer {
        let url = try read(text, "--turn")
        guard url.kind == .turn else { throw ValidationError("--turn begins with turn: or turns:.") }
        return ICEServer(urls: [url.text])
    }

    private static func turn(_ text: String, _ credential: String) throws -> ICEServer {
        // Messages do not repeat the text, because it may contain a password.
        guard let at = text.firstIndex(of: "@"), let colon = text.firstIndex(of: ":"), colon < at else {
            throw ValidationError("--turn is turn:USER@HOST[:PORT][?transport=tcp]; the user name is missing.")
        }
        let name = text[text.index(after: colon)..<at]
        guard let name = name.percentDecoded, !name.isEmpty else {
            throw ValidationError("--turn is turn:USER@HOST[:PORT][?transport=tcp]; the user name cannot be read.")
        }
        // Time-limited user names ("1700000000:alice") contain a colon, too.
        if let colon = name.firstIndex(of: ":"), Int(name[..<colon]) == nil {
            throw ValidationError(
                "--turn takes no credential, as 'ps' would show it: put it in SHARE_TURN_CREDENTIAL, and give "
                    + "turn:USER@HOST.")
        }
        let url = try read(String(text[...colon] + text[text.index(after: at)...]), "--turn")
        guard url.kind == .turn else { throw ValidationError("--turn begins with turn: or turns:.") }
        return ICEServer(urls: [url.text], username: name, credential: credential)
    }

    private static func read(_ text: String, _ option: String) throws -> ServerURL {
        do throws(ServerURLError) {
            return try ServerURL(text)
        } catch {
            throw ValidationError("\(option): \(error).")
        }
    }
}
