import CPulse

/// Reads a `ServerSnapshot`. At most one query runs at a time; any request meanwhile runs it once more afterwards.
///
/// - Isolation: libpulse's thread, or with the main loop's lock held. It must live until `cancel` or its last answer.
final class ServerQuery {
    private var context: OpaquePointer?
    private var isRunning = false
    private var isWantedAgain = false
    private var snapshot = ServerSnapshot()
    private let handler: (ServerSnapshot) -> Void
    private var operations: [OpaquePointer] = []

    /// - Parameter handler: gets each snapshot.
    init(_ handler: @escaping (ServerSnapshot) -> Void) { self.handler = handler }

    private var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> ServerQuery? {
        pointer.map { Unmanaged<ServerQuery>.fromOpaque($0).takeUnretainedValue() }
    }

    /// - Parameter context: a connection that is ready.
    func run(_ context: OpaquePointer) {
        self.context = context
        if isRunning {
            isWantedAgain = true
            return
        }
        isRunning = true
        snapshot = ServerSnapshot()
        ask(
            pa_context_get_server_info(
                context,
                { _, info, me in
                    guard let query = ServerQuery.from(me), let info = info?.pointee else { return }
                    query.snapshot.defaultSink = info.default_sink_name.map { String(cString: $0) }
                    query.snapshot.defaultSource = info.default_source_name.map { String(cString: $0) }
                }, me))
        ask(
            pa_context_get_sink_info_list(
                context,
                { _, info, end, me in
                    guard let query = ServerQuery.from(me), end == 0, let info = info?.pointee else { return }
                    query.snapshot.sinks.append(ServerSnapshot.Sink(info))
                }, me))
        ask(
            pa_context_get_source_info_list(
                context,
                { _, info, end, me in
                    guard let query = ServerQuery.from(me), end == 0, let info = info?.pointee else { return }
                    query.snapshot.sources.append(ServerSnapshot.Source(info))
                }, me))
        // The server answers in order, so that everything is known at the end of this list.
        ask(
            pa_context_get_sink_input_info_list(
                context,
                { _, info, end, me in
                    guard let query = ServerQuery.from(me) else { return }
                    if end != 0 { return query.finish() }
                    guard let info = info?.pointee else { return }
                    query.snapshot.playbacks.append(ServerSnapshot.Playback(info))
                }, me))
    }

    /// Ends the query without an answer, as when the connection is closed.
    func cancel() {
        for operation in operations {
            pa_operation_cancel(operation)
            pa_operation_unref(operation)
        }
        operations = []
        isRunning = false
        isWantedAgain = false
        context = nil
    }

    private func ask(_ operation: OpaquePointer?) {
        if let operation { operations.append(operation) }
    }

    private func finish() {
        for operation in operations { pa_operation_unref(operation) }
        operations = []
        isRunning = false
        if isWantedAgain, let context {
            isWantedAgain = false
            return run(context)
        }
        handler(snapshot)
    }
}

extension ServerSnapshot.Sink {
    init(_ info: pa_sink_info) {
        self.init(
            index: info.index, name: text(info.name) ?? "", description: text(info.description) ?? "",
            monitor: text(info.monitor_source_name))
    }
}

extension ServerSnapshot.Source {
    init(_ info: pa_source_info) {
        self.init(
            name: text(info.name) ?? "", description: text(info.description) ?? "",
            isMonitor: info.monitor_of_sink != UInt32.max)
    }
}

extension ServerSnapshot.Playback {
    init(_ info: pa_sink_input_info) {
        func property(_ name: String) -> String? { info.proplist.flatMap { text(pa_proplist_gets($0, name)) } }
        self.init(
            index: info.index, sink: info.sink, isCorked: info.corked != 0,
            application: ApplicationIdentity(
                name: property(PA_PROP_APPLICATION_NAME), program: property(PA_PROP_APPLICATION_PROCESS_BINARY),
                identifier: property(PA_PROP_APPLICATION_ID), process: property(PA_PROP_APPLICATION_PROCESS_ID)),
            title: property(PA_PROP_MEDIA_NAME) ?? text(info.name),
            isOwn: property(OwnPlayback.property) == OwnPlayback.value)
    }
}

/// Nil for a null pointer and for an empty text.
private func text(_ characters: UnsafePointer<CChar>?) -> String? {
    guard let characters, characters.pointee != 0 else { return nil }
    return String(cString: characters)
}
