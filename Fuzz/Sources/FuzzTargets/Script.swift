import MediaCore

/// Reads the input as a script of steps and pauses. After its end all values are 0.
struct Script {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var isOver: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }
    mutating func word() -> UInt16 { UInt16(byte()) << 8 | UInt16(byte()) }

    /// Returns at most so many bytes.
    mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer {
        let part = rest.prefix(count)
        rest = rest.dropFirst(count)
        return UnsafeRawBufferPointer(rebasing: part)
    }

    /// Returns a pause from zero to some hours, most often some milliseconds.
    mutating func pause() -> MediaDuration {
        let byte = byte()
        let mantissa = Int(byte & 7) + 1
        switch byte >> 3 {
        case 0: return .zero
        case 1...4: return .microseconds(mantissa * 10)
        case 5...20: return .milliseconds(mantissa)
        case 21...26: return .milliseconds(mantissa * 20)
        case 27...29: return .milliseconds(mantissa * 500)
        case 30: return .seconds(mantissa * 10)
        default: return .seconds(mantissa * 1_800)
        }
    }
}

let scriptStart = MediaInstant(nanoseconds: 1_000_000_000_000)
/// The limit of polls in one round: far more than the number of packets that may wait.
let mostPolls = 20_000
