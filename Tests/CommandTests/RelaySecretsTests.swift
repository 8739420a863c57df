import Foundation
import TestSupport
import Testing

/// What a relay writes and reads of secrets.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RelaySecretsTests {
    /// The descriptor of stderr is that of the journal, as systemd says.
    private static let journal = [
        "sh", "-c", "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/$$/fd/2) exec \"$@\"", "sh",
    ]

    /// - Returns: the `live` event of a broadcast at the relay, and its stderr.
    private func live(_ arguments: [String], launcher: [String] = []) throws -> (link: String, words: String) {
        let relay = try ShareProcess(
            ["relay", "--listen", "127.0.0.1:0", "--media", "127.0.0.1:0", "--accept", "any", "--json"] + arguments,
            launcher: launcher)
        var link = try #require(relay.event("link")?["link"] as? String, "\(relay.errorText)")
        if link.hasSuffix("#...") {
            // The publishers' link is a secret, too, and kept in a file.
            #expect(relay.waitForError("with the link in "))
            #expect(!relay.errorText.contains(/io\.sharekit\.relay#[\w-]{20,}/), "\(relay.errorText)")
            let file = try #require(relay.errorText.firstMatch(of: /with the link in (.+)/)?.1)
            link = try String(contentsOfFile: String(file), encoding: .utf8).trimmingCharacters(in: .newlines)
        }
        let host = try Terminal([
            "host", "--relay", link, "--route", "relay", "--relay-may-watch", "--source", "test", "--accept", "any",
        ])
        #expect(host.waitUntil { $0.contains("broadcasting to \"Relay\"") }, "\(host.screen())")
        let live = try #require(relay.event("live")?["link"] as? String)
        #expect(relay.waitForError("is live: https://"))
        return (live, relay.errorText)
    }

    /// Who reads a journal may not watch.
    @Test func linksInAJournalHaveNoSecrets() throws {
        let secret = /#[\w-]{20,}/
        for (arguments, launcher) in [([], Self.journal), (["--hide-links"], [])] {
            let (link, words) = try live(arguments, launcher: launcher)
            #expect(link.hasSuffix("#...") && link.hasPrefix("https://127.0.0.1:"), "\(link)")
            let lines = words.split(separator: "\n").filter { $0.contains("is live: ") }
            #expect(lines.count == 1 && !lines.contains { $0.contains(secret) }, "\(lines)")
        }
        let (link, words) = try live([])
        #expect(link.contains(secret) && words.contains("is live: " + link))
    }

    /// A token, a key or a configuration that others can read is no secret, and is said to be none.
    @Test func filesThatOthersCanReadAreSaid() throws {
        let folder = try TemporaryFolder()
        func write(_ name: String, _ text: String, _ mode: Int) throws -> String {
            try text.write(toFile: folder.file(name), atomically: true, encoding: .utf8)
            chmod(folder.file(name), mode_t(mode))
            return folder.file(name)
        }
        let token = try write("token", "0123456789abcdef0123456789abcdef\n", 0o644)
        let configuration = try write("relay.conf", "listen = \"127.0.0.1:0\"\nmedia = \"127.0.0.1:0\"\n", 0o664)
        let relay = try ShareProcess(
            ["relay", "--config", configuration, "--accept", "any", "--publish-token", token, "--json"])
        #expect(relay.event("link") != nil, "\(relay.errorText)")
        #expect(
            relay.waitForError("--publish-token: \(token) can be read by every user"), "\(relay.errorText)")
        #expect(relay.waitForError("chmod 600 \(token)"))
        #expect(relay.waitForError("--config: \(configuration) can be "))
        chmod(token, 0o600)
        chmod(configuration, 0o640)
        let quiet = try ShareProcess(
            ["relay", "--config", configuration, "--accept", "any", "--publish-token", token, "--json"])
        #expect(quiet.event("link") != nil)
        #expect(!quiet.errorText.contains("chmod"), "\(quiet.errorText)")
    }

    /// The unit takes from the relay what it does not need.
    @Test func theUnitRestrictsTheRelay() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Scripts/relay").standardized
        let unit = try String(contentsOf: folder.appendingPathComponent("share-relay.service"), encoding: .utf8)
        let lines = Set(unit.split(separator: "\n").map(String.init))
        for option in [
            "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources", "ProtectProc=invisible",
            "ProcSubset=pid", "UMask=0077", "MemoryMax=75%", "PrivateUsers=yes", "LockPersonality=yes",
            "RestrictRealtime=yes", "ProtectClock=yes", "ProtectKernelLogs=yes", "ProtectHostname=yes",
            "CapabilityBoundingSet=", "NoNewPrivileges=yes",
        ] { #expect(lines.contains(option), "\(option)") }
    }
}
