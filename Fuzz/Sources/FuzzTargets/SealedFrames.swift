import MediaCore
import SFrame

/// Takes a tag of 16 times 0xAA for right, so that the fuzzer gets past it.
private struct ToyCipher: SFrameCipher {
    init(key: [UInt8]) {}

    static func extract(salt: [UInt8], _ secret: [UInt8]) -> [UInt8] { [UInt8](repeating: 1, count: 32) }
    static func expand(_ key: [UInt8], info: [UInt8], count: Int) -> [UInt8] { [UInt8](repeating: 2, count: count) }

    func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) {
        output += plaintext
        output += [UInt8](repeating: 0xAA, count: SFrameSuite.tagLength)
    }

    func open(
        _ sealed: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8], to output: inout [UInt8]
    ) -> Bool {
        guard sealed.suffix(SFrameSuite.tagLength).allSatisfy({ $0 == 0xAA }) else { return false }
        output += sealed.dropLast(SFrameSuite.tagLength)
        return true
    }
}

/// Frames that a relay has made up, each behind its length in one byte.
func fuzzSealedFrame(_ bytes: UnsafeRawBufferPointer) {
    let sealer = FrameSealer<ToyCipher>(
        secret: [UInt8](repeating: 0, count: 32), broadcast: "0000000000000",
        run: [UInt8](repeating: 0, count: FrameKeys.runLength))
    var opener = FrameOpener<ToyCipher>(sealer.keys(now: .init(nanoseconds: 0)))
    var rest = bytes[...]
    while let length = rest.first {
        let frame = UnsafeRawBufferPointer(rebasing: rest.dropFirst().prefix(Int(length)))
        rest = rest.dropFirst(1 + Int(length))
        if let (_, text) = MessageSeal<ToyCipher>.open(Array(frame), key: []) {
            require(text.count + 12 + SFrameSuite.tagLength == frame.count, "the length of an opened message")
        }
        for kind in [SealedTrack.Kind.video, .audio, .messages] {
            guard case .success(let opened) = opener.open(frame, kind) else { continue }
            require(opened.count + SFrameSuite.tagLength < frame.count, "the length of an opened frame")
            guard case .failure(.replayed) = opener.open(frame, kind) else { fatalError("a frame was opened twice") }
        }
    }
}

func fuzzFrameKeys(_ bytes: UnsafeRawBufferPointer) {
    if let secret = EpochSecret(Array(bytes)) {
        require(secret.bytes.elementsEqual(bytes), "a secret that was written")
        let sealer = FrameSealer<ToyCipher>(
            secret: [UInt8](repeating: 0, count: 32), broadcast: "0", run: secret.run)
        var opener = FrameOpener<ToyCipher>(sealer.keys(now: MediaInstant(nanoseconds: 0)))
        opener.add(secret, of: "0")
        opener.forgetEpochs(before: secret.epoch)
    }
    guard let keys = FrameKeys(Array(bytes)) else { return }
    require(keys.bytes.elementsEqual(bytes), "keys that were written")
    var opener = FrameOpener<ToyCipher>(keys)
    opener.add(keys)
    _ = [UInt8](repeating: 0, count: 64).withUnsafeBytes { opener.open($0, .video) }
}
