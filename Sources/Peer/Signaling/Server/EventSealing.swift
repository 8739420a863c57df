public import Admission
import FrameEncryption
import HTTP
import Identifiers
import Identity
import SFrame
import Synchronization

/// Encrypts events of messages for viewers of this host whose requests pass a relay, each with the keys of its own
/// admission. Safe from any thread.
final class EventSealing: Sendable {
    private struct State {
        /// Of the next box, whoever gets it.
        var counter: UInt64 = 1
        /// The lasting events for all, as text by their keys.
        var lasting: [String: String] = [:]
    }

    private let state = Mutex(State())
    private let instance = randomBytes(MessageSeal<GCMFrameCipher>.instanceLength)

    /// Of the broadcast, which passes on what viewers at a relay get.
    private let delegate: any SignalingServerDelegate

    init(_ delegate: any SignalingServerDelegate) { self.delegate = delegate }

    /// Keeps an event for all if streams that open later begin with it, and passes it on to the relay.
    func passOn(_ event: HostEvent, isDroppable: Bool = false) {
        if let kept = event.kept { state.withLock { $0.lasting[kept.key] = kept.text } }
        delegate.passOn(event.serialized, isDroppable: isDroppable)
    }

    /// - Returns: the sessions that are not at the relay.
    func passOn(_ event: HostEvent, to sessions: [SessionID]) -> [SessionID] {
        let text = event.serialized + lasting.joined()
        return sessions.filter { !delegate.passOn(text, to: $0) }
    }

    var lasting: [String] { state.withLock { Array($0.lasting.values) } }

    /// base64url of a text that only this viewer can read; nil if its knock was of version 1.
    func box(_ text: String, for viewer: Viewer?) -> String? {
        guard let keys = viewer?.keyWrap?.messages else { return nil }
        let counter = state.withLock { state in
            defer { state.counter += 1 }
            return state.counter
        }
        return Base64URL.encode(
            MessageSeal<GCMFrameCipher>.seal(
                Array(text.utf8), key: keys.toViewer, counter: counter, instance: instance))
    }
}

extension BroadcastResource {
    /// Sends an event to each viewer.
    func sendSealed(_ event: HostEvent, by sealing: EventSealing) {
        sealing.passOn(event)
        let text = event.serialized
        for owner in endpoint.streams.owners {
            if let box = box(text, for: owner) { endpoint.countDropped(endpoint.streams.send([box], to: owner)) }
        }
    }

    /// Sends an event on the event streams of those viewers that read fast enough.
    public func sendDroppable(_ event: HostEvent) {
        guard let sealing, event.isSealable else { return endpoint.streams.sendDroppable(event) }
        sealing.passOn(event, isDroppable: true)
        let text = event.serialized
        for owner in endpoint.streams.owners {
            if let box = box(text, for: owner) { endpoint.streams.sendDroppable(box, to: owner) }
        }
    }

    /// Sends an event of sessions, as text.
    func sendSealed(_ text: String, to owners: [SessionID: TokenHash]) {
        for (session, owner) in owners {
            guard let box = box(text, for: owner) else { continue }
            let dropped = endpoint.streams.send(box, to: [session: owner], shared: admissions.fixedToken)
            endpoint.countDropped(dropped)
        }
    }

    /// The lasting events with which a stream begins, of which those of messages are encrypted.
    func sealed(_ events: [String], for owner: TokenHash) -> [String] {
        guard let sealing else { return events }
        let (secret, clear) = events.reduce(into: ([String](), [String]())) { parts, text in
            if HostEvent.isSealable(text) { parts.0.append(text) } else { parts.1.append(text) }
        }
        let texts = secret + sealing.lasting
        guard !texts.isEmpty, let box = box(texts.joined(), for: owner) else { return clear }
        return clear + [box]
    }

    private func box(_ text: String, for owner: TokenHash) -> String? {
        sealing?.box(text, for: admissions.viewer(of: owner)).map { HostEvent.sealed(.box($0)).serialized }
    }

    /// base64url of a text that only this viewer can read; nil if nothing is encrypted for it.
    public func box(_ text: String, for viewer: Viewer) -> String? { sealing?.box(text, for: viewer) }

    /// Passes on what the publisher has encrypted for all viewers here.
    /// - Parameter droppable: what viewers that read slowly do not get.
    public func pass(frames: [String], droppable: [String]) {
        for frame in frames { send(.sealed(.frame(frame))) }
        for frame in droppable { sendDroppable(.sealed(.frame(frame))) }
    }
}
