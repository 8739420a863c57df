internal import CNice
internal import EventLoop
import SessionDescription

/// The callbacks of libnice.
extension ICEAgent {
    func connectSignals(_ box: UnsafeMutableRawPointer) {
        typealias StateChanged =
            @convention(c) (
                UnsafeMutableRawPointer?, guint, guint, guint, UnsafeMutableRawPointer?
            ) -> Void
        let stateChanged: StateChanged = { _, _, _, state, data in
            if let data { Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().report(.state(state)) }
        }
        typealias Gathered = @convention(c) (UnsafeMutableRawPointer?, guint, UnsafeMutableRawPointer?) -> Void
        let gathered: Gathered = { _, _, data in
            if let data { Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().report(.gathered) }
        }
        typealias Found =
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafeMutablePointer<NiceCandidate>?, UnsafeMutableRawPointer?
            ) -> Void
        let found: Found = { _, candidate, data in
            if let data, let found = candidate.flatMap({ ICEAgent.read($0) }) {
                Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().report(.candidate(found))
            }
        }
        typealias Selected =
            @convention(c) (
                UnsafeMutableRawPointer?, guint, guint, UnsafeMutablePointer<NiceCandidate>?,
                UnsafeMutablePointer<NiceCandidate>?, UnsafeMutableRawPointer?
            ) -> Void
        let selected: Selected = { _, _, _, local, remote, data in
            if let data, let local, let remote {
                Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue().selected(local, remote)
            }
        }
        signals = [
            cnice_connect(nice.agent, "component-state-changed", unsafeBitCast(stateChanged, to: GCallback.self), box),
            cnice_connect(nice.agent, "candidate-gathering-done", unsafeBitCast(gathered, to: GCallback.self), box),
            cnice_connect(nice.agent, "new-candidate-full", unsafeBitCast(found, to: GCallback.self), box),
            cnice_connect(nice.agent, "new-selected-pair-full", unsafeBitCast(selected, to: GCallback.self), box),
        ]
        nice_agent_attach_recv(
            nice.agent, nice.id, 1, loop.context,
            { _, _, _, length, bytes, data in
                if let data, let bytes {
                    Unmanaged<ICEAgent>.fromOpaque(data).takeUnretainedValue()
                        .receivedByLibnice(UnsafeMutableRawBufferPointer(start: bytes, count: Int(length)))
                }
            }, box)
    }

    private func changed(to code: guint) {
        let new: State
        switch NiceComponentState(code) {
        case NICE_COMPONENT_STATE_GATHERING: new = .gathering
        case NICE_COMPONENT_STATE_CONNECTING: new = .connecting
        case NICE_COMPONENT_STATE_CONNECTED: new = .connected
        case NICE_COMPONENT_STATE_READY: new = .ready
        case NICE_COMPONENT_STATE_FAILED: new = .failed
        default: return
        }
        guard new != state else { return }
        state = new
        handlers.onState(new)
    }

    private enum Report: Sendable {
        case state(guint)
        case gathered
        case candidate(ICECandidate)
    }

    /// Passes a report to the loop. libnice reports UPnP results on the thread of its UPnP library.
    private func report(_ report: Report) {
        if loop.isOnLoop { return take(report) }
        LoopBound(loop, self).perform { $0.take(report) }
    }

    private func take(_ report: Report) {
        switch report {
        case .state(let code): changed(to: code)
        case .gathered: handlers.onGatheringDone()
        case .candidate(let candidate): handlers.onCandidate(candidate)
        }
    }

    private static func read(_ candidate: UnsafeMutablePointer<NiceCandidate>) -> ICECandidate? {
        guard candidate.pointee.transport == NICE_CANDIDATE_TRANSPORT_UDP else { return nil }
        let kind = candidate.kind
        var text =
            "candidate:\(String(cString: cnice_candidate_foundation(candidate))) 1 udp \(candidate.pointee.priority) "
            + "\(cnice_candidate_address(candidate).text) \(nice_address_get_port(cnice_candidate_address(candidate))) "
            + "typ \(kind)"
        if kind != "host" {
            let base = cnice_candidate_base(candidate)
            text += " raddr \(base.text) rport \(nice_address_get_port(base))"
        }
        return ICECandidate(text)
    }
}
