import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import CommandSupport
@testable import RelayVerb
@testable import share

/// `share relay --config`: every option has its line, and errors name theirs.
@Suite struct ConfigurationFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func configure(_ text: String, _ arguments: [String] = []) throws -> RelayCommand {
        let file = folder.file("relay.conf")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return try ConfigurationFile.configure(RelayCommand.self, from: file, arguments)
    }

    private func problem(_ text: String, _ arguments: [String] = []) -> String? {
        do {
            _ = try configure(text, arguments)
            return nil
        } catch let error as CommandError {
            return error.sentence.replacing(folder.path + "/", with: "")
        } catch {
            return RelayCommand.message(for: error)
        }
    }

    /// What `share relay --help` lists.
    private struct Help: Decodable {
        struct Command: Decodable { var arguments: [Argument] }
        struct Argument: Decodable {
            struct Name: Decodable { var kind, name: String }
            var names: [Name]?
        }
        var command: Command
    }

    /// A line for each option. A new option needs one here, too.
    private static let lines = [
        "listen = \"127.0.0.1:8443\"", "media = '127.0.0.1:8443/udp'", "public = \"198.51.100.7\"",
        "tls = [\"chain.pem\", \"key.pem\"]", "link-host = \"relay.example\"", "name = \"A \\\"b\\\" # \\\\\"",
        "accept = \"known\"", "publish-token = \"token\"", "max-broadcasts = 16", "max-viewers = 2000",
        "max-total-viewers = 3000", "max-bitrate = 6000", "threads = 2", "metrics = \"127.0.0.1:9464\"",
        "drain = \"10m\"",
        "turn-secret = \"secret\"",
        "stun = [\"stun.example\", \"other.example:3479\"]", "turn = [\"turns:relay.example:443?transport=tcp\"]",
        "for = \"2h\"", "json = true", "hide-links = true", "no-directory = true", "region = \"eu-west\"",
        "cluster = \"nats://10.0.0.7:4222\"", "node = \"a\"", "cluster-tls = [\"ca.pem\"]",
    ]

    /// Options that no file sets: `relay-only` is always refused for a relay.
    private static let others: Set = ["config", "relay-only", "help", "version"]

    @Test func everyOptionHasALine() throws {
        let help = try JSONDecoder().decode(Help.self, from: Data(RelayCommand._dumpHelp().utf8))
        let options = Set(
            help.command.arguments.compactMap { $0.names?.first { $0.kind == "long" }?.name })
        let keys = Set(Self.lines.map { String($0.prefix { $0 != " " }) })
        #expect(options.count > 15 && options.subtracting(Self.others) == keys)
    }

    /// The file that an operator copies, with the lines that are comments there.
    @Test func theExampleHasEveryOption() throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        let text = try String(contentsOfFile: root + "/Scripts/relay/relay.conf", encoding: .utf8)
        let lines = text.split(separator: "\n").map { $0.replacing(/^# (?=[a-z-]+ = )/, with: "") }
        let entries = try ConfigurationFile(text: lines.joined(separator: "\n")).entries
        #expect(Set(entries.map(\.key)) == Set(Self.lines.map { String($0.prefix { $0 != " " }) }))
        _ = try configure(text)
        _ = try configure(lines.joined(separator: "\n"))
    }

    @Test(arguments: lines) func aLineDoesWhatTheOptionDoes(line: String) throws {
        let (plain, configured) = (String(reflecting: try configure("# nothing\n")), try configure(line))
        #expect(String(reflecting: configured) != plain)
    }

    @Test func allLinesTogetherAreTheCommandLine() throws {
        let configured = try configure("# A relay\n\n" + Self.lines.joined(separator: "   # comment\r\n") + "\n")
        let typed = try RelayCommand.parse([
            "--listen", "127.0.0.1:8443", "--media", "127.0.0.1:8443/udp", "--public", "198.51.100.7", "--tls",
            "chain.pem", "key.pem", "--link-host", "relay.example", "--name", "A \"b\" # \\", "--accept", "known",
            "--publish-token", "token", "--max-broadcasts", "16", "--max-viewers", "2000", "--max-total-viewers",
            "3000",
            "--max-bitrate", "6000",
            "--threads", "2", "--metrics", "127.0.0.1:9464", "--drain", "10m", "--turn-secret", "secret", "--stun",
            "stun.example",
            "--stun", "other.example:3479", "--turn", "turns:relay.example:443?transport=tcp", "--for", "2h", "--json",
            "--no-directory", "--region", "eu-west", "--cluster", "nats://10.0.0.7:4222", "--node", "a",
            "--cluster-tls", "ca.pem", "--hide-links",
        ])
        #expect(String(reflecting: configured) == String(reflecting: typed))
    }

    @Test func theCommandLineWins() throws {
        let text = "max-viewers = 5\nname = \"File\"\nstun = [\"a.example\", \"b.example\"]\njson = false"
        let command = try configure(text, ["--max-viewers=7", "--stun", "c.example"])
        #expect(command.limits.maxViewers == 7 && command.name == "File" && !command.json)
        #expect(command.serverOptions.stun == ["c.example"])
    }

    @Test func errorsNameFileLineAndKey() {
        for (text, words) in [
            ("\nmax-viewer = 5", "relay.conf:2: max-viewer: there is no such option"),
            ("help = true", "relay.conf:1: help: there is no such option"),
            ("nothing = true", "relay.conf:1: nothing: there is no such option"),
            ("nothing = false", "relay.conf:1: nothing: there is no such option"),
            ("max-viewers = \"many\"", "relay.conf:1: max-viewers: "),
            ("max-viewers = 0", "relay.conf:1: max-viewers: --max-viewers is 1 to 10000."),
            ("max-viewers = true", "relay.conf:1: max-viewers: "), ("json = \"yes\"", "relay.conf:1: json: "),
            ("accept = known", "relay.conf:1: text stands in quotes"),
            ("accept = \"maybe\"", "relay.conf:1: accept: "),
            ("tls = [\"one\"]", "relay.conf:1: tls: --tls takes two files"),
            ("stun = []", "relay.conf:1: the list is empty"), ("stun = [\"a\"", "relay.conf:1: a list is"),
            ("name = \"A", "relay.conf:1: a quote is missing"), ("name = 'A", "relay.conf:1: a quote is missing"),
            ("name = \"\\x\"", "relay.conf:1: after \\ stands"), ("name = \"A\" b", "relay.conf:1: name: something"),
            ("max-viewers = 99999999999999999999", "relay.conf:1: a value is"),
            ("max-viewers = ", "relay.conf:1: a value is"),
            ("name = \"A\"\nname = \"B\"", "relay.conf:2: name is in line 1 already"),
            ("[relay]", "relay.conf:1: there are no sections"), ("just words", "relay.conf:1: a line is key = value"),
            ("--json = true", "relay.conf:1: a line is key = value"), ("=", "relay.conf:1: a line is key = value"),
            ("relay-only = true", "relay.conf:1: relay-only: --relay-only is for hosts"),
            ("config = \"other\"", "relay.conf:1: config: a file names no other file"),
        ] { #expect(problem(text)?.contains(words) == true, "\(text): \(problem(text) ?? "none")") }
        // The command line's own errors do not name the file.
        #expect(problem("json = true", ["--max-viewers", "0"])?.contains("relay.conf") == false)
    }

    @Test func textThatIsNoFileIsTold() throws {
        for file in [folder.file("none"), folder.path] {
            #expect(throws: CommandError.self) { try ConfigurationFile(file: file) }
        }
        let file = folder.file("bytes")
        try Data([0xFF, 0xFE, 0x00]).write(to: URL(fileURLWithPath: file))
        #expect(throws: CommandError.self) { try ConfigurationFile(file: file) }
        // Nothing of it ends the process.
        var generator = SeededGenerator(seed: 7)
        let alphabet = Array("ab-=\"'[],\\ \t\n#10truefalse\u{1F600}")
        for _ in 0..<2_000 {
            let text = String((0..<20).map { _ in alphabet.randomElement(using: &generator) ?? "a" })
            _ = try? ConfigurationFile(text: text)
        }
    }

    /// Of `Scripts/relay`: the file as it is, and with all of its examples.
    @Test func theShippedFileIsRight() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Scripts/relay/relay.conf"
        ).standardized.path
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(try configure(text).limits.maxViewers == 2_000)
        let lines = text.split(separator: "\n").map { line in
            line.contains(" = ") && line.hasPrefix("# ") ? line.dropFirst(2) : line
        }
        let full = try configure(lines.joined(separator: "\n"))
        #expect(full.address.tls.count == 2 && full.turnSecret != nil && full.publishToken != nil)
    }

    @Test func aRelayRunsWithAFile() throws {
        let file = folder.file("relay.conf")
        try "listen = \"127.0.0.1:0\"\naccept = \"any\"\npublic = \"198.51.100.7\"\njson = true\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let relay = try ShareProcess(["relay", "--config", file, "--public", "198.51.100.9"])
        let link = try #require(relay.event("link")?["link"] as? String, "\(relay.errorText)")
        #expect(link.hasPrefix("https://198.51.100.9:"))
        relay.interrupt()
        #expect(relay.exitCode() == 0)
        try "listen = \"127.0.0.1:0\"\nmax-viewers = 0".write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try ShareProcess(["relay", "--config=\(file)", "--accept", "any"])
        #expect(refused.exitCode() == 64 && refused.errorText.contains("relay.conf:2: max-viewers: "))
    }
}
