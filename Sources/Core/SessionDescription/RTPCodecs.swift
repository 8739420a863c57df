import MediaCore

/// The RTCP feedback that a section's author supports. RFC 4585, RFC 5104.
public struct RTCPFeedback: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let nack = RTCPFeedback(rawValue: 1)
    public static let pictureLoss = RTCPFeedback(rawValue: 2)
    public static let fullIntraRequest = RTCPFeedback(rawValue: 4)
    public static let transportWide = RTCPFeedback(rawValue: 8)
    /// `goog-remb`: the receiver's limit of the bitrate. Offered by who sends only; requested from a peer without
    /// transport-wide feedback, and by a relay.
    public static let remb = RTCPFeedback(rawValue: 16)
    /// Acknowledges frames, from which the sender can recover: RFC 4585 section 6.3.3. Has no effect without the header
    /// extension `frameReferences`.
    public static let referenceSelection = RTCPFeedback(rawValue: 32)

    static let names: [(feedback: RTCPFeedback, name: String)] = [
        (.nack, "nack"), (.pictureLoss, "nack pli"), (.fullIntraRequest, "ccm fir"), (.transportWide, "transport-cc"),
        (.remb, "goog-remb"), (.referenceSelection, "ack rpsi"),
    ]

    /// Reads the lines `rtcp-fb:PT ...` and `rtcp-fb:* ...`.
    init(attributes: [SDPAttribute], payloadType: UInt8) {
        self = []
        for line in attributes.values(of: "rtcp-fb") {
            let (head, tail) = line.text.cut(at: UInt8(ascii: " "))
            guard let tail, head == "*" || head.decimal(upTo: 127) == UInt64(payloadType) else { continue }
            if let known = Self.names.first(where: { $0.name == tail.trimmed }) { insert(known.feedback) }
        }
    }

    func attributes(payloadType: UInt8) -> [SDPAttribute] {
        Self.names.compactMap { contains($0.feedback) ? SDPAttribute("rtcp-fb", "\(payloadType) \($0.name)") : nil }
    }
}

/// One `rtpmap` line. RFC 8866 section 6.6.
struct RTPMapping {
    let payloadType: UInt8
    let encoding: Substring
    let clockRate: UInt64
    let channels: UInt64

    /// Returns the section's mappings in the order of its formats. Only payload types that are valid with RTP and RTCP
    /// on one port count (RFC 5761 section 4: not 64...95).
    static func all(in media: MediaDescription) -> [RTPMapping] {
        var byType: [UInt8: RTPMapping] = [:]
        for line in media.attributes.values(of: "rtpmap") {
            let fields = line.text.fields()
            guard fields.count == 2, let type = fields[0].decimal(upTo: 127).map({ UInt8(truncatingIfNeeded: $0) }),
                !(64...95).contains(type), byType[type] == nil
            else { continue }
            let parts = fields[1].fields(separatedBy: UInt8(ascii: "/"))
            guard parts.count >= 2, let clock = parts[1].decimal(upTo: 1_000_000) else { continue }
            let channels = parts.count > 2 ? parts[2].decimal(upTo: 255) : 1
            guard let channels else { continue }
            byType[type] = RTPMapping(payloadType: type, encoding: parts[0], clockRate: clock, channels: channels)
        }
        return media.formats.prefix(128).compactMap { format in
            format.text.decimal(upTo: 127).flatMap { byType[UInt8(truncatingIfNeeded: $0)] }
        }
    }

    /// The encodings that the section's lines give a payload type; several are an error of its author.
    static func encodings(of type: UInt8, in media: MediaDescription) -> [Substring] {
        media.attributes.values(of: "rtpmap").compactMap { line in
            let fields = line.text.fields()
            guard fields.count == 2, fields[0].decimal(upTo: 127) == UInt64(type) else { return nil }
            return fields[1].fields(separatedBy: UInt8(ascii: "/")).first
        }
    }

    func matches(_ name: String, _ clockRate: UInt64) -> Bool {
        self.clockRate == clockRate && encoding.equalsIgnoringCase(name)
    }
}

extension MediaDescription {
    /// The `rtpmap` line of the first format; nil if it has none.
    var firstMapping: SDPAttribute? {
        guard let format = formats.first, let mapping = RTPMapping.all(in: self).first,
            format.text.decimal(upTo: 127) == UInt64(mapping.payloadType)
        else { return nil }
        let channels = mapping.channels == 1 ? "" : "/\(mapping.channels)"
        return SDPAttribute(
            "rtpmap", "\(mapping.payloadType) \(String(mapping.encoding).asToken)/\(mapping.clockRate)\(channels)")
    }

