import EventLoop
import LinuxRuntime
public import MediaCore

/// Recorders and clip buffers of the host itself.
extension HostSession {
    public func add(
        _ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool
    ) async throws(MediaSinkFailure) {
        state.with { $0.sinks.append(sink) }
        let outcome = await core.ifRunning { broadcast -> MediaSinkFailure? in
            do throws(MediaSinkFailure) {
                try broadcast.add(sink, demandsMedia: demandsMedia, records: records)
                return nil
            } catch {
                return error
            }
        }
        guard case .some(.none) = outcome else {
            // Refused, or the broadcast has ended meanwhile.
            await remove(sink)
            if case .some(.some(let failure)) = outcome { throw failure }
            return
        }
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
