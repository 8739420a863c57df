import FrameEncryption
import LinuxRuntime
import MediaCore
import MediaEngine
import SFrame
import Synchronization

/// Keys that a host has handed over.
enum HandedKeys: Sendable {
    case keys(FrameKeys)
    /// Of an epoch that begins in a moment.
    case epoch(EpochSecret)

    /// Nil unless `bytes` are of one of these forms.
    init?(_ bytes: [UInt8]) {
        if let keys = FrameKeys(bytes) {
            self = .keys(keys)
        } else if let secret = EpochSecret(bytes) {
            self = .epoch(secret)
        } else {
            return nil
        }
    }

    var newestEpoch: UInt32 {
        switch self {
        case .keys(let keys): keys.keys.map(\.epoch).max() ?? 0
        case .epoch(let secret): secret.epoch
        }
    }

    var run: [UInt8] {
        switch self {
        case .keys(let keys): keys.run
        case .epoch(let secret): secret.run
        }
    }
}

/// What a viewer session knows of the keys of its broadcast. Safe from any thread.
final class BroadcastKeys: Sendable {
    private struct State {
        var opener: BroadcastOpener
        /// The newest keys that were handed over, which sessions may not have taken in yet. The newest is last.
        var handed: [HandedKeys] = []
    }

    /// The broadcast's identifier as text.
    private let broadcast: String
    private let state: Mutex<State>
    /// How often keys were handed over.
    private let count = Atomic(0)
    private static let handedLimit = 16

    init(_ keys: FrameKeys, of broadcast: String) {
        self.broadcast = broadcast
        state = Mutex(State(opener: BroadcastOpener(keys)))
    }

    /// For another session at a server, with the number of the keys that it has. It never goes back to keys that the
    /// broadcast has left behind.
    var fresh: (opener: BroadcastOpener, seen: Int) {
        state.withLock { ($0.opener.withoutReplayWindows, count.load(ordering: .relaxed)) }
    }

    /// Keeps what a session has derived.
    /// - Parameter seen: the number of the keys that it has.
    func take(_ newer: BroadcastOpener, seen: Int) {
        state.withLock { state in
            state.opener = newer
            for keys in unseen(state, since: seen) { add(keys, to: &state.opener) }
        }
    }

    func add(_ keys: HandedKeys) {
        state.withLock { state in
            state.handed = state.handed.suffix(Self.handedLimit - 1) + [keys]
            add(keys, to: &state.opener)
            count.wrappingAdd(1, ordering: .releasing)
        }
    }

    /// Adds the keys that were handed over meanwhile.
    /// - Returns: whether there are any.
    func update(_ opener: inout BroadcastOpener, seen: inout Int) -> Bool {
        guard count.load(ordering: .acquiring) != seen else { return false }
        state.withLock { state in
            for keys in unseen(state, since: seen) { add(keys, to: &opener) }
            seen = count.load(ordering: .relaxed)
        }
        return true
    }

    private func unseen(_ state: State, since seen: Int) -> ArraySlice<HandedKeys> {
        state.handed.suffix(count.load(ordering: .relaxed) - seen)
    }

    private func add(_ keys: HandedKeys, to opener: inout BroadcastOpener) {
        switch keys {
        case .keys(let keys): opener.add(keys)
        case .epoch(let secret): opener.add(secret, of: broadcast)
        }
    }
}

/// Decrypts the media of one session at a relay. Nothing that is not authenticated is passed on. Confined to the
/// network loop.
struct FrameDecryption {
    enum Outcome {
        case opened([UInt8])
        /// The frame is left out.
        case dropped
        /// The frame is left out, and those that follow refer to it.
        case keyframeNeeded
    }

    private let keys: BroadcastKeys
    private var opener: BroadcastOpener
    /// The number of the keys that it has (`BroadcastKeys`).
    private var seen: Int
    private var steps: Int
    private var expiry = EpochExpiry()
    private var lastKeyRequest: MediaInstant?
    /// Frames can be decoded after a key frame alone.
    private var waitsForKeyframe = true
    private var lastRequest: MediaInstant?
    private var refusals = TokenBucket(burst: 2, rate: 0.4, now: MediaInstant(nanoseconds: 0))
    /// The user is to be told once that what comes is not the host's.
    private(set) var isTampered = false
    private var lacksKeys = false
    private var segments: [UInt8] = []

    /// Between two requests for a key frame.
    private static let requestInterval = MediaDuration.milliseconds(300)
    /// Between two reports that keys are missing.
    private static let keyRequestInterval = MediaDuration.seconds(1)

    init(_ keys: BroadcastKeys) {
        self.keys = keys
        (opener, seen) = keys.fresh
        steps = opener.stepCount
    }

    /// The frame of video that was opened last.
    var newestFrame: SealedFrameID? { opener.newestFrame }

    /// Frames of the newest keys may come once more.
    mutating func beginSession() {
        (opener, seen) = keys.fresh
        steps = opener.stepCount
        expiry.beginSession()
        waitsForKeyframe = true
    }

    /// Whether keys are to be asked for, as frames come whose keys were not handed over: once each second.
    mutating func takesKeyRequest(_ now: MediaInstant) -> Bool {
        guard lacksKeys, lastKeyRequest.map({ now - $0 >= Self.keyRequestInterval }) ?? true else { return false }
        (lacksKeys, lastKeyRequest) = (false, now)
        return true
    }

    mutating func open(video frame: EncodedFrameBytes, isKeyframe: Bool, now: MediaInstant) -> Outcome {
        update(now)
        segments.removeAll(keepingCapacity: true)
        frame.forEachSegment { segments += $0 }
        switch segments.withUnsafeBytes({ opener.open($0, .video) }) {
        case .success(let opened):
            keep()
            if isKeyframe { waitsForKeyframe = false }
            return waitsForKeyframe ? .dropped : .opened(opened)
        // Frames from before the viewer came.
        case .failure(.tooOld), .failure(.replayed): return .dropped
        case .failure(let failure):
            note(failure, now)
            waitsForKeyframe = true
            guard lastRequest.map({ now - $0 >= Self.requestInterval }) ?? true else { return .dropped }
            lastRequest = now
            return .keyframeNeeded
        }
    }

    /// - Parameter isPeek: the packet will come again.
    mutating func open(audio packet: UnsafeRawBufferPointer, isPeek: Bool, now: MediaInstant) -> [UInt8]? {
        update(now)
        switch opener.open(packet, .audio, isPeek: isPeek) {
        case .success(let opened):
            keep()
            return opened
        case .failure(let failure):
            note(failure, now)
            return nil
        }
    }

    /// Takes in new keys, and forgets those of an epoch that is over.
    private mutating func update(_ now: MediaInstant) {
        if keys.update(&opener, seen: &seen) { lacksKeys = false }
        guard let over = expiry.over(opener, now: now) else { return }
        opener.forgetEpochs(before: over)
        keys.take(opener, seen: seen)
    }

    private mutating func keep() {
        guard opener.stepCount != steps else { return }
        steps = opener.stepCount
        keys.take(opener, seen: seen)
    }

    /// Three of these in five seconds are no accident.
    private mutating func note(_ failure: BroadcastOpener.Failure, _ now: MediaInstant) {
        guard failure != .tooOld, failure != .replayed else { return }
        guard failure != .unknownKey else {
            // The host gives its keys to those whom it admits, and nobody else.
            return lacksKeys = true
        }
        refusals.refill(now)
        guard refusals.has() else { return isTampered = true }
        refusals.take()
    }
}