    /// Returns the format parameters of a payload type, unchanged; empty if there are none.
    func formatParameters(_ payloadType: UInt8) -> [(name: Substring, value: Substring)] {
        formatLine(payloadType)?.formatParameters ?? []
    }

    /// Returns the `fmtp` line of a payload type, without the payload type. RFC 8866 section 6.15.
    func formatLine(_ payloadType: UInt8) -> Substring? {
        for line in attributes.values(of: "fmtp") {
            let (head, tail) = line.text.cut(at: UInt8(ascii: " "))
            if let tail, head.decimal(upTo: 127) == UInt64(payloadType) { return tail }
        }
        return nil
    }

    /// Returns the first codec of the capabilities, its payload type and that of its retransmissions (RFC 4588); nil if
    /// there is none.
    func videoCodec(
        _ capabilities: MediaCapabilities
    ) -> (codec: VideoCodec, payloadType: UInt8, rtx: UInt8?)? {
        let mappings = RTPMapping.all(in: self)
        let usable = mappings.compactMap { mapping -> (codec: VideoCodec, type: UInt8)? in
            guard mapping.clockRate == 90_000, let codec = VideoCodec(encoding: mapping.encoding),
                capabilities.videoCodecs.contains(codec)
            else { return nil }
            return (codec, mapping.payloadType)
        }
        let fitting = capabilities.formatParameters.flatMap { wanted in
            usable.first { VideoFormat($0.codec, wanted[...]) == VideoFormat($0.codec, formatLine($0.type) ?? "") }
        }
        guard let (codec, type) = fitting ?? usable.first else { return nil }
        let rtx = mappings.first { other in
            other.matches("rtx", 90_000) && other.payloadType != type
                && formatParameters(other.payloadType).contains {
                    $0.name.equalsIgnoringCase("apt") && $0.value.decimal(upTo: 127) == UInt64(type)
                }
        }
        return (codec, type, rtx?.payloadType)
    }

    /// The payload type of Opus; nil if there is none. RFC 7587 section 7 demands two channels in the mapping, whatever
    /// is sent; some senders write one, or none.
    var opus: UInt8? {
        let mappings = RTPMapping.all(in: self).filter { $0.matches("opus", 48_000) && $0.channels <= 2 }
        return (mappings.first { $0.channels == 2 } ?? mappings.first)?.payloadType
    }

    /// Returns the payload type of redundant audio (RFC 2198) that contains only this payload type of Opus; nil if
    /// there is none.
    func redundancy(of opus: UInt8) -> UInt8? {
        RTPMapping.all(in: self).first { mapping in
            mapping.matches("red", 48_000) && mapping.channels == 2 && mapping.payloadType != opus
                && formatParameters(mapping.payloadType).first.map { parameter in
                    let blocks = parameter.name.fields(separatedBy: UInt8(ascii: "/"), limit: 64)
                    return !blocks.isEmpty && blocks.allSatisfy { $0.decimal(upTo: 127) == UInt64(opus) }
                } ?? false
        }?.payloadType
    }
}

extension Substring {
    /// The parameters of an `fmtp` line.
    fileprivate var formatParameters: [(name: Substring, value: Substring)] {
        fields(separatedBy: UInt8(ascii: ";"), limit: 64).map { field in
            let (name, value) = field.cut(at: UInt8(ascii: "="))
            return (name.trimmed, (value ?? "").trimmed)
        }
    }
}

/// The format parameters of a codec that both sides must have alike.
private struct VideoFormat: Hashable {
    private let codec: VideoCodec
    private let values: [String]

    init(_ codec: VideoCodec, _ line: Substring) {
        self.codec = codec
        let parameters = line.formatParameters
        values = codec.properties.comparedParameters.map { compared in
            let known = parameters.first { $0.name.equalsIgnoringCase(compared.name) }
            return String((known?.value.lowercased() ?? compared.usual).prefix(compared.length))
        }
    }
}

extension Offer {
    /// The codecs of an offer's video, as the offerer writes them but for unusual characters, eight at most; for
    /// sentences.
    public static func videoEncodings(in text: String) -> [String] {
        guard let description = try? SessionDescription.parse(text) else { return [] }
        var result: [String] = []
        for media in description.media where media.kind == "video" {
            for mapping in RTPMapping.all(in: media) where mapping.clockRate == 90_000 {
                let name = String(String(mapping.encoding).asToken.prefix(32))
                let isCodec = !["rtx", "red", "ulpfec", "flexfec-03"].contains(name.lowercased())
                if isCodec, !result.contains(name), result.count < 8 { result.append(name) }
            }
        }
        return result
    }
}
