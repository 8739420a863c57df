public import Admission
public import Identifiers
public import MediaCore

/// What a publisher tells the service or the relay that has its broadcast, with the token of its pairing.
public enum PublisherMessage: Sendable {
    /// The application that the broadcast shows now.
    case application(ApplicationInfo)
    /// The broadcast is held back, or goes on (nil), so that a relay's viewers are told.
    case hold(BroadcastHold?)
    /// Those viewers of a relay whom this host has sent there go back to it.
    case returnViewers
    /// Keys for viewers of a relay, which passes them on.
    case keys([MemberKeys])
    /// What is encrypted for viewers of a relay, which passes it on.
    case sealed(SealedMessages)
    /// The host's user has removed a viewer of a relay: SHA-256 of its certificate.
    case removal([UInt8])
    /// The answer to a relay's question about a viewer that knocks there.
    case decision(KnockDecision, about: KnockID)
}
