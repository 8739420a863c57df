public import MediaCore

/// The values of header extensions to write in a packet; nil for those to leave out.
public struct HeaderExtensionValues: Hashable, Sendable {
    public var transportSequence: SequenceNumber?
    public var playoutDelay: PlayoutDelay?
    public var absSendTime: AbsoluteSendTime?
    /// 1...255 bytes of UTF-8; up to 15 need no reference counting.
    public var mid: String?
    public var frameReferences: LongTermReferencesElement?
    public var colorSpace: ColorSpace?

    public init(
        transportSequence: SequenceNumber? = nil, playoutDelay: PlayoutDelay? = nil,
        absSendTime: AbsoluteSendTime? = nil, mid: String? = nil, frameReferences: LongTermReferencesElement? = nil,
        colorSpace: ColorSpace? = nil
    ) {
        self.transportSequence = transportSequence
        self.playoutDelay = playoutDelay
        self.absSendTime = absSendTime
        self.mid = mid
        self.frameReferences = frameReferences
        self.colorSpace = colorSpace
    }

    /// Returns the length of the data in bytes; nil if there is no value, or none that can be written.
    func length(of kind: HeaderExtension) -> Int? {
        let length: Int? =
            switch kind {
            case .transportSequence: transportSequence.map { _ in 2 }
            case .playoutDelay: playoutDelay.map { _ in 3 }
            case .absSendTime: absSendTime.map { _ in 3 }
            case .mid: mid?.utf8.count
            case .frameReferences: frameReferences.map { _ in LongTermReferencesElement.length }
            case .colorSpace: colorSpace.map { _ in ColorSpace.length }
            }
        return length.flatMap { kind.isValid(length: $0) ? $0 : nil }
    }

    /// Writes the data without id and length.
    func write(_ kind: HeaderExtension, into writer: inout ByteWriter) throws(BufferFull) {
        switch kind {
        case .transportSequence: if let transportSequence { try writer.write(uint16: transportSequence.rawValue) }
        case .playoutDelay: if let playoutDelay { try writer.write(uint24: playoutDelay.bits) }
        case .absSendTime: if let absSendTime { try writer.write(uint24: absSendTime.rawValue) }
        case .mid: if let mid { try writer.write(mid) }
        case .frameReferences: if let frameReferences { try writer.write(uint24: frameReferences.bits) }
        case .colorSpace: if let colorSpace { try writer.write(uint32: colorSpace.bits) }
        }
    }
}

/// The values of header extensions in a received packet; nil where one is missing or has a wrong length.
public struct HeaderExtensionValuesView {
    public private(set) var transportSequence: SequenceNumber?
    public private(set) var playoutDelay: PlayoutDelay?
    public private(set) var absSendTime: AbsoluteSendTime?
    /// UTF-8, within the packet.
    public private(set) var mid: UnsafeRawBufferPointer?
    public private(set) var frameReferences: LongTermReferencesElement?
    public private(set) var colorSpace: ColorSpace?

    public func isMid(_ text: String) -> Bool {
        guard let mid else { return false }
        return mid.elementsEqual(text.utf8)
    }

    /// Of several elements with one id, the first well-formed one counts.
    mutating func take(_ kind: HeaderExtension, _ data: UnsafeRawBufferPointer) {
        guard kind.isValid(length: data.count) else { return }
        var reader = ByteReader(data)
        switch kind {
        case .transportSequence:
            if transportSequence == nil { transportSequence = (try? reader.uint16()).map { SequenceNumber($0) } }
        case .playoutDelay:
            if playoutDelay == nil { playoutDelay = (try? reader.uint24()).map { PlayoutDelay(bits: $0) } }
        case .absSendTime:
            if absSendTime == nil { absSendTime = (try? reader.uint24()).map { AbsoluteSendTime(rawValue: $0) } }
        case .mid: if mid == nil { mid = data }
        case .frameReferences:
            if frameReferences == nil {
                frameReferences = (try? reader.uint24()).flatMap { LongTermReferencesElement(bits: $0) }
            }
        case .colorSpace: if colorSpace == nil { colorSpace = (try? reader.uint32()).map { ColorSpace(bits: $0) } }
        }
    }
}

extension RTPPacketView {
    /// Returns the values of all negotiated extensions, read in one pass.
    public func values(of map: HeaderExtensionMap) -> HeaderExtensionValuesView {
        var values = HeaderExtensionValuesView()
        for element in extensions {
            if let kind = map.kind(of: element.id) { values.take(kind, element.data) }
        }
        return values
    }
}
