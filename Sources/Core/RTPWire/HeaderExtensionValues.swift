/// What the header extensions of a packet that we write say; nil where they say nothing.
public struct HeaderExtensionValues: Hashable, Sendable {
    public var transportSequence: SequenceNumber?
    public var playoutDelay: PlayoutDelay?
    public var absSendTime: AbsoluteSendTime?
    /// 1...255 bytes of UTF-8; up to 15 cost no reference count.
    public var mid: String?
    public var frameReferences: FrameReferencesElement?

    public init(
        transportSequence: SequenceNumber? = nil, playoutDelay: PlayoutDelay? = nil,
        absSendTime: AbsoluteSendTime? = nil, mid: String? = nil, frameReferences: FrameReferencesElement? = nil
    ) {
        self.transportSequence = transportSequence
        self.playoutDelay = playoutDelay
        self.absSendTime = absSendTime
        self.mid = mid
        self.frameReferences = frameReferences
    }

    /// Bytes of data; nil if there is no value, or none that can be written.
    func length(of kind: HeaderExtension) -> Int? {
        let length: Int? =
            switch kind {
            case .transportSequence: transportSequence.map { _ in 2 }
            case .playoutDelay: playoutDelay.map { _ in 3 }
            case .absSendTime: absSendTime.map { _ in 3 }
            case .mid: mid?.utf8.count
            case .frameReferences: frameReferences.map { _ in FrameReferencesElement.length }
            }
        return length.flatMap { kind.lengths.contains($0) ? $0 : nil }
    }

    /// Writes the data alone.
    func write(_ kind: HeaderExtension, into writer: inout ByteWriter) throws(BufferFull) {
        switch kind {
        case .transportSequence: if let transportSequence { try writer.write(uint16: transportSequence.rawValue) }
        case .playoutDelay: if let playoutDelay { try writer.write(uint24: playoutDelay.bits) }
        case .absSendTime: if let absSendTime { try writer.write(uint24: absSendTime.rawValue) }
        case .mid: if let mid { try writer.write(mid) }
        case .frameReferences: if let frameReferences { try writer.write(uint24: frameReferences.bits) }
        }
    }
}

/// What the header extensions of one received packet say; nil where it says nothing, or nothing of the right length.
public struct HeaderExtensionValuesView {
    public private(set) var transportSequence: SequenceNumber?
    public private(set) var playoutDelay: PlayoutDelay?
    public private(set) var absSendTime: AbsoluteSendTime?
    /// UTF-8, in the packet.
    public private(set) var mid: UnsafeRawBufferPointer?
    public private(set) var frameReferences: FrameReferencesElement?

    public func isMid(_ text: String) -> Bool {
        guard let mid else { return false }
        return mid.elementsEqual(text.utf8)
    }

    /// Of two elements with one id the first that is well-formed counts.
    mutating func take(_ kind: HeaderExtension, _ data: UnsafeRawBufferPointer) {
        guard kind.lengths.contains(data.count) else { return }
        var reader = ByteReader(data)
        switch kind {
        case .transportSequence where transportSequence == nil:
            transportSequence = (try? reader.uint16()).map { SequenceNumber($0) }
        case .playoutDelay where playoutDelay == nil:
            playoutDelay = (try? reader.uint24()).map { PlayoutDelay(bits: $0) }
        case .absSendTime where absSendTime == nil:
            absSendTime = (try? reader.uint24()).map { AbsoluteSendTime(rawValue: $0) }
        case .mid where mid == nil: mid = data
        case .frameReferences where frameReferences == nil:
            frameReferences = (try? reader.uint24()).flatMap { FrameReferencesElement(bits: $0) }
        default: break
        }
    }
}

extension RTPPacketView {
    /// All agreed extensions in one pass.
    public func values(of map: HeaderExtensionMap) -> HeaderExtensionValuesView {
        var values = HeaderExtensionValuesView()
        for element in extensions {
            if let kind = map.kind(of: element.id) { values.take(kind, element.data) }
        }
        return values
    }
}
