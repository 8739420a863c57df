import Admission
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import SFrame
import Signaling
import Synchronization

/// What a viewer session knows of its host's encryption.
struct ViewerEncryption: Sendable {
    /// Those of the host; nil: what it publishes to relays is not encrypted.
    var keys: BroadcastKeys?
    /// Nil before the link's own host has admitted this viewer.
    var home: HomeAdmission?
    var requests = KeyRequestLimiter()
    /// Whose keys were handed over.
    var newestEpoch: UInt32 = 0
    var messages = ViewerMessageSeal()

    /// - Parameters:
    ///   - link: of the server whose media is shown.
    ///   - home: the session's link.
    func route(at link: Link, home own: Link) -> MediaRoute? {
        guard let home else { return nil }
        guard link == own else { return MediaRoute(relay: link.authority, isEncrypted: keys != nil) }
        // A host agrees on keys with each viewer, and a relay with none.
        return MediaRoute(relay: nil, isEncrypted: home.encryption != nil)
    }
}

/// The server that sends the media of a session.
package struct MediaRoute: Sendable, Equatable {
    /// `HOST:PORT` of the relay to which the host has sent the viewer; nil: the server of the session's link sends.
    package let relay: String?
    /// No relay can watch, as the server of the session's link says.
    package let isEncrypted: Bool
}

/// What the host has granted this viewer, and what it has agreed on with it.
struct HomeAdmission: Sendable {
    var token: String
    /// Nil: the host knows nothing of encryption.
    var encryption: HostEncryption?
}

/// Limits the requests for keys: one at a time, and fewer while they do not help. A value without a clock.
struct KeyRequestLimiter {
    private var isRunning = false
    private var next: MediaInstant?
    private var pause = Self.shortestPause

    static let shortestPause = MediaDuration.seconds(1)
    static let longestPause = MediaDuration.seconds(30)

    /// - Returns: whether the host may be asked now; `ended` follows then.
    mutating func begin(_ now: MediaInstant) -> Bool {
        guard !isRunning, next.map({ now >= $0 }) ?? true else { return false }
        isRunning = true
        return true
    }

    /// - Parameter hasHelped: keys of an epoch have come that were not known.
    mutating func ended(_ now: MediaInstant, hasHelped: Bool) {
        if hasHelped { pause = Self.shortestPause }
        (isRunning, next) = (false, now + pause)
        pause = min(pause + pause, Self.longestPause)
    }
}

/// The keys of a broadcast that is encrypted for its viewers.
extension ViewerSession {
    /// The host has admitted this viewer.
    /// - Parameter keys: those that came with it.
    func note(_ admission: HomeAdmission, keys: [UInt8]?) throws(SignalingError) {
        encryption.withLock { state in
            state.home = admission
            state.messages.beginAdmission()
        }
        channel.reopen()
        guard let keys else { return }
        guard take(keys, from: admission.encryption) else {
            throw SignalingError(.hostNotProven, "the host's keys cannot be read; it may be of another version")
        }
    }

    /// Takes keys in that the host has encrypted for this viewer; does nothing with any others.
    func takeKeys(_ text: String?, from encryption: HostEncryption?) {
        if let bytes = encryption?.wrap.open(text: text) { _ = take(bytes, from: encryption) }
    }

    /// - Returns: false if they are none, or of another run of the host.
    private func take(_ bytes: [UInt8], from encryption: HostEncryption?) -> Bool {
        guard let handed = HandedKeys(bytes), handed.run == encryption?.run else { return false }
        self.encryption.withLock { state in
            state.newestEpoch = max(state.newestEpoch, handed.newestEpoch)
            if let known = state.keys {
                known.add(handed)
            } else if case .keys(let keys) = handed {
                state.keys = BroadcastKeys(keys, of: settings.link.id.text)
            }
        }
        return true
    }

    /// Asks the host for the keys of frames that come.
    func askForKeys() {
        guard encryption.withLock({ $0.requests.begin(MonotonicClock.now) }) else { return }
        Task {
            let known = encryption.withLock { $0.newestEpoch }
            await fetchKeys()
            encryption.withLock { $0.requests.ended(MonotonicClock.now, hasHelped: $0.newestEpoch != known) }
        }
    }

    private func fetchKeys() async {
        guard let admission = encryption.withLock({ $0.home }), let client = try? makeClient(settings.link) else {
            return
        }
        do throws(SignalingError) {
            if let text = try await client.fetchKeys(token: admission.token) {
                takeKeys(text, from: admission.encryption)
            } else {
                // The token is not valid any more. The host knows this viewer, and asks nobody.
                try await admitAnew(by: client)
            }
        } catch {
            // The host does not want this viewer any more. After anything else it is asked again.
            if error.code == .refused { leave(EndReason(.refused, error.description)) }
        }
        await client.close()
    }

    /// Knocks at the host again. Ends the session if it does not want this viewer any more.
    func admitAnew(by client: SignalingClient) async throws(SignalingError) {
        let ticket = try await client.knock(
            name: settings.name, identity: settings.identity, records: settings.records)
        switch try await client.waitForAnswer(ticket) {
        case .accepted(let token, _):
            let renewed = HomeAdmission(token: token, encryption: await client.encryption)
            try note(renewed, keys: await client.frameKeys)
        case .refused(let reason): leave(EndReason(.refused, reason))
        case .unanswered: leave(EndReason(.refused, "nobody answered within 60 s"))
        }
    }
}
