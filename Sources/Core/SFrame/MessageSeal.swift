/// Encrypts what one viewer and its host say to each other over a relay. As bytes, integers in big-endian order:
///
///     counter (8) | instance (4) | ciphertext | tag (16)
///
/// The nonce is `instance | counter`. Each direction has a key of its own. A sender never uses a counter twice, and its
/// instance is random for each run of its program, so no nonce is used twice with one key.
public enum MessageSeal<Cipher: SFrameCipher> {
    public static var instanceLength: Int { 4 }
    private static var counterLength: Int { 8 }
    private static var headerLength: Int { counterLength + instanceLength }

    /// - Parameters:
    ///   - key: ``SFrameSuite/keyLength`` bytes.
    ///   - instance: ``instanceLength`` random bytes of the sender.
    public static func seal(
        _ text: [UInt8], key: [UInt8], counter: UInt64, instance: [UInt8], authenticating data: [UInt8] = []
    ) -> [UInt8] {
        precondition(instance.count == instanceLength, "an instance of \(instance.count) bytes")
        var sealed = counter.bigEndianBytes + instance
        let nonce = instance + counter.bigEndianBytes
        text.withUnsafeBytes { Cipher(key: key).seal($0, nonce: nonce, authenticating: data, to: &sealed) }
        return sealed
    }

    /// - Returns: nil if the owner of the key has not made that. The counter is to be checked.
    public static func open(
        _ sealed: [UInt8], key: [UInt8], authenticating data: [UInt8] = []
    ) -> (counter: UInt64, text: [UInt8])? {
        guard sealed.count >= headerLength + SFrameSuite.tagLength else { return nil }
        let (counter, instance) = (sealed[..<counterLength], sealed[counterLength..<headerLength])
        var text: [UInt8] = []
        let isValid = sealed[headerLength...].withUnsafeBytes {
            Cipher(key: key).open($0, nonce: Array(instance + counter), authenticating: data, to: &text)
        }
        return isValid ? (counter.reduce(0) { $0 << 8 | UInt64($1) }, text) : nil
    }
}

/// The counters of messages that a viewer has got. They come over its host and over relays, so in another order
/// perhaps.
public struct MessageWindow: Sendable {
    private var window = ReplayWindow()

    public init() {}

    /// - Returns: false if the message came before, or is older than the newest 1,024.
    public mutating func takes(_ counter: UInt64) -> Bool {
        guard window.allows(counter) else { return false }
        window.note(counter)
        return true
    }
}
