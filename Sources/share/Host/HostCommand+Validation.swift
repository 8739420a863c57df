import ArgumentParser
import CommandSupport
import FoundationEssentials
import Identifiers
import MediaCore
import SessionDescription

/// The options as the command line has them: which exclude each other, and what they mean.
extension HostCommand {
    func validate() throws {
        guard (1...240).contains(fps) else { throw ValidationError("--fps is 1 to 240, not \(fps).") }
        guard (100...100_000).contains(bitrate) else {
            throw ValidationError("--bitrate is 100 to 100000 kbit/s, not \(bitrate).")
        }
        guard (0...3_600).contains(countdown) else {
            throw ValidationError("--countdown is 0 to 3600 seconds, not \(countdown).")
        }
        let place = try ListenAddress(listen)
        guard !announce || IPAddress(place.host)?.isLoopback != true else {
            throw ValidationError("--announce is for other machines, and \(place.host) is this one alone.")
        }
        guard relay == nil || preferredExtension == nil else {
            throw ValidationError("--relay and --preferred-extension exclude each other.")
        }
        guard relay != nil || !listed else {
            throw ValidationError("--listed is for a broadcast over a relay: give --relay.")
        }
        guard !announce || relay == nil && preferredExtension == nil else {
            throw ValidationError(
                "--announce tells of this machine's own address: leave out --relay and --preferred-extension.")
        }
        guard !announce || accept != .any else {
            throw ValidationError("--announce needs your answer about each viewer: leave out --accept any.")
        }
        guard listed || onLive != nil || title == nil else {
            throw ValidationError("--title is for the directory and for --on-live: give --listed or --on-live.")
        }
        guard (0...30).contains(directViewers) else {
            throw ValidationError("--direct-viewers is 0 to 30, not \(directViewers).")
        }
        guard directViewers == DestinationOptions.defaultDirectViewers || relay != nil && route == .auto else {
            throw ValidationError("--direct-viewers is for --relay with --route auto.")
        }
        guard !relayMayWatch || preferredExtension != nil || relay != nil && route != .direct else {
            throw ValidationError("--relay-may-watch is for --relay with --route auto or relay.")
        }
        if relay != nil, let (_, source) = fixedToken {
            throw ValidationError(
                route == .relay
                    ? "the token from \(source) is for players at this host, and all watch at the relay. Leave it out."
                    : "the token from \(source) would let the relay watch: it passes through it. Leave it out.")
        }
        if let (token, source) = fixedToken, let flaw = FixedToken.flaw(of: token) {
            throw ValidationError(
                "the token from \(source) \(flaw). Whoever has it joins without a question, so make a long one: openssl rand -hex 16"
            )
        }
    }

    /// Viewers are given this machine's own link, also if they reach it over a relay.
    var hasOwnLink: Bool { preferredExtension == nil && (relay == nil || route != .relay || !relayMayWatch) }

    /// What is captured; if `--source` is omitted the whole display, or on Wayland what the portal grants.
    var chosenSource: CaptureSource {
        if let source { return source }
        return display == nil && PortalSource.isWayland(ProcessInfo.processInfo.environment) ? .portal : .screen
    }

    static func windowPattern(_ text: String) throws -> WindowPattern {
        guard let pattern = WindowPattern(text) else {
            throw ValidationError("'\(text)' would hide every window: name a part of a title or class.")
        }
        return pattern
    }

    static func captureSource(_ text: String) throws -> CaptureSource {
        do throws(CaptureSource.ParseFailure) {
            return try CaptureSource(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// The fixed token for WHEP players, and the name of its source. An empty SHARE_TOKEN counts as none.
    var fixedToken: (token: String, source: String)? {
        if let token { return (token, "--token") }
        guard let token = ProcessInfo.processInfo.environment["SHARE_TOKEN"], !token.isEmpty else { return nil }
        return (token, "SHARE_TOKEN")
    }
}
