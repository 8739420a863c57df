/// The body of a WHIP or WHEP PATCH, `application/trickle-ice-sdpfrag`: candidates that were found after the offer, or
/// the credentials of an ICE restart. RFC 8840 section 9, RFC 9725 section 4.3.
public struct TrickleFragment: Hashable, Sendable {
    /// Nil unless the fragment has both credentials.
    public var credentials: ICECredentials?
    /// The section of the candidates; nil if the fragment has no `a=mid`.
    public var mid: String?
    public var candidates: CandidateList
    /// Whether no more candidates will follow.
    public var endsCandidates: Bool
    /// Whether the fragment has a user name fragment or a password, but not a well-formed pair.
    public private(set) var hasBrokenCredentials = false

    /// Whether the fragment has neither candidates, nor their end, nor credentials.
    public var isEmpty: Bool {
        credentials == nil && !hasBrokenCredentials && candidates == CandidateList() && !endsCandidates
    }

    public init(
        credentials: ICECredentials?, mid: String?, candidates: CandidateList = CandidateList(), endsCandidates: Bool
    ) {
        self.credentials = credentials
        self.mid = mid
        self.candidates = candidates
        self.endsCandidates = endsCandidates
    }

    /// Parses a fragment. As everything is bundled, candidates of every section are accepted, and `mid` is the first
    /// one's.
    public static func parse(_ text: String) throws(SDPError) -> TrickleFragment {
        var result = TrickleFragment(credentials: nil, mid: nil, endsCandidates: false)
        var usernameFragment: String?
        var password: String?
        var sections = 0
        var namesCredentials = false
        for line in try SDPLine.lines(of: text) {
            if line.type == UInt8(ascii: "m") {
                sections += 1
                guard sections <= SDPLimits.mediaSections else { throw .tooLarge }
            }
            guard line.type == UInt8(ascii: "a") else { continue }
            let attribute = line.attribute
            switch attribute.name {
            case "ice-ufrag":
                namesCredentials = true
                usernameFragment = usernameFragment ?? attribute.value
            case "ice-pwd":
                namesCredentials = true
                password = password ?? attribute.value
            case "mid": result.mid = result.mid ?? attribute.value
            case "candidate": result.candidates.add(attribute.value.flatMap { ICECandidate(value: $0.text) })
            case "end-of-candidates": result.endsCandidates = true
            default: break
            }
        }
        if let usernameFragment, let password {
            result.credentials = ICECredentials(usernameFragment: usernameFragment, password: password)
        }
        result.hasBrokenCredentials = namesCredentials && result.credentials == nil
        return result
    }

    /// The text, each line ended by CRLF.
    public var serialised: String {
        var attributes = credentials?.attributes ?? []
        var lines = attributes.map(\.line)
        attributes = []
        if let mid {
            lines.append("m=video 9 UDP/TLS/RTP/SAVPF 0")
            attributes.append(SDPAttribute("mid", mid))
        }
        attributes += (candidates.usable + candidates.named).map(\.attribute)
        if endsCandidates { attributes.append(SDPAttribute("end-of-candidates")) }
        lines += attributes.map(\.line)
        return lines.map { $0 + "\r\n" }.joined()
    }
}
