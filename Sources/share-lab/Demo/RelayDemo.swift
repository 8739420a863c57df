import CommandSupport
import Glibc
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import ShareKit

/// Runs a cluster of three relays on this machine, with one host and viewers at all of them, and kills two relays, one
/// after the other. Prints what the viewers noticed.
struct RelayDemo {
    /// How long to watch before and after each relay is killed.
    let seconds: Double
    let viewers: Int

    /// In kbit/s.
    private static let bitrate = 600
    /// How long the programs may be silent, in seconds.
    private static let patience = 20

    func run() throws {
        FileDescriptors.raiseLimit()
        let stage = DemoStage()
        let ending = Monitor<EndReason?>(nil)
        Signals.handle { name in
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
            stage.close()
        }
        defer { stage.close() }
        do {
            try run(stage, ending)
        } catch let error as CommandError {
            // After a signal the viewers end because the relays do.
            throw ending.with { $0 }.map { CommandError($0) } ?? error
        }
    }

    private func run(_ stage: DemoStage, _ ending: Monitor<EndReason?>) throws {
        let server = try stage.openMessaging()
        // In this order they are killed; the host publishes to the second one.
        let relays = try ["a", "b", "c"].map { try Relay($0, server, viewers: viewers, for: lifetime, stage) }
        for relay in relays { try relay.waitForOthers(2) }
        ErrorOutput.writeLine("share: a NATS server and the relays a, b and c know each other")
        let publisher = try BenchPublisher(relays[1].link, bitrate: Self.bitrate, title: "Demo of a cluster")
        defer { publisher.stop() }
        let audiences = try relays.map { BenchAudience(try $0.broadcast()) }
        defer { for audience in audiences { audience.leave() } }
        let joining = MonotonicClock.now
        for (number, audience) in audiences.enumerated() {
            try audience.join(viewers / 3 + (number < viewers % 3 ? 1 : 0))
        }
        let taken = (MonotonicClock.now - joining).inSeconds
        ErrorOutput.writeLine(
            "share: a host publishes to b; \(viewers) viewers watch at all three "
                + "(joined in \(taken.text(decimals: 1)) s)")
        try observe("nothing is killed", relays, audiences, ending) {}
        try observe("a is killed", relays, audiences, ending) { relays[0].kill() }
        try observe("b is killed, which the host publishes to", relays, audiences, ending) { relays[1].kill() }
    }

    /// How long the programs may run if nothing ends them, in seconds.
    private var lifetime: Int { Int(seconds * 3) + viewers + 120 }

    /// Prints what the viewers of each relay notice of a change.
    private func observe(
        _ words: String, _ relays: [Relay], _ audiences: [BenchAudience], _ ending: Monitor<EndReason?>,
        _ change: () -> Void
    ) throws {
        for audience in audiences { audience.forgetGaps() }
        change()
        if let reason = waitForEnd(ending, seconds: seconds) { throw CommandError(reason) }
        print(words)
        for (relay, audience) in zip(relays, audiences) {
            let gaps = audience.longestGaps()
            let gone = audience.endCount
            print(
                "  joined at \(relay.name)   \(gaps.count - gone) of \(gaps.count) viewers watch; longest time without a "
                    + "frame \(gaps[gaps.count / 2]) ms (median), \(gaps[gaps.count - 1]) ms (most)")
        }
        fflush(nil)
        if let lost = audiences.compactMap(\.firstEnd).first {
            throw CommandError(sentence: "not all viewers have stayed: \(lost)", status: .lost)
        }
    }

    /// A relay in a process of its own.
    private final class Relay {
        let name: String
        let link: String
        private let process: DemoChild

        init(_ name: String, _ cluster: String, viewers: Int, for seconds: Int, _ stage: DemoStage) throws {
            self.name = name
            process = try DemoChild([
                "relay", "--listen", "127.0.0.1:0", "--accept", "any", "--cluster", cluster, "--node", name,
                "--max-viewers", "\(viewers)", "--json", "--for", "\(seconds)s",
            ])
            stage.adopt(process)
            while let event = process.readEvent() {
                guard event.name == "link", let link = event.text("link") else { continue }
                self.link = link
                return
            }
            throw CommandError(sentence: "a relay has not started: \(process.errorText)", status: .failed)
        }

        /// Waits until it knows so many other relays.
        func waitForOthers(_ count: Int) throws {
            var missing = count
            while missing > 0, let line = process.readLine(seconds: Double(RelayDemo.patience)) {
                if line.contains("\"relay-joined\"") { missing -= 1 }
            }
            guard missing == 0 else {
                throw CommandError(sentence: "the relays do not find each other: \(process.errorText)", status: .failed)
            }
            // The events that follow must not fill the pipe.
            _ = NamedThread("relay-events") { [process] in while process.readLine() != nil {} }
        }

        /// The viewers' link here of the broadcast that is listed.
        func broadcast() throws -> Link {
            let deadline = MonotonicClock.now + .seconds(RelayDemo.patience)
            while MonotonicClock.now < deadline {
                let list = try DemoChild(["list", "--relay", link, "--json"])
                defer { list.end() }
                if let text = list.readEvent()?.text("link") { return try Link(parsing: text) }
            }
            throw CommandError(sentence: "relay \(name) has not heard of the broadcast", status: .failed)
        }

        func kill() { process.kill() }
    }
}
