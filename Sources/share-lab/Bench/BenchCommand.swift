import ArgumentParser
import CommandSupport
import Host
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import ShareKit
import Signaling
import TestSource

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measure this program on this machine.",
        subcommands: [BenchRelayCommand.self, BenchDirectoryCommand.self, BenchControlCommand.self])
}

struct BenchRelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Publish a test stream to a relay, watch it many times, and print what it costs.",
        discussion: """
            Starts a relay on this machine's loopback. The viewers have HTTPS, ICE, DTLS and SRTP each, but decode \
            nothing; they share a thread, and each address in 127.0.0.0/16 has 16 of them at most. CPU is that of \
            the relay's process alone.
            """)

    @Option(help: ArgumentHelp("Viewers.", valueName: "count"))
    var viewers = 60

    @Option(help: ArgumentHelp("Bitrate of the stream, in kbit/s.", valueName: "kbit"))
    var bitrate = 600

    @Option(help: ArgumentHelp("How long to measure once all watch.", valueName: "time"))
    var seconds = 10

    @Option(help: ArgumentHelp("The relay's --threads; its default if omitted.", valueName: "count"))
    var threads: Int?

    @Option(help: "What strangers send to the relay while it is measured, and while eight more viewers join.")
    var attack: BenchAttack?

    @Flag(help: "Encrypt the stream for its viewers, as 'share host --route relay' does.")
    var encrypted = false

    @Flag(
        help: ArgumentHelp(
            "Then have 200 more viewers join at once, and 50 leave at once, and print the gaps of the others.",
            discussion: "It takes 35 s more: with --encrypted, the keys change 30 s after viewers have left."))
    var churn = false

    @Flag(help: "Print one JSON object on stdout.")
    var json = false

    func validate() throws {
        guard (1...2_000).contains(viewers) else { throw ValidationError("--viewers is 1 to 2000.") }
        guard (100...50_000).contains(bitrate) else { throw ValidationError("--bitrate is 100 to 50000 kbit/s.") }
        guard (1...3_600).contains(seconds) else { throw ValidationError("--seconds is 1 to 3600.") }
    }

    func run() throws {
        let ending = Monitor<EndReason?>(nil)
        do {
            try measure(until: ending)
        } catch let error as CommandError {
            // After a signal the viewers end because the relay does.
            throw (ending.with { $0 }.map { CommandError($0) } ?? error).report()
        }
    }

    private func measure(until ending: Monitor<EndReason?>) throws {
        FileDescriptors.raiseLimit()
        try requireDescriptors()
        // It ends by itself if this process is killed. Joining takes less than half a second for each viewer.
        let relay = try MeasuredRelay(
            viewers: viewers + (attack == nil && !churn ? 0 : 256), seconds: viewers + seconds + 180, threads: threads)
        defer { relay.end() }
        Signals.handle { name in
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
            relay.end()
        }
        let publisher = try BenchPublisher(relay.link, bitrate: bitrate, isEncrypted: encrypted)
        defer { publisher.stop() }
        let link = try relay.broadcast()
        let audience = BenchAudience(try publisher.link ?? Link(parsing: link))
        defer { audience.leave() }
        let before = (resident: relay.residentBytes, own: relay.privateBytes)
        try audience.join(viewers)
        let running = try attack.map { $0.start(media: relay.mediaPort, link: try Link(parsing: link)) }
        defer { running?.stop() }
        ErrorOutput.writeLine("share: \(viewers) viewers watch; measuring for \(seconds) s")
        let (start, cpu) = (audience.counters(), relay.cpuSeconds)
        let delays = relay.delays
        let began = MonotonicClock.now
        if let reason = waitForEnd(ending, seconds: Double(seconds)) { throw CommandError(reason) }
        let (end, spent) = (audience.counters(), relay.cpuSeconds - cpu)
        let time = (MonotonicClock.now - began).inSeconds
        let packets = end.packets - start.packets
        try check(relay, audience, packets: packets, watching: end.watching)
        let joins = audience.joinTimes
        let after = relay.delays
        let changes = try churn ? gaps(audience, until: ending) : []
        let hostile = try running.map { try figures($0, relay, audience, since: before.resident, began) } ?? []
        let added = { share in
            delays.flatMap { after?.milliseconds(share, since: $0) }.map(JSONValue.number) ?? .null
        }
        report(
            [
                ("viewers", .integer(viewers)), ("packetsPerSecond", .integer(Int(Double(packets) / time))),
                ("microsecondsPerPacket", .number((spent / Double(packets) * 1e8).rounded() / 100)),
                ("cpuPercent", .number((spent / time * 1_000).rounded() / 10)),
                ("lost", .integer(end.lost - start.lost)),
                ("addedMillisecondsMedian", added(0.5)), ("addedMilliseconds99", added(0.99)),
                ("joinMillisecondsMedian", .integer(joins[joins.count / 2])),
                ("joinMilliseconds95", .integer(joins[joins.count * 95 / 100])),
                ("kilobytesPerViewer", .integer(max(relay.privateBytes - before.own, 0) / 1_000 / viewers)),
                ("megabytes", .integer(relay.residentBytes / 1_000_000)),
            ] + changes + hostile)
    }

    /// The longest times without a frame of those who stay, while others join and leave.
    private func gaps(_ audience: BenchAudience, until ending: Monitor<EndReason?>) throws -> [(String, JSONValue)] {
        audience.forgetGaps()
        let joins = try audience.joinMore(Self.joiningViewers)
        let (joining, joined) = (
            audience.longestGaps(first: viewers), joins.last.map { JSONValue.integer($0) } ?? .null
        )
        audience.forgetGaps()
        audience.leave(last: Self.leavingViewers)
        if let reason = waitForEnd(ending, seconds: 33) { throw CommandError(reason) }
        let leaving = audience.longestGaps(first: viewers)
        return [
            ("churnJoins", .integer(joins.count)), ("churnJoinMillisecondsMost", joined),
            ("gapMillisecondsWhileJoining", .integer(joining.last ?? 0)),
            ("gapMillisecondsWhileLeaving", .integer(leaving.last ?? 0)),
        ]
    }

    private static let joiningViewers = 200
    private static let leavingViewers = 50

    private func check(_ relay: MeasuredRelay, _ audience: BenchAudience, packets: Int, watching: Int) throws {
        guard relay.isRunning else {
            throw CommandError(sentence: "the relay has ended while it was measured", status: .failed)
        }
        guard packets > 0, watching == viewers else {
            let why = audience.firstEnd.map { ": \($0)" } ?? ""
            throw CommandError(
                sentence: "\(viewers - watching) of \(viewers) viewers have ended\(why)", status: .lost)
        }
    }

    /// The figures of an attack, and its effect on those who join meanwhile.
    private func figures(
        _ attack: any BenchAttack.Running, _ relay: MeasuredRelay, _ audience: BenchAudience, since before: Int,
        _ began: MediaInstant
    ) throws -> [(String, JSONValue)] {
        let late = try audience.joinMore(Self.lateViewers)
        let time = (MonotonicClock.now - began).inSeconds
        let counts = attack.figures.map { name, count in
            (name + "PerSecond", JSONValue.integer(Int(Double(count) / time)))
        }
        return counts + [
            ("attackedJoins", .integer(late.count)),
            ("firstFailure", audience.firstEnd.map { .string($0) } ?? .null),
            ("attackedJoinMillisecondsMedian", late.isEmpty ? .null : .integer(late[late.count / 2])),
            ("attackedJoinMillisecondsMost", late.last.map { .integer($0) } ?? .null),
            ("openFiles", relay.openFiles.map { .integer($0) } ?? .null),
        ]
    }

    private static let lateViewers = 8

    /// A viewer has two connections and a UDP port; a connection of its knock closes later.
    private func requireDescriptors() throws {
        let needed = viewers * 4 + 256
        guard FileDescriptors.limit < needed else { return }
        throw CommandError(
            sentence: "\(viewers) viewers need \(needed) open files; this process may have \(FileDescriptors.limit)",
            remedy: "raise the limit with ulimit -n \(needed), or take fewer viewers", status: .failed)
    }

    private func report(_ figures: [(String, JSONValue)]) {
        if json {
            DataOutput(isJSON: false).line(JSONValue.dictionary(Dictionary(uniqueKeysWithValues: figures)).text)
            return
        }
        for (name, value) in figures {
            // "joinMilliseconds95" becomes "join milliseconds 95".
            let words = name.reduce(into: "") { words, letter in
                let begins = letter.isUppercase || letter.isNumber && words.last?.isNumber == false
                words += (begins ? " " : "") + letter.lowercased()
            }
            DataOutput(isJSON: false).line(words.padded(to: 28) + value.text)
        }
    }
}

