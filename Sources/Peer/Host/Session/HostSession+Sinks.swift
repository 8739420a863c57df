import EventLoop
import LinuxRuntime
public import MediaCore

/// Recorders and clip buffers of the host itself.
extension HostSession {
    public func add(
        _ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool
    ) async throws(MediaSinkFailure) {
        state.with { $0.sinks.append(sink) }
        let added = await core.ifRunning { broadcast in
            Result { () throws(MediaSinkFailure) in
                try broadcast.add(sink, demandsMedia: demandsMedia, records: records)
            }
        }
        if case .success = added { return }
        // Refused, or the broadcast has ended meanwhile.
        await remove(sink)
        if case .failure(let failure) = added { throw failure }
    }

    public func remove(_ sink: any EncodedMediaSink) async {
        state.with { $0.sinks.removeAll { $0 === sink } }
        await core.ifRunning { $0.remove(sink) }
        await sink.closed()
    }

    func closeSinks() async {
        let open = state.with { state in
            defer { state.sinks = [] }
            return state.sinks
        }
        for sink in open { await sink.closed() }
    }
}

extension EncodedMediaSink {
    /// Closes the sink, and waits until everything is released.
    package func closed() async {
        await withCheckedContinuation { continuation in close { continuation.resume() } }
    }
}
