import MediaCore
import Testing

/// The values next to which 16-bit arithmetic overflows or changes sign.
let wrapPoints: [UInt16] = [0, 1, 127, 32_767, 32_768, 65_534, 65_535]

extension MediaInstant {
    /// The instant so many milliseconds after a fixed epoch.
    static func at(_ milliseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }
}

func withBytes<R>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
}

/// As `#expect`, for claims that call mutating functions, which the macro cannot take.
func expect(
    _ claim: Bool, _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation
) {
    #expect(claim, comment, sourceLocation: location)
}

/// As `#require`, for the same reason.
func require<T>(_ value: T?, at location: SourceLocation = #_sourceLocation) throws -> T {
    try #require(value, sourceLocation: location)
}
