import Admission
import ArgumentParser
import CommandSupport
import Foundation
import LinuxRuntime
import MediaCore
import Signaling

struct BenchDirectoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "directory", abstract: "Measure the directory of a relay.",
        discussion: """
            Fills a directory with broadcasts of 100 applications at three relays, and prints how long a look-up takes: \
            of one broadcast, of an application's, and of all, of which the 200 with the most viewers are taken.
            """)

    @Option(help: ArgumentHelp("Broadcasts.", valueName: "count"))
    var broadcasts = 10_000

    func validate() throws {
        guard (1...1_000_000).contains(broadcasts) else { throw ValidationError("--broadcasts is 1 to 1000000.") }
    }

    func run() {
        var directory = BroadcastDirectory(capacity: broadcasts)
        var last = ""
        let filled = Self.milliseconds {
            for number in 0..<broadcasts {
                let link = Link(
                    host: "relay.example", port: 443, id: .random(), secret: Link.randomSecret(),
                    fingerprint: [UInt8](repeating: 7, count: 32))
                let application = ApplicationInfo(id: "com.example.app\(number % 100)", name: "App \(number % 100)")
                let entry = DirectoryEntry(
                    link, title: "Broadcast \(number)", application: application, region: "region \(number % 3)",
                    viewers: number * 7_919 % 1_000, since: number, codec: "VP8", route: .relay)
                _ = directory.put(.init(entry, owner: "relay \(number % 3)"))
                last = entry.id
            }
        }
        let output = DataOutput(isJSON: false)
        output.line("added                 \(broadcasts) in \(Self.text(filled))")
        let rounds = 100
        let found = [
            ("one", Self.milliseconds { for _ in 0..<rounds { precondition(directory[last] != nil) } }),
            (
                "of an application",
                Self.milliseconds {
                    for _ in 0..<rounds { _ = directory.find(.init(application: "com.example.app7")) }
                }
            ), ("of all", Self.milliseconds { for _ in 0..<rounds { _ = directory.find(.init()) } }),
        ]
        for (what, time) in found {
            output.line(what.padding(toLength: 22, withPad: " ", startingAt: 0) + Self.text(time / Double(rounds)))
        }
    }

    private static func text(_ milliseconds: Double) -> String { String(format: "%.3f ms", milliseconds) }

    private static func milliseconds(_ work: () -> Void) -> Double {
        let began = MonotonicClock.now
        work()
        return (MonotonicClock.now - began).inSeconds * 1_000
    }
}
