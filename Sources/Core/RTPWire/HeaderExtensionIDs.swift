/// Which id stands for which header extension in one session, as the SDP agreed (`a=extmap`); nil: not agreed.
public struct HeaderExtensionIDs: Hashable, Sendable {
    /// `http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01`
    public var transportSequence: UInt8?
    /// `http://www.webrtc.org/experiments/rtp-hdrext/playout-delay`
    public var playoutDelay: UInt8?
    /// `http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time`
    public var absSendTime: UInt8?
    /// `urn:ietf:params:rtp-hdrext:sdes:mid`, RFC 9143
    public var mid: UInt8?
    /// `urn:share:rtp-hdrext:frame-references`, `FrameReferencesElement`
    public var references: UInt8?

    public init(
        transportSequence: UInt8? = nil, playoutDelay: UInt8? = nil, absSendTime: UInt8? = nil, mid: UInt8? = nil,
        references: UInt8? = nil
    ) {
        self.transportSequence = transportSequence
        self.playoutDelay = playoutDelay
        self.absSendTime = absSendTime
        self.mid = mid
        self.references = references
    }
}

/// What the header extensions of one received packet say; nil where it says nothing, or nothing of the right length.
public struct ReceivedExtensions {
    public var transportSequence: SequenceNumber?
    public var playoutDelay: PlayoutDelay?
    public var absSendTime: AbsoluteSendTime?
    /// UTF-8, in the packet.
    public var mid: UnsafeRawBufferPointer?
    public var references: FrameReferencesElement?

    public func isMid(_ text: String) -> Bool {
        guard let mid else { return false }
        return mid.elementsEqual(text.utf8)
    }
}

extension RTPPacketView {
    /// All agreed extensions in one pass; of two elements with one id the first counts.
    public func values(of ids: HeaderExtensionIDs) -> ReceivedExtensions {
        var values = ReceivedExtensions()
        for element in extensions {
            var reader = ByteReader(element.data)
            switch element.id {
            case ids.transportSequence where values.transportSequence == nil && element.data.count == 2:
                values.transportSequence = (try? reader.uint16()).map { SequenceNumber($0) }
            case ids.playoutDelay where values.playoutDelay == nil && element.data.count == 3:
                values.playoutDelay = (try? reader.uint24()).map { PlayoutDelay(bits: $0) }
            case ids.absSendTime where values.absSendTime == nil && element.data.count == 3:
                values.absSendTime = (try? reader.uint24()).map { AbsoluteSendTime(rawValue: $0) }
            case ids.mid where values.mid == nil && !element.data.isEmpty:
                values.mid = element.data
            case ids.references where values.references == nil && element.data.count == FrameReferencesElement.length:
                values.references = (try? reader.uint24()).flatMap { FrameReferencesElement(bits: $0) }
            default: break
            }
        }
        return values
    }
}
