public import Identifiers

package func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}

extension RandomName {
    public static func random() -> RandomName { RandomName(bytes: randomBytes(16)) }
}

extension BroadcastID {
    public static func random() -> BroadcastID { BroadcastID(UInt64.random(in: .min ... .max)) }
}

extension Link {
    /// 16 bytes.
    public static func randomSecret() -> [UInt8] { randomBytes(secretLength) }
}
