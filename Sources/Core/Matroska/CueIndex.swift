/// The cues of a file while it is written: a Cues element of fixed size in front of the clusters. The rest of it is a
/// Void element, over which each new cue is written, so that the file can be searched at every moment.
///
/// If there is no room for another cue, every second one is left out.
public struct CueIndex: Sendable {
    /// Of the whole element.
    static let byteCount = 16_384
    /// ID and size.
    static let headerBytes = 12
    static let contentBytes = byteCount - headerBytes
    /// A Void element of any length has a header of 9 bytes here.
    private static let voidHeaderBytes = 9

    private var cues: [Cue] = []
    private var used = 0
    /// Cues were left out.
    public private(set) var isThinned = false

    public init() {}

    /// Adds a cue.
    /// - Returns: the bytes to write, and where in the element's content.
    public mutating func add(_ cue: Cue) -> MatroskaPatch {
        cues.append(cue)
        let point = Cue.points([cue])
        guard used + point.count + Self.voidHeaderBytes <= Self.contentBytes else {
            isThinned = true
            return rewrite()
        }
        let offset = used
        used += point.count
        return MatroskaPatch(offset: offset, bytes: point + Self.void(Self.contentBytes - used))
    }

    private mutating func rewrite() -> MatroskaPatch {
        cues = cues.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        let points = Cue.points(cues)
        used = points.count
        return MatroskaPatch(offset: 0, bytes: points + Self.void(Self.contentBytes - used))
    }

    /// The content for all of these cues; nil if they do not fit.
    static func content(_ cues: [Cue]) -> [UInt8]? {
        guard cues.count < contentBytes else { return nil }
        let points = Cue.points(cues)
        guard points.count + voidHeaderBytes <= contentBytes else { return nil }
        return points + void(contentBytes - points.count)
    }

    /// The element without any cue.
    static var empty: [UInt8] {
        var writer = ElementWriter()
        writer.startSized(.cues, size: UInt64(contentBytes))
        writer.void(total: contentBytes)
        return writer.bytes
    }

    /// The start of a Void element with the given length in all. What follows may be any bytes.
    static func void(_ total: Int) -> [UInt8] {
        [0xEC] + ElementWriter.sizeField(UInt64(max(total - voidHeaderBytes, 0)))
    }
}

/// Bytes to be written over others.
public struct MatroskaPatch: Equatable, Sendable {
    public var offset: Int
    public var bytes: [UInt8]

    public init(offset: Int, bytes: [UInt8]) {
        self.offset = offset
        self.bytes = bytes
    }
}
