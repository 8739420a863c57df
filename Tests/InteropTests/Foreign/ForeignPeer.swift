import BrowserControl
import Foundation
import NetworkBed
import TestSupport
import Testing

/// A row of the table in Docs/interoperability.md: another implementation of WebRTC.
enum ForeignPeer: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case aiortc, pion, gstreamer, chromium, firefox

    var testDescription: String { rawValue }

    var title: String {
        switch self {
        case .aiortc: "aiortc 1.16"
        case .pion: "Pion 3.1.56"
        case .gstreamer: "GStreamer 1.22"
        case .chromium: "Chromium"
        case .firefox: "Firefox ESR"
        }
    }

    var browser: Browser.Kind? {
        switch self {
        case .chromium: .chromium
        case .firefox: .firefox
        default: nil
        }
    }

    /// The reason why this implementation does not support the case; nil if it does.
    func inability(_ playerCase: PlayerCase) -> String? {
        switch (self, playerCase) {
        case (.aiortc, .transportCC): "aiortc has no transport-wide feedback; REMB is all that it sends."
        case (.aiortc, .restart): "aiortc cannot restart ICE."
        case (.gstreamer, .rembOnly): "webrtcbin sends no REMB."
        case (.gstreamer, .restart): "webrtcbin 1.22 cannot restart ICE."
        default: nil
        }
    }

    /// How often a session may be repeated until one plays without a long gap: once, as the machine may be busy for a
    /// moment; twice over a lossy link with some. aiortc requests a lost packet only once, and then shows no frame for
    /// five seconds. Pion loses its first frame if one of its packets was lost, until the host has detected that Pion
    /// drops RTX packets.
    func furtherAttempts(_ playerCase: PlayerCase) -> Int {
        playerCase.isLossy && (self == .aiortc || self == .pion || self == .gstreamer) ? 2 : 1
    }

    var cases: [PlayerCase] { PlayerCase.allCases.filter { inability($0) == nil } }

    /// The command line of a player other than a browser.
    func command(_ options: PlayerOptions, url: String, token: String, folder: String) throws -> [String] {
        var words = try Self.players.get()[rawValue] ?? []
        words += ["--url", url, "--token", token, "--folder", folder, "--media", options.media.joined(separator: ",")]
        words += ["--skip", "\(options.skip)", "--seconds", "\(options.seconds)"]
        if options.isTrickling { words.append("--trickle") }
        if !options.hasRTX { words.append("--no-rtx") }
        if options.hasNACK, self == .gstreamer { words.append("--nack") }
        if options.feedback != .default, self != .aiortc { words += ["--feedback", options.feedback.rawValue] }
        if options.restarts { words.append("--restart") }
        return words
    }

    /// Another program in the player's folder, for the same interpreter.
    func program(_ name: String) throws -> [String] {
        guard var words = try Self.players.get()[rawValue], words.count > 1 else {
            throw Program.Failure("\(rawValue) has no interpreter")
        }
        words[1] = URL(fileURLWithPath: words[1]).deletingLastPathComponent().appendingPathComponent(name).path
        return words
    }

    /// Another program of Pion's, beside its player.
    static func pionProgram(_ name: String) throws -> String {
        guard let player = try players.get()["pion"]?.first else { throw Program.Failure("there is no player of Pion") }
        return URL(fileURLWithPath: player).deletingLastPathComponent().appendingPathComponent("pion-" + name).path
    }

    /// The programs by their names; prepared once.
    private static let players = Result<[String: [String]], any Error> {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../ForeignPeers/prepare").standardized.path
        let program = try Program(script)
        guard program.exitCode(seconds: 240) == 0 else {
            throw Program.Failure("\(script) failed: \(program.text.errors.suffix(1_000))")
        }
        var players: [String: [String]] = [:]
        for line in program.lines(.standard) {
            let words = line.split(separator: " ").map(String.init)
            players[words.first ?? ""] = Array(words.dropFirst())
        }
        return players
    }
}

/// The result of a player's session.
struct PlayerRun: Sendable {
    /// The report, as described in Tests/ForeignPeers/README.md.
    let report: JSON
    /// The last frame; nil if none was shown.
    let picture: ReceivedVideo?
    let sounds: [ReceivedAudio]

    func number(_ key: String) -> Double? { report[key].number }

    /// The report without the long descriptions.
    var summary: String {
        guard case .object(var fields) = report else { return report.text }
        for key in ["offer", "answer", "picture", "soundData"] { fields[key] = nil }
        return JSON.object(fields).text
    }
}

extension ForeignPeer {
    /// Plays one session to its end with a player other than a browser.
    func play(_ options: PlayerOptions, url: String, token: String, in node: NetworkNode) async throws -> PlayerRun {
        let folder = try TemporaryFolder()
        let words = try command(options, url: url, token: token, folder: folder.path)
        let (name, arguments) = node.command(words[0], Array(words.dropFirst()))
        let player = try Program(name, arguments)
        let line = try await player.line(.standard, within: .seconds(70)) { $0.hasPrefix("{") }
        let report = try JSON(parsing: line)
        let count = Int(report["sounds"].number ?? 0)
        if self == .pion {
            return PlayerRun(
                report: report, picture: try ReceivedVideo(ivf: folder.file("frames.ivf")),
                sounds: try (0..<count).map { try ReceivedAudio(opus: folder.file("sound-\($0).opus")) })
        }
        let size = report["size"].array?.compactMap { $0.number.map { Int($0) } } ?? []
        return PlayerRun(
            report: report, picture: try ReceivedVideo(file: folder.file("picture.i420"), size: size),
            sounds: try (0..<count).map { try ReceivedAudio(pcm: folder.file("sound-\($0).pcm")) })
    }
}
