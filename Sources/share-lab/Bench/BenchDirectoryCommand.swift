import Admission
import ArgumentParser
import CommandSupport
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import Signaling

struct BenchDirectoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "directory", abstract: "Measure the directory of a relay.",
        discussion: """
            Fills a directory with broadcasts of 100 applications at three relays, and prints how long a look-up takes: \
            of one broadcast, of an application's, and of all, of which the 200 with the most viewers are taken. \
            With --cluster each relay has a third, and tells the others over a NATS server that is started for it; \
            printed is, too, how long that takes, and how long until the death of a relay is noticed.
            """)

    @Option(help: ArgumentHelp("Broadcasts.", valueName: "count"))
    var broadcasts = 10_000

    @Flag(help: "Three relays with a NATS server.")
    var cluster = false

    func validate() throws {
        guard (1...1_000_000).contains(broadcasts) else { throw ValidationError("--broadcasts is 1 to 1000000.") }
    }

    func run() throws {
        if cluster {
            try complaining { try BenchCluster(broadcasts: broadcasts).run() }
        } else {
            measure()
        }
    }

    private func measure() {
        var directory = BroadcastDirectory(capacity: broadcasts)
        var last = ""
        let filled = Self.milliseconds {
            for number in 0..<broadcasts {
                let entry = Self.entry(number)
                _ = directory.put(.init(entry, owner: "relay \(number % 3)"))
                last = entry.id
            }
        }
        DataOutput(isJSON: false).line("added                 \(broadcasts) in \(Self.text(filled))")
        Self.measure(directory, last)
    }

    /// An entry of the directory, with an identifier of its own.
    static func entry(_ number: Int) -> DirectoryEntry {
        let link = Link(
            host: "relay.example", port: 443, id: .random(), secret: Link.randomSecret(),
            fingerprint: [UInt8](repeating: 7, count: 32))
        let application = ApplicationInfo(id: "com.example.app\(number % 100)", name: "App \(number % 100)")
        return DirectoryEntry(
            link, title: "Broadcast \(number)", application: application, region: "region \(number % 3)",
            viewers: number * 7_919 % 1_000, since: number, codec: "VP8", route: .relay)
    }

    /// Prints how long look-ups take.
    /// - Parameter id: of an entry.
    static func measure(_ directory: BroadcastDirectory, _ id: String) {
        let rounds = 100
        let found = [
            ("one", milliseconds { for _ in 0..<rounds { precondition(directory[id] != nil) } }),
            (
                "of an application",
                milliseconds {
                    for _ in 0..<rounds { _ = directory.find(.init(application: "com.example.app7")) }
                }
            ), ("of all", milliseconds { for _ in 0..<rounds { _ = directory.find(.init()) } }),
        ]
        for (what, time) in found {
            DataOutput(isJSON: false)
                .line(what.padded(to: 22) + text(time / Double(rounds)))
        }
    }

    static func text(_ milliseconds: Double) -> String { milliseconds.text(decimals: 3) + " ms" }

    static func milliseconds(_ work: () -> Void) -> Double {
        let began = MonotonicClock.now
        work()
        return (MonotonicClock.now - began).inSeconds * 1_000
    }
}
