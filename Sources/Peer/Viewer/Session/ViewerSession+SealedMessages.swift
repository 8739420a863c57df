import Admission
import FrameEncryption
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import SFrame
import Signaling
import Synchronization

/// What a viewer session has said and got over relays, encrypted.
struct ViewerMessageSeal: Sendable {
    /// Ends when the last message was sent.
    var sending: Task<Result<Void, SignalingError>, Never>?
    /// Of the last message with the keys of the present admission.
    var counter: UInt64 = 0
    let instance = randomBytes(MessageSeal<GCMFrameCipher>.instanceLength)
    /// The boxes that were opened, with the keys of the present admission.
    var window = MessageWindow()
    /// Of the newest box with rights.
    var rightsCounter: UInt64 = 0
    var shared: MessageDecryption?

    /// The keys are those of another admission.
    mutating func beginAdmission() { (counter, window, rightsCounter) = (0, MessageWindow(), 0) }
}

/// What a viewer says and is told where requests for its host pass a relay. The relay neither reads nor forges it, and
/// neither repeats it nor changes the order of what the viewer says.
extension ViewerSession {
    var isOverRelay: Bool { settings.link.relay != nil }

    // MARK: What the viewer says

    /// Sends messages in the order of the calls.
    func sendSealed(_ messages: [ViewerMessage]) async throws(SignalingError) {
        let task = encryption.withLock { state in
            let last = state.messages.sending
            let task = Task { () -> Result<Void, SignalingError> in
                _ = await last?.value
                do throws(SignalingError) {
                    try await self.post(messages)
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            state.messages.sending = task
            return task
        }
        try await task.value.get()
    }

    private func post(_ messages: [ViewerMessage]) async throws(SignalingError) {
        guard let connection = present else { throw SignalingError(.gone, "this viewer does not watch yet") }
        if connection.link == settings.link { return try await post(messages, by: try connection.client()) }
        let client = try makeClient(settings.link)
        do throws(SignalingError) {
            try await post(messages, by: client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    private func post(_ messages: [ViewerMessage], by client: SignalingClient) async throws(SignalingError) {
        if try await client.send(sealed: try seal(messages), token: token()) { return }
        // The token is not valid any more. The host knows this viewer, and asks nobody.
        try await admitAnew(by: client)
        guard try await client.send(sealed: try seal(messages), token: token()) else {
            throw SignalingError(.refused, "the host does not know this viewer any more")
        }
    }

    private func token() throws(SignalingError) -> String {
        guard let home = encryption.withLock({ $0.home }) else {
            throw SignalingError(.gone, "this viewer does not watch yet")
        }
        return home.token
    }

    /// - Returns: base64url.
    private func seal(
        _ messages: [ViewerMessage], by carrier: MessageCarrier = .request
    ) throws(SignalingError) -> String {
        guard let text = SignalingClient.text(of: messages) else {
            throw SignalingError(.offerRefused, "the message is too long")
        }
        let sealed: [UInt8]? = encryption.withLock { state in
            guard let keys = state.home?.encryption?.wrap.messages else { return nil }
            state.messages.counter += 1
            return MessageSeal<GCMFrameCipher>.seal(
                Array(text.utf8), key: keys.toHost, counter: state.messages.counter, instance: state.messages.instance,
                authenticating: carrier.associatedData)
        }
        guard let sealed else {
            throw SignalingError(.offerRefused, "the host cannot read what passes its relay encrypted")
        }
        return Base64URL.encode(sealed)
    }

    // MARK: The WebSocket

    /// A WebSocket to the host, perhaps with a connection of its own.
    struct OpenedMessages {
        let socket: MessageSocket
        /// Of the admission with whose keys the host opens what is said; nil: nothing is encrypted.
        var token: String?
        /// Made for the socket; nil: that of the session's connection.
        var client: SignalingClient?

        func close() async { await client?.close() }
    }

    func openMessages() async throws(SignalingError) -> OpenedMessages {
        guard let connection = present else { throw SignalingError(.gone, "this viewer does not watch yet") }
        guard isOverRelay else {
            guard let socket = try await connection.client().openMessages() else {
                throw SignalingError(.refused, "the host does not know this viewer any more")
            }
            return OpenedMessages(socket: socket)
        }
        // Where the viewer watches may be another relay than that of its link, with tokens of its own.
        let client = try makeClient(settings.link)
        do throws(SignalingError) {
            let (socket, token) = try await openMessages(by: client)
            return OpenedMessages(socket: socket, token: token, client: client)
        } catch {
            await client.close()
            throw error
        }
    }

    private func openMessages(
        by client: SignalingClient
    ) async throws(SignalingError) -> (MessageSocket, token: String) {
        let known = try token()
        if let socket = try await client.openMessages(token: known) { return (socket, known) }
        // The token is not valid any more. The host knows this viewer, and asks nobody.
        try await admitAnew(by: client)
        let renewed = try token()
        guard let socket = try await client.openMessages(token: renewed) else {
            throw SignalingError(.refused, "the host does not know this viewer any more")
        }
        return (socket, renewed)
    }

    /// Whether a socket is one of the present admission.
    func isCurrent(_ opened: OpenedMessages) -> Bool {
        opened.token == nil || opened.token == encryption.withLock { $0.home?.token }
    }

    /// Messages as text of the WebSocket; nil if they cannot be sent.
    func socketText(of messages: [ViewerMessage]) -> String? {
        guard isOverRelay else { return SignalingClient.text(of: messages) }
        return (try? seal(messages, by: .socket)).flatMap { SignalingClient.text(sealed: $0) }
    }

    // MARK: What the viewer is told

    /// The events that the host has encrypted for this viewer, or the event itself. What a relay could have made up is
    /// left out.
    func opened(_ event: HostEvent) -> [HostEvent] {
        switch event {
        case .sealed(let sealed), .sealedRights(let sealed): isOverRelay ? open(sealed) : []
        case _ where event.isSealable && isOverRelay: []
        default: [event]
        }
    }

    private func open(_ sealed: SealedEvent) -> [HostEvent] {
        let events: [HostEvent] =
            switch sealed {
            case .box(let text): open(box: text)
            case .frame(let text): open(frame: text)
            }
        return events.filter(\.isSealable)
    }

    private func open(box text: String) -> [HostEvent] {
        guard let box = Base64URL.decode(text) else { return [] }
        return encryption.withLock { state in
            guard let keys = state.home?.encryption?.wrap.messages,
                let (counter, bytes) = MessageSeal<GCMFrameCipher>.open(box, key: keys.toViewer),
                state.messages.window.takes(counter)
            else { return [] }
            let events = HostEvent.events(in: bytes)
            let hasNewestRights = counter >= state.messages.rightsCounter
            let rights = events.contains { if case .rights = $0 { true } else { false } }
            if rights, hasNewestRights { state.messages.rightsCounter = counter }
            return events.filter { if case .rights = $0 { hasNewestRights } else { true } }
        }
    }

    private func open(frame text: String) -> [HostEvent] {
        guard let frame = Base64URL.decode(text) else { return [] }
        let opened: Result<[UInt8], BroadcastOpener.Failure>? = encryption.withLock { state in
            guard let keys = state.keys else { return nil }
            if state.messages.shared?.has(keys) != true { state.messages.shared = MessageDecryption(keys) }
            return state.messages.shared?.open(frame, now: MonotonicClock.now)
        }
        switch opened {
        case .success(let bytes): return HostEvent.events(in: bytes)
        // The host gives its keys to those whom it admits.
        case .failure(.unknownKey): askForKeys()
        default: break
        }
        return []
    }
}
