/// The candidates of one peer, sorted into what can be tried and what cannot, and bounded.
public struct CandidateList: Hashable, Sendable {
    /// At most ``SDPLimits/candidates``, each once, each ``ICECandidate/isUsable``.
    public private(set) var usable: [ICECandidate] = []
    /// Candidates whose name somebody would have to resolve first; at most ``SDPLimits/candidates``.
    public private(set) var named: [ICECandidate] = []
    /// How many were malformed, of another component or transport, or too many.
    public private(set) var dropped = 0

    public init() {}

    /// Takes in each as ``add(_:)`` does.
    public init(_ candidates: some Sequence<ICECandidate>) {
        for candidate in candidates { add(candidate) }
    }

    /// Takes in one, or counts it as dropped. A repetition is neither.
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
