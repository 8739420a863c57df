public import MediaCore

/// Encrypts the frames of a broadcast, each once, whatever the number of viewers. A sealed frame is its clear prefix,
/// the SFrame header, the ciphertext and the tag (RFC 9605 section 4.4.3); the prefix is authenticated as metadata.
///
/// Each track has a ratchet. That of video advances at each key frame, that of audio after two seconds, so who gets
/// the keys in force opens nothing older. A new epoch has keys that do not follow from the former ones, so who does not
/// get them opens nothing newer. Counters begin with 0 for each key, so a (key, counter) is never used twice.
/// A value without a clock; its owner calls it from one thread.
public struct FrameSealer<Cipher: SFrameCipher>: Sendable {
    private struct Track: Sendable {
        /// With the epoch, the track and the step of the ratchet.
        var present: FrameKeys.Key
        var key: SFrameKey<Cipher>
        var counter: UInt64 = 0
        /// The keys before this one, the newest last, and until when newcomers get them, too; nil: until the next key
        /// frame, as frames since the last one have them.
        var former: [(key: FrameKeys.Key, until: MediaInstant?)] = []
        var advanced: MediaInstant?

        init(_ present: FrameKeys.Key) {
            self.present = present
            key = Self.key(of: present)
        }

        private static func key(of key: FrameKeys.Key) -> SFrameKey<Cipher> {
            let id = FrameKeyID(epoch: key.epoch, track: key.track, step: key.step)
            return SFrameKey(baseKey: key.baseKey, keyID: id.value)
        }

        /// Goes on with a key of the same epoch or a later one.
        mutating func replace(with next: FrameKeys.Key, formerUntil end: MediaInstant?) {
            former = former.suffix(FrameSealer.formerKeys - 1) + [(present, end)]
            (present, key, counter) = (next, Self.key(of: next), 0)
        }
    }

    /// 16 random bytes of this run of the host.
    public let run: [UInt8]
    private let broadcast: String
    private var tracks: [Track]
    /// Of the epoch that is about to begin.
    private var prepared: [FrameKeys.Key] = []
    private var lastEpoch: UInt32

    /// For how long newcomers get the key before the newest one, too: frames of it may still be on the way.
    private static var formerKeyTime: MediaDuration { .seconds(1) }
    private static var formerKeys: Int { 3 }
    private static var audioStep: MediaDuration { .seconds(2) }

    /// - Parameters:
    ///   - secret: of the epoch, 32 random bytes.
    ///   - broadcast: its identifier as text.
    public init(secret: [UInt8], broadcast: String, run: [UInt8], epoch: UInt32 = 0) {
        (self.run, self.broadcast, lastEpoch) = (run, broadcast, epoch)
        tracks = EpochSecret(run: run, epoch: epoch, secret: secret).keys(of: broadcast, Cipher.self).map { Track($0) }
    }

    /// Encrypts a frame of video.
    /// - Returns: nil if the frame is shorter than what stays in clear, which no frame of VP8 is.
    public mutating func seal(
        video frame: UnsafeRawBufferPointer, _ track: SealedTrack, isKeyframe: Bool, now: MediaInstant
    ) -> [UInt8]? {
        if isKeyframe { advance(track, now: now) }
        return seal(frame, track)
    }

    /// The frame of a track that was encrypted last; nil: none with the present key.
    public func newestFrame(of track: SealedTrack) -> SealedFrameID? {
        let track = tracks[Int(track.rawValue)]
        guard track.counter > 0 else { return nil }
        return SealedFrameID(keyID: UInt16(track.key.keyID), counter: track.counter - 1)
    }

    /// Encrypts a packet of Opus.
    /// - Returns: nil if it is empty.
    public mutating func seal(
        audio packet: UnsafeRawBufferPointer, _ track: SealedTrack, now: MediaInstant
    ) -> [UInt8]? {
        let last = tracks[Int(track.rawValue)].advanced
        if last.map({ now - $0 >= Self.audioStep }) ?? true { advance(track, now: now) }
        return seal(packet, track)
    }

    /// Encrypts an event for all viewers. Its key advances as that of audio.
    public mutating func seal(message: UnsafeRawBufferPointer, now: MediaInstant) -> [UInt8]? {
        seal(audio: message, .messages, now: now)
    }

    /// What a newcomer gets.
    public func keys(now: MediaInstant) -> FrameKeys {
        let keys = tracks.flatMap { track in
            track.former.filter { $0.until.map { now < $0 } ?? true }.map(\.key) + [track.present]
        }
        return FrameKeys(run: run, keys: keys + prepared)
    }

    /// Chooses the secret of the next epoch, which members get before `beginEpoch`. One that was prepared before and
    /// has not begun never does.
    /// - Parameter secret: 32 random bytes.
    public mutating func prepareEpoch(secret: [UInt8]) -> EpochSecret {
        lastEpoch += 1
        let next = EpochSecret(run: run, epoch: lastEpoch, secret: secret)
        prepared = next.keys(of: broadcast, Cipher.self)
        return next
    }

    /// Seals with the keys of the epoch that was prepared from now on; does nothing if there is none.
    public mutating func beginEpoch(now: MediaInstant) {
        for key in prepared {
            let isVideo = key.track.kind == .video
            tracks[Int(key.track.rawValue)].replace(with: key, formerUntil: isVideo ? nil : now + Self.audioStep)
        }
        prepared = []
    }

    private mutating func advance(_ track: SealedTrack, now: MediaInstant) {
        let index = Int(track.rawValue)
        var next = tracks[index].present
        var ratchet = SFrameRatchet<Cipher>(step: next.step, baseKey: next.baseKey)
        ratchet.advance()
        (next.step, next.baseKey) = (ratchet.step, ratchet.baseKey)
        // Newcomers need nothing from before this key frame.
        tracks[index].former = []
        tracks[index].replace(with: next, formerUntil: now + Self.formerKeyTime)
        tracks[index].advanced = now
    }

    private mutating func seal(_ frame: UnsafeRawBufferPointer, _ track: SealedTrack) -> [UInt8]? {
        guard let prefix = ClearPrefix.length(of: frame, track.kind) else { return nil }
        let index = Int(track.rawValue)
        let clear = UnsafeRawBufferPointer(rebasing: frame[..<prefix])
        var sealed: [UInt8] = []
        sealed.reserveCapacity(frame.count + SFrameHeader.largest + SFrameSuite.tagLength)
        sealed += clear
        tracks[index].key.seal(
            UnsafeRawBufferPointer(rebasing: frame[prefix...]), counter: tracks[index].counter, metadata: clear,
            to: &sealed)
        tracks[index].counter += 1
        return sealed
    }
}
