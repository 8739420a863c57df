/// The RTP header extensions that this project negotiates, writes and reads. RFC 8285.
///
/// A new one is a case here, and a value in `HeaderExtensionValues.swift`. The order of the cases is the order in a
/// packet and in a description.
public enum HeaderExtension: UInt8, CaseIterable, Hashable, Sendable {
    /// Transport-wide sequence number, draft-holmer-rmcat-transport-wide-cc-extensions-01 section 2.
    case transportSequence
    /// libwebrtc's `playout-delay`.
    case playoutDelay
    /// libwebrtc's `abs-send-time`.
    case absSendTime
    /// The media section that a packet belongs to: RFC 9143 section 15.
    case mid
    /// Between peers of our own: ``FrameReferencesElement``.
    case frameReferences

    /// As it stands in an `extmap` line; RFC 8285 section 5.
    public var uri: String {
        switch self {
        case .transportSequence: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        case .playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        case .absSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
        case .frameReferences: "urn:share:rtp-hdrext:frame-references"
        }
    }

    /// Bytes that its data may have. An element of another length says nothing.
    public var lengths: ClosedRange<Int> {
        switch self {
        case .transportSequence: 2...2
        case .playoutDelay, .absSendTime: 3...3
        case .mid: 1...255
        case .frameReferences: FrameReferencesElement.length...FrameReferencesElement.length
        }
    }

    /// It means something in a section of audio as well as in one of video.
    public var isForAudio: Bool {
        switch self {
        case .transportSequence, .absSendTime, .mid: true
        case .playoutDelay, .frameReferences: false
        }
    }

    /// Nil if no extension has this URI.
    public init?(uri: some StringProtocol) {
        guard let known = Self.allCases.first(where: { $0.uri.utf8.elementsEqual(uri.utf8) }) else { return nil }
        self = known
    }

    /// Each in its order, without the array that `allCases` may make.
    @inline(__always)
    static func forEach<E: Error>(_ body: (HeaderExtension) throws(E) -> Void) throws(E) {
        var raw: UInt8 = 0
        while let next = HeaderExtension(rawValue: raw) {
            try body(next)
            raw &+= 1
        }
    }
}
