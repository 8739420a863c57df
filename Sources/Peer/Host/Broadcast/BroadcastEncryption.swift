import FrameEncryption
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import SFrame
import Synchronization

/// Encrypts what a host publishes to relays, and knows the keys that its viewers get. Safe from any thread.
package final class BroadcastEncryption: Sendable {
    private let sealer: Mutex<BroadcastSealer>
    private let shown = Mutex(ShownSealedFrames())

    /// - Parameters:
    ///   - secret: 32 random bytes.
    ///   - broadcast: its identifier as text.
    ///   - run: 16 random bytes of this run of the host.
    package init(secret: [UInt8], broadcast: String, run: [UInt8]) {
        sealer = Mutex(BroadcastSealer(secret: secret, broadcast: broadcast, run: run))
    }

    /// What a viewer needs from now on (`FrameKeys`).
    package var keys: [UInt8] { sealer.withLock { $0.keys(now: MonotonicClock.now).bytes } }

    /// Chooses the secret of the next epoch.
    /// - Returns: what members need before it begins (`EpochSecret`).
    func prepareEpoch() -> [UInt8] { sealer.withLock { $0.prepareEpoch(secret: randomBytes(32)).bytes } }

    /// Encrypts with the keys of the epoch that was prepared from now on.
    func beginEpoch() { sealer.withLock { $0.beginEpoch(now: MonotonicClock.now) } }

    /// - Returns: nil if the frame is none of VP8.
    func seal(
        video frame: UnsafeRawBufferPointer, of encoding: EncodingID, isKeyframe: Bool, now: MediaInstant
    ) -> [UInt8]? {
        let track: SealedTrack = encoding == .main ? .video0 : .video1
        let (sealed, id) = sealer.withLock { sealer in
            (sealer.seal(video: frame, track, isKeyframe: isKeyframe, now: now), sealer.newestFrame(of: track))
        }
        if sealed != nil, let id { shown.withLock { $0.note(id, now: now) } }
        return sealed
    }

    /// Whether a frame has been replaced for over a second by the next one.
    func isOutdated(_ frame: SealedFrameID, now: MediaInstant) -> Bool {
        shown.withLock { $0.isOutdated(frame, now: now) }
    }

    /// - Returns: nil if the packet is empty.
    func seal(audio packet: UnsafeRawBufferPointer, of kind: MediaTrackKind, now: MediaInstant) -> [UInt8]? {
        sealer.withLock { $0.seal(audio: packet, kind == .microphoneAudio ? .microphone : .systemAudio, now: now) }
    }

    /// - Returns: nil if there is nothing in it.
    func seal(message text: String, now: MediaInstant) -> [UInt8]? {
        Array(text.utf8).withUnsafeBytes { bytes in sealer.withLock { $0.seal(message: bytes, now: now) } }
    }
}
