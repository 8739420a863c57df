/// A frame of video that is encrypted for viewers at relays (SFrame, RFC 9605). A host never uses one twice.
public struct SealedFrameID: Sendable, Hashable {
    public let keyID: UInt16
    public let counter: UInt64

    public init(keyID: UInt16, counter: UInt64) { (self.keyID, self.counter) = (keyID, counter) }
}

/// As JSON: `[KEY_ID, COUNTER]`.
extension SealedFrameID: Codable {
    public init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        keyID = try values.decode(UInt16.self)
        counter = try values.decode(UInt64.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.unkeyedContainer()
        try values.encode(keyID)
        try values.encode(counter)
    }
}
