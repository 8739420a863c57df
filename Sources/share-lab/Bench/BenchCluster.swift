import Admission
import CommandSupport
import Identifiers
import LinuxRuntime
import MediaCore
import Relay
import RelayVerb
import Signaling

/// Measures the directory of three relays in this process, which a NATS server connects.
struct BenchCluster {
    let broadcasts: Int

    private final class Relay: Sendable {
        let member: ClusterMember
        let bus: NATSBus
        let directory = DirectoryTable(
            {
                var settings = DirectorySettings()
                settings.capacity = 1_000_000
                return settings
            }())
        /// Counts what it hears.
        let news = Monitor(0)

        init(_ name: String, _ server: String) throws {
            let connected = Monitor(false)
            bus = NATSBus(connection: { isConnected in connected.change { $0 = isConnected } })
            let node = ClusterNode(
                name: name, host: "\(name).example", port: 443,
                fingerprint: [UInt8](repeating: name.utf8.first ?? 0, count: 32), isWebPKI: false, region: nil)
            member = ClusterMember(
                node, bus: bus, directory: directory,
                handlers: .init(decide: { _, _ in .unanswered }, emit: { [news] _ in news.change { $0 += 1 } }))
            try bus.connect(to: server, tls: [], as: name)
            guard connected.wait(until: MonotonicClock.now + .seconds(10), { $0 ? () : nil }) != nil else {
                throw CommandError(sentence: "nats-server does not answer", status: .failed)
            }
            member.start()
        }

        /// Waits until it is so, after each piece of news.
        func wait(seconds: Int, _ isSo: () -> Bool) throws {
            let isDone: Void? = news.wait(until: MonotonicClock.now + .seconds(seconds)) { _ in isSo() ? () : nil }
            guard isDone != nil else {
                throw CommandError(sentence: "the relays did not agree within \(seconds) s", status: .failed)
            }
        }
    }

    func run() throws {
        let stage = DemoStage()
        Signals.handle { _ in stage.close() }
        defer { stage.close() }
        let server = try stage.openMessaging()
        let relays = try ["a", "b", "c"].map { try Relay($0, server) }
        for relay in relays { try relay.wait(seconds: 10) { relay.member.others.count == 2 } }
        let output = DataOutput(isJSON: false)
        let began = MonotonicClock.now
        var last: [String] = []
        for (number, relay) in relays.enumerated() {
            let own = stride(from: number, to: broadcasts, by: relays.count).map { BenchDirectoryCommand.entry($0) }
            for entry in own { try announce(entry, at: relay) }
            last.append(own.last?.id ?? "")
        }
        for relay in relays { try relay.wait(seconds: 60) { relay.directory.with { $0.count } == broadcasts } }
        let known = (MonotonicClock.now - began).inSeconds * 1_000
        output.line("known to all three    \(broadcasts) in \(BenchDirectoryCommand.text(known))")
        // What another relay has told.
        BenchDirectoryCommand.measure(relays[0].directory.with { $0 }, last[2])
        // Without a last word, as after kill -9.
        let dead = broadcasts / relays.count
        let died = MonotonicClock.now
        relays[2].bus.close()
        for relay in relays[..<2] {
            try relay.wait(seconds: 30) {
                relay.member.others.count == 1 && relay.directory.with { $0.count } == broadcasts - dead
            }
        }
        let noticed = (MonotonicClock.now - died).inSeconds
        output.line("death of one noticed  \(noticed.text(decimals: 1)) s later")
    }

    /// Lists a broadcast at the relay that it is published to.
    private func announce(_ entry: DirectoryEntry, at relay: Relay) throws {
        let link = try Link(parsing: entry.link)
        var broadcast = ClusterBroadcast(
            link: link, path: [relay.member.name], name: entry.title, publisherDecides: false)
        broadcast.listing = entry
        relay.directory.with { _ = $0.put(.init(entry, owner: relay.member.name)) }
        relay.member.announce(link.id, broadcast)
    }
}
