package import Admission
import Identifiers
import Identity
import MediaCore

/// A viewer that knocks at a relay, as the relay tells the host.
///
/// The relay has checked the viewer's signature. It could lie about all of this, as it could let anybody watch: it has
/// the media.
package struct ViewerDocument: Codable {
    var type = "viewer"
    /// Of the question.
    var id: String
    var name: String
    var kind: String
    var address: String
    /// base64url of 32 bytes.
    var fingerprint: String
    /// base64url of a browser's key.
    var key: String?
    var words: [String]
    var records: Bool?

    package init(_ knock: Knock) {
        id = knock.id.text
        name = knock.name
        kind = knock.kind
        address = knock.address
        fingerprint = Base64URL.encode(knock.identity.fingerprint)
        key = knock.identity.key.map { Base64URL.encode($0) }
        words = knock.words.words
        records = knock.records ? true : nil
    }

    /// With cleaned texts; nil if a value cannot be one.
    package var knock: Knock? {
        guard let id = KnockID(Substring(id)), let words = ShortAuthenticationString(words: words),
            let fingerprint = Base64URL.decode(fingerprint)
        else { return nil }
        let key = key.map { Base64URL.decode($0) ?? [] }
        guard let identity = ViewerIdentity(fingerprint: fingerprint, key: key) else { return nil }
        return Knock(
            told: id, name: UntrustedText.clean(name, fallback: "somebody"),
            kind: UntrustedText.clean(kind, limit: 32, fallback: "browser"),
            address: UntrustedText.clean(address, limit: 64, fallback: "unknown"), identity: identity,
            records: records ?? false, words: words)
    }
}

/// The host's decision about such a viewer.
package struct ViewerDecisionDocument: Codable {
    enum Decision: String, Codable { case accepted, refused, busy, unanswered }

    var decision: Decision
    /// For the viewer.
    var reason: String?
    /// Accepted, and nobody was asked.
    var unasked: Bool?

    package init(_ decision: KnockDecision) {
        switch decision {
        case .accepted, .remembered: self.decision = .accepted
        case .acceptedByRule: (self.decision, unasked) = (.accepted, true)
        case .refused(let text): (self.decision, reason) = (.refused, text)
        case .busy(let text): (self.decision, reason) = (.busy, text)
        case .unanswered: self.decision = .unanswered
        }
    }

    package var value: KnockDecision {
        switch decision {
        case .accepted: unasked == true ? .acceptedByRule : .accepted
        case .refused: .refused(reason.map { UntrustedText.clean($0, limit: 256, fallback: "the host said no") })
        case .busy: .busy(UntrustedText.clean(reason ?? "", limit: 256, fallback: "no viewer is taken at present"))
        case .unanswered: .unanswered
        }
    }
}