/// A relay in a process of its own.
private final class MeasuredRelay: Sendable {
    let link: String
    private let process: DemoChild
    private let metrics: String
    /// The UDP port of the media.
    let mediaPort: UInt16

    /// - Parameter seconds: the longest time that it runs.
    init(viewers: Int, seconds: Int, threads: Int?) throws {
        mediaPort = LoopbackSocket.freePort()
        process = try DemoChild(
            [
                "relay", "--listen", "127.0.0.1:0", "--media", "0.0.0.0:\(mediaPort)", "--accept", "any",
                "--max-viewers",
                "\(viewers)", "--json", "--for",
                "\(seconds)s", "--metrics", "127.0.0.1:0",
            ] + (threads.map { ["--threads", "\($0)"] } ?? []))
        guard let event = process.readEvent(), let link = event.text("link"),
            let metrics = event.text("metrics")
        else {
            throw CommandError(sentence: "the relay has not started: \(process.errorText)", status: .failed)
        }
        self.link = link
        self.metrics = metrics
    }

    /// How long packets were in the relay; nil if it does not answer.
    var delays: RelayDelays? { RelayDelays(of: metrics) }

    /// The viewers' link of the first broadcast.
    func broadcast() throws -> String {
        while let event = process.readEvent() {
            guard event.name == "live", let link = event.text("link") else { continue }
            // The events that follow must not fill the pipe.
            _ = NamedThread("relay-events") { [process] in while process.readLine() != nil {} }
            return link
        }
        throw CommandError(sentence: "the relay has ended: \(process.errorText)", status: .failed)
    }

    var isRunning: Bool { process.isRunning }
    var cpuSeconds: Double { process.cpuSeconds }
    var residentBytes: Int { process.residentBytes }
    var privateBytes: Int { process.privateBytes }
    var openFiles: Int? { process.openFiles }
    func end() { process.end() }
}
