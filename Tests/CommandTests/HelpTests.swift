import Foundation
import TestSupport
import Testing

@testable import CommandSupport

@Suite(.timeLimit(.minutes(3)))
struct HelpTests {
    private func help(_ arguments: [String]) throws -> [Substring] {
        let process = try ShareProcess(arguments)
        try #require(process.exitCode() == 0, "\(process.errorText)")
        return process.lines.map { $0[...] }
    }

    /// The options that the lines describe.
    private func options(_ lines: [Substring]) -> Set<String> {
        Set(
            lines.filter { $0.hasPrefix("  -") }.flatMap { $0.split(whereSeparator: { " ,".contains($0) }) }
                .filter { $0.hasPrefix("--") }.map(String.init))
    }

    @Test func helpOfHostFitsAScreenAndBeginsWithThreeExamples() throws {
        let lines = try help(["help", "host"])
        #expect(lines.count <= 42, "\(lines.joined(separator: "\n"))")
        let usage = try #require(lines.firstIndex { $0.hasPrefix("USAGE:") })
        #expect(lines[..<usage].count { $0.hasPrefix("share host") } == 3)
        #expect(lines[..<usage].contains { $0.contains("--help-all") })
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(
            options(lines).isSuperset(of: ["--source", "--audio", "--mic", "--accept", "--name", "--for", "--help"]))
        #expect(try help(["host", "--help"]) == lines && help(["host", "-h"]) == lines)
    }

    @Test func allOptionsOfHostAreInGroupsWithTheCommonOnesFirst() throws {
        let lines = try help(["help", "host", "--all"])
        #expect(try help(["host", "--help-all"]) == lines)
        #expect(try help(["host", "--fps", "30", "--help-all"]) == lines)
        let groups = lines.filter { $0.hasSuffix(":") && $0 == $0.uppercased() }
        #expect(groups.first == "COMMON OPTIONS:" && groups.count >= 8, "\(groups)")
        let all: Set<String> = [
            "--source", "--fps", "--hide-window", "--camera-at", "--record", "--clips", "--relay", "--field",
            "--listen",
            "--upnp", "--stun", "--turn", "--json", "--stats",
        ]
        #expect(options(lines).isSuperset(of: all))
        #expect(!lines.contains { $0.contains("--help-all shows") })
    }

    /// The verbs and subcommands that help lists.
    private func verbs(of verb: [String]) throws -> [[String]] {
        let lines = try help(["help"] + verb)
        guard let start = lines.firstIndex(of: "SUBCOMMANDS:") else { return [] }
        let names = lines[(start + 1)...].filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") && !$0.contains("See '") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
        return names.map { verb + [$0] }
    }

    @Test func helpOfEachVerbFitsAScreen() throws {
        let verbs = try verbs(of: [])
        let all = try verbs + verbs.flatMap { try self.verbs(of: $0) }
        #expect(all.count > 30 && all.contains(["relay"]) && all.contains(["recordings", "trim"]))
        for verb in all {
            let lines = try help(["help"] + verb)
            #expect(lines.count > 3 && lines.count <= 45, "\(lines.joined(separator: "\n"))")
        }
    }

    @Test func theManualHasEachVerb() throws {
        let page = URL(filePath: #filePath).appending(path: "../../../Docs/manual.md").standardized
        let manual = try String(contentsOf: page, encoding: .utf8)
        for verb in try verbs(of: []) { #expect(manual.contains("share \(verb[0])"), "\(verb)") }
    }

    @Test(arguments: ["host", "join", "record", "service", "relay"])
    func whatIsLeftOutIsShownOnRequest(_ verb: String) throws {
        let (short, whole) = (try help([verb, "--help"]), try help([verb, "--help-all"]))
        #expect(options(whole).isStrictSuperset(of: options(short)))
        #expect(options(whole).isSuperset(of: ["--stun", "--turn", "--json"]))
        #expect(short.contains { $0.contains("--help-all") })
    }

    @Test func errorsAndCompletionsNameOptionsThatHelpLeavesOut() throws {
        let process = try ShareProcess(["host", "--camera-siz", "20%"])
        #expect(process.exitCode() == 64)
        #expect(process.errorText.contains("--camera-size"), "\(process.errorText)")
        #expect(try help(["--generate-completion-script", "bash"]).contains { $0.contains("--camera-at") })
    }

    @Test func wordsOfTheCommandLine() {
        #expect(HelpScope(["host", "--help"]).isShort && HelpScope(["help", "host"]).isShort)
        #expect(!HelpScope(["host", "--fps", "30"]).isShort)
        #expect(HelpScope(["host", "--fps", "30"]).arguments == ["host", "--fps", "30"])
        #expect(!HelpScope(["host", "--help-all"]).isShort)
        #expect(HelpScope(["host", "--help-all"]).arguments == ["host", "--help"])
        #expect(!HelpScope(["help", "host", "--all"]).isShort)
        #expect(HelpScope(["help", "host", "--all"]).arguments == ["help", "host"])
        // Another verb's --all is its own, and what follows -- belongs to another program.
        #expect(HelpScope(["recordings", "remove", "--all"]).arguments == ["recordings", "remove", "--all"])
        let passed = ["join", "--", "--help-all", "-h"]
        #expect(HelpScope(passed).arguments == passed && !HelpScope(passed).isShort)
    }
}
