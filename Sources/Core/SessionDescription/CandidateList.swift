/// The candidates of one peer, limited in number and separated by usability.
public struct CandidateList: Hashable, Sendable {
    /// At most ``SDPLimits/candidates``, each once, each ``ICECandidate/isUsable``.
    public private(set) var usable: [ICECandidate] = []
    /// Candidates whose name would have to be resolved; at most ``SDPLimits/candidates``.
    public private(set) var named: [ICECandidate] = []
    /// The number of candidates that were malformed, of another component or transport, or over the limit.
    public private(set) var dropped = 0

    public init() {}

    /// Adds each candidate as ``add(_:)`` does.
    public init(_ candidates: some Sequence<ICECandidate>) {
        for candidate in candidates { add(candidate) }
    }

    /// Adds a candidate, or counts it as dropped. A duplicate is ignored.
    public mutating func add(_ candidate: ICECandidate?) {
        guard let candidate else {
            dropped &+= 1
            return
        }
        if candidate.isUsable {
            Self.insert(candidate, into: &usable, &dropped)
        } else if candidate.isNamed {
            Self.insert(candidate, into: &named, &dropped)
        } else {
            dropped &+= 1
        }
    }

    mutating func add(from attributes: [SDPAttribute]) {
        for attribute in attributes where attribute.name == "candidate" {
            add(attribute.value.flatMap { ICECandidate(value: $0.text) })
        }
    }

    private static func insert(_ candidate: ICECandidate, into list: inout [ICECandidate], _ dropped: inout Int) {
        guard !list.contains(candidate) else { return }
        guard list.count < SDPLimits.candidates else {
            dropped &+= 1
            return
        }
        list.append(candidate)
    }
}
