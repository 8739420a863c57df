import CPulse
import MediaCore

/// Coalesces a server query: at most one runs at a time, and any request meanwhile runs it once more afterwards.
struct RepeatedQuery {
    private var isRunning = false
    private var isWantedAgain = false

    /// - Returns: whether the query must be sent now.
    mutating func want() -> Bool {
        if isRunning { isWantedAgain = true }
        defer { isRunning = true }
        return !isRunning
    }

    /// - Returns: whether the query must be sent again.
    mutating func finish() -> Bool {
        defer { isWantedAgain = false }
        isRunning = false
        return isWantedAgain
    }
}

/// The queries of a capture, and the results of those that run.
struct ServerQueries {
    var devices = RepeatedQuery()
    var inputs = RepeatedQuery()
    var found: [PulseDevice] = []
    /// The server's default sink or source.
    var defaultName: String?
    /// Streams that play on the recorded sink.
    var playingInputs = 0
}

/// Server queries: which device to record, and whether anything plays on it.
extension PulseCapture {
    /// Queries the device to record, then calls `use` or `fail`.
    func findDevice() {
        guard let context, queries.devices.want() else { return }
        queries.found.removeAll()
        release(
            pa_context_get_server_info(
                context,
                { _, info, me in
                    guard let capture = PulseCapture.from(me) else { return }
                    let name =
                        capture.target.isMonitor ? info?.pointee.default_sink_name : info?.pointee.default_source_name
                    capture.queries.defaultName = name.map { String(cString: $0) }
                }, me))
        // The server replies in order, so the default's name is known when the list ends.
        if target.isMonitor {
            release(
                pa_context_get_sink_info_list(
                    context,
                    { _, info, end, me in
                        guard let capture = PulseCapture.from(me) else { return }
                        if end != 0 { return capture.devicesFound() }
                        guard let info = info?.pointee, let name = info.monitor_source_name else { return }
                        if String(cString: info.name) == capture.queries.defaultName {
                            capture.queries.found.append(
                                PulseDevice(
                                    name: String(cString: name), description: String(cString: info.description),
                                    index: info.index, isMonitor: true))
                        }
                    }, me))
        } else {
            release(
                pa_context_get_source_info_list(
                    context,
                    { _, info, end, me in
                        guard let capture = PulseCapture.from(me) else { return }
                        if end != 0 { return capture.devicesFound() }
                        guard let info = info?.pointee else { return }
                        capture.queries.found.append(
                            PulseDevice(
                                name: String(cString: info.name), description: String(cString: info.description),
                                index: info.index, isMonitor: info.monitor_of_sink != UInt32.max))
                    }, me))
        }
    }

    private func devicesFound() {
        if queries.devices.finish() { return findDevice() }
        guard case .microphone(let wanted) = target else { return use(queries.found.first) }
        let microphones = queries.found.filter { !$0.isMonitor }
        if let wanted {
            let match =
                queries.found.first { $0.name == wanted }
                ?? queries.found.first { $0.description.lowercased() == wanted.lowercased() }
            if let match { return use(match) }
            let list = microphones.map { "\($0.name) (\($0.description))" }.joined(separator: ", ")
            return lost(
                "There is no microphone \"\(wanted)\".",
                remedy: list.isEmpty ? "No microphone is connected." : "These exist: \(list).")
        }
        guard let microphone = microphones.first(where: { $0.name == queries.defaultName }) ?? microphones.first else {
            return lost("No microphone is connected.", remedy: "Connect one, or share without a microphone.")
        }
        use(microphone)
    }

    /// Reports that the microphone does not exist, or was removed.
    private func lost(_ message: String, remedy: String) {
        fail(SourceFailure(!startup.isDone ? .noSuchDevice : .deviceGone, message, remedy: remedy))
    }

    /// Counts the streams that play on the recorded sink. The capture is corked while there are none.
    func countInputs() {
        guard let context, queries.inputs.want() else { return }
        queries.playingInputs = 0
        release(
            pa_context_get_sink_input_info_list(
                context,
                { _, info, end, me in
                    guard let capture = PulseCapture.from(me) else { return }
                    if end != 0 { return capture.inputsCounted() }
                    if let info = info?.pointee, info.sink == capture.device?.index, info.corked == 0 {
                        capture.queries.playingInputs += 1
                    }
                }, me))
    }

    private func inputsCounted() {
        if queries.inputs.finish() { return countInputs() }
        setPlaying(queries.playingInputs > 0)
    }
}
