import Admission
import ArgumentParser
import CommandSupport
import Control
import ControlSocket
import FoundationEssentials
import Host
import MediaCore

/// Finds the broadcast that a control verb is for: of this user, on this machine.
struct ControlOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Which broadcast, if several run: its identifier, or the beginning of it.", valueName: "id"))
    var broadcast: String?

    /// Every broadcast that is meant.
    /// - Throws: if there is none, or one that runs cannot be asked.
    func all() throws(CommandError) -> [RunningBroadcast] {
        let (running, failures) = RunningBroadcast.all(
            in: ControlSocketFolder(environment: ProcessInfo.processInfo.environment))
        for failure in failures { ErrorOutput.writeLine("share: \(failure.message)") }
        guard !running.isEmpty else {
            guard failures.isEmpty else { throw CommandError(sentence: "no broadcast can be asked", status: .lost) }
            throw CommandError(
                sentence: "no broadcast is running", remedy: "Start one with: share host", status: .noBroadcast)
        }
        guard let broadcast else { return running }
        let wanted = broadcast.uppercased()
        let found = running.filter { !wanted.isEmpty && $0.status.id.hasPrefix(wanted) }
        guard !found.isEmpty else {
            list(running)
            throw CommandError(
                sentence: "no running broadcast has the identifier \(UntrustedText.quote(broadcast)), see above",
                status: .noBroadcast)
        }
        return found
    }

    /// The only broadcast that is meant.
    func one() throws(CommandError) -> RunningBroadcast {
        var found = try all()
        // A host that still asks whether to broadcast is meant only if it is named or alone.
        let begun = found.filter { $0.status.asking != true }
        if broadcast == nil, !begun.isEmpty { found = begun }
        guard found.count == 1, let first = found.first else {
            list(found)
            throw CommandError(
                sentence: "\(found.count) broadcasts are meant, see above", remedy: "Choose one: --broadcast ID",
                status: .usage)
        }
        return first
    }

    private func list(_ broadcasts: [RunningBroadcast]) {
        for broadcast in broadcasts { ErrorOutput.writeLine(broadcast.status.line) }
    }
}

extension RunningBroadcast {
    /// Sends a request that changes something.
    /// - Returns: the answer to a request that was granted.
    func perform(_ command: ControlRequest.Command) throws(CommandError) -> ControlAnswer {
        let answer = try answer(to: command)
        guard let error = answer.error else { return answer }
        throw CommandError(
            sentence: answer.message.map { UntrustedText.clean($0, limit: 256, fallback: "") } ?? error.rawValue,
            status: error == .ended ? .noBroadcast : .usage)
    }

    func answer(to command: ControlRequest.Command) throws(CommandError) -> ControlAnswer {
        do throws(ControlSocketFailure) {
            return try ask(ControlRequest(command))
        } catch {
            throw CommandError(
                sentence: error.message, status: error.code == .notListening ? .noBroadcast : .lost)
        }
    }
}

extension BroadcastStatus {
    /// "9X2M4QF1K7D3A  live  00:12:31  2 viewers  display :0, 1000 x 600  microphone muted"
    var line: String {
        let muted = audio.filter(\.muted).map { "\($0.track == .system ? "system audio" : "microphone") muted" }
        let parts =
            [
                id, asking == true ? "asking" : hold?.participle ?? (connected > 0 ? "live" : "waiting"),
                ClockText.text(elapsedSeconds),
                receivers, source,
            ] + (name.map { [UntrustedText.quote($0)] } ?? []) + muted
        return parts.joined(separator: "  ")
    }

    /// What decides what viewers get.
    private var hold: BroadcastHold? { holds.map { Set($0).effective } ?? (paused ? .pause : nil) }

    private var receivers: String {
        ReceiversText.text(viewers: viewers, destination ?? service.map { .init(name: $0, countsViewers: false) })
    }
}

extension ViewerStatus {
    /// The quoted name, the program and the address.
    var title: String {
        "\(UntrustedText.quote(UntrustedText.clean(name, fallback: "somebody"))) (\(kind), \(address))"
    }

    /// "1  00:12:31  "Ann" (share, 192.0.2.31)  1.4 Mbit/s  direct, ...  a1a1a1a1a1a1a1a1  poem hotel river saddle"
    var line: String {
        (parts + [path, String(fingerprint.prefix(16)), words]).filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// "1  00:12:31  "Ann" (share, 192.0.2.31)  1.4 Mbit/s  direct"
    var shortLine: String {
        let route = atRelay == true ? "at the relay" : String(path.prefix { $0 != "," })
        return (parts + [route]).filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// What both lines begin with; some may be empty.
    private var parts: [String] {
        let time = connectedSeconds.map { ClockText.text($0) } ?? "connecting"
        let rate = atRelay == true ? "" : RateText.text(Double(kilobits) * 1_000)
        let state = interrupted ? "no packets" : rate
        return ["\(number)", time, title, state, records == true ? "records" : ""]
    }
}

/// Formats a time as "00:12:31".
enum ClockText {
    static func text(_ seconds: Int) -> String {
        let seconds = max(seconds, 0)
        return [seconds / 3600, seconds / 60 % 60, seconds % 60].map { ($0 < 10 ? "0" : "") + String($0) }
            .joined(separator: ":")
    }
}
