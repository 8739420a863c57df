public import MediaCore

/// Encrypts the frames of a broadcast, each once, whatever the number of viewers. A sealed frame is its clear prefix,
/// the SFrame header, the ciphertext and the tag (RFC 9605 section 4.4.3); the prefix is authenticated as metadata.
///
/// Each track has a ratchet. That of video advances at each key frame, that of audio after two seconds, so who gets
/// the keys in force opens nothing older. Counters begin with 0 for each key, so a (key, counter) is never used twice.
/// A value without a clock; its owner calls it from one thread.
public struct FrameSealer<Cipher: SFrameCipher>: Sendable {
    private struct Track: Sendable {
        var ratchet: SFrameRatchet<Cipher>
        var key: SFrameKey<Cipher>
        var counter: UInt64 = 0
        /// The key before this one, and until when newcomers get it, too.
        var former: (key: FrameKeys.Key, until: MediaInstant)?
        var advanced: MediaInstant?
    }

    /// 16 random bytes of this run of the host.
    public let run: [UInt8]
    public let epoch: UInt32
    private var tracks: [Track]

    /// For how long newcomers get the key before the newest one, too: frames of it may still be on the way.
    private static var formerKeyTime: MediaDuration { .seconds(1) }
    private static var audioStep: MediaDuration { .seconds(2) }

    /// - Parameters:
    ///   - secret: of the epoch, 32 random bytes.
    ///   - broadcast: its identifier as text.
    public init(secret: [UInt8], broadcast: String, run: [UInt8], epoch: UInt32 = 0) {
        precondition(secret.count == 32 && run.count == FrameKeys.runLength, "a secret of \(secret.count) bytes")
        (self.run, self.epoch) = (run, epoch)
        let extracted = Cipher.extract(salt: [], secret)
        tracks = SealedTrack.allCases.map { track in
            let info =
                Array("share v1 sframe".utf8) + Array(broadcast.utf8) + run + epoch.bigEndianBytes + [track.rawValue]
            let ratchet = SFrameRatchet<Cipher>(
                step: 0, baseKey: Cipher.expand(extracted, info: info, count: SFrameSuite.hashLength))
            return Track(ratchet: ratchet, key: Self.key(of: ratchet, track, epoch))
        }
    }

    /// Encrypts a frame of video.
    /// - Returns: nil if the frame is shorter than what stays in clear, which no frame of VP8 is.
    public mutating func seal(
        video frame: UnsafeRawBufferPointer, _ track: SealedTrack, isKeyframe: Bool, now: MediaInstant
    ) -> [UInt8]? {
        if isKeyframe { advance(track, now: now) }
        return seal(frame, track)
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

    /// What a newcomer gets.
    public func keys(now: MediaInstant) -> FrameKeys {
        var keys: [FrameKeys.Key] = []
        for (track, state) in zip(SealedTrack.allCases, tracks) {
            if let former = state.former, now < former.until { keys.append(former.key) }
            keys.append(.init(track: track, step: state.ratchet.step, baseKey: state.ratchet.baseKey))
        }
        return FrameKeys(run: run, epoch: epoch, keys: keys)
    }

    private mutating func advance(_ track: SealedTrack, now: MediaInstant) {
        let index = Int(track.rawValue)
        let ratchet = tracks[index].ratchet
        tracks[index].former = (
            .init(track: track, step: ratchet.step, baseKey: ratchet.baseKey), now + Self.formerKeyTime
        )
        tracks[index].ratchet.advance()
        tracks[index].key = Self.key(of: tracks[index].ratchet, track, epoch)
        tracks[index].counter = 0
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

    private static func key(of ratchet: SFrameRatchet<Cipher>, _ track: SealedTrack, _ epoch: UInt32) -> SFrameKey<
        Cipher
    > {
        SFrameKey(
            baseKey: ratchet.baseKey, keyID: FrameKeyID(epoch: epoch, track: track, step: ratchet.step).value)
    }
}
