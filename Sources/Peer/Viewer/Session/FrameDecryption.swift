import FrameEncryption
import LinuxRuntime
import MediaCore
import MediaEngine
import SFrame
import Synchronization

/// What a viewer session knows of the keys of its broadcast. Safe from any thread.
final class BroadcastKeys: Sendable {
    private let opener: Mutex<BroadcastOpener>

    init(_ keys: FrameKeys) { opener = Mutex(BroadcastOpener(keys)) }

    /// For another session at a server. It never goes back to keys that the broadcast has left behind.
    var fresh: BroadcastOpener { opener.withLock { $0.withoutReplayWindows } }

    func take(_ newer: BroadcastOpener) { opener.withLock { $0 = newer } }

    /// Keys that came with a later admission.
    func add(_ keys: FrameKeys) { opener.withLock { $0.add(keys) } }
}

/// Decrypts the media of one session at a relay. Nothing that is not authenticated is passed on. Confined to the network
/// loop.
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
    private var steps: Int
    /// Frames can be decoded after a key frame alone.
    private var waitsForKeyframe = true
    private var lastRequest: MediaInstant?
    private var refusals = TokenBucket(burst: 2, rate: 0.4, now: MediaInstant(nanoseconds: 0))
    /// The user is to be told once that what comes is not the host's.
    private(set) var isTampered = false
    private var segments: [UInt8] = []

    /// Between two requests for a key frame.
    private static let requestInterval = MediaDuration.milliseconds(300)

    init(_ keys: BroadcastKeys) {
        self.keys = keys
        opener = keys.fresh
        steps = opener.stepCount
    }

    /// Frames of the newest keys may come once more.
    mutating func beginSession() {
        opener = keys.fresh
        steps = opener.stepCount
        waitsForKeyframe = true
    }

    mutating func open(video frame: EncodedFrameBytes, isKeyframe: Bool, now: MediaInstant) -> Outcome {
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
        switch opener.open(packet, .audio, isPeek: isPeek) {
        case .success(let opened):
            keep()
            return opened
        case .failure(let failure):
            note(failure, now)
            return nil
        }
    }

    private mutating func keep() {
        guard opener.stepCount != steps else { return }
        steps = opener.stepCount
        keys.take(opener)
    }

    /// Three of these in five seconds are no accident.
    private mutating func note(_ failure: BroadcastOpener.Failure, _ now: MediaInstant) {
        guard failure != .tooOld, failure != .replayed else { return }
        refusals.refill(now)
        guard refusals.has() else { return isTampered = true }
        refusals.take()
    }
}
