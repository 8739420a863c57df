import MediaCore

/// The RTP header extensions that this project negotiates, writes and reads. RFC 8285.
///
/// A new extension needs a case here and a value in `HeaderExtensionValues.swift`. Packets and descriptions have the
/// extensions in the order of the cases.
public enum HeaderExtension: UInt8, CaseIterable, Hashable, Sendable {
    /// Transport-wide sequence number, draft-holmer-rmcat-transport-wide-cc-extensions-01 section 2.
    case transportSequence
    /// libwebrtc's `playout-delay`.
    case playoutDelay
    /// libwebrtc's `abs-send-time`.
    case absSendTime
    /// The media section that a packet belongs to: RFC 9143 section 15.
    case mid
    /// ``LongTermReferencesElement``, between native peers.
    case frameReferences
    /// libwebrtc's `color-space`, on the last packet of a key frame, or of a frame with other colours.
    case colorSpace

    /// The URI in an `extmap` line; RFC 8285 section 5.
    public var uri: String {
        switch self {
        case .transportSequence: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        case .playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        case .absSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
        case .frameReferences: "urn:share:rtp-hdrext:frame-references"
        case .colorSpace: "http://www.webrtc.org/experiments/rtp-hdrext/color-space"
        }
    }

    /// The lengths of the data in bytes.
    public var lengths: ClosedRange<Int> {
        switch self {
        case .transportSequence: 2...2
        case .playoutDelay, .absSendTime: 3...3
        case .mid: 1...255
        case .frameReferences: LongTermReferencesElement.length...LongTermReferencesElement.length
        case .colorSpace: ColorSpace.length...ColorSpace.lengthWithHDRMetadata
        }
    }

    /// Whether an element of so many bytes is valid. One of another length is ignored.
    func isValid(length: Int) -> Bool {
        self == .colorSpace ? length == lengths.lowerBound || length == lengths.upperBound : lengths.contains(length)
    }

    /// The length of the longest element that is written; that of the MID depends on its value.
    var longestWritten: Int { self == .colorSpace ? lengths.lowerBound : lengths.upperBound }

    /// Whether the extension applies to sections of audio as well as of video.
    public var isForAudio: Bool {
        switch self {
        case .transportSequence, .absSendTime, .mid: true
        case .playoutDelay, .frameReferences, .colorSpace: false
        }
    }

    /// Nil if no extension has this URI.
    public init?(uri: some StringProtocol) {
        guard let known = Self.allCases.first(where: { $0.uri.utf8.elementsEqual(uri.utf8) }) else { return nil }
        self = known
    }

    /// Calls a body with each extension in order, without the array that `allCases` may allocate.
    @inline(__always)
    static func forEach<E: Error>(_ body: (HeaderExtension) throws(E) -> Void) throws(E) {
        var raw: UInt8 = 0
        while let next = HeaderExtension(rawValue: raw) {
            try body(next)
            raw &+= 1
        }
    }
}
