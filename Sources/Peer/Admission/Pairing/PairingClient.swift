package import Identifiers
import MediaCore

/// The host's side of one pairing, from the request to the published session, as a value without a clock, I/O or
/// randomness.
///
/// The host's user is asked each time, and only after the service has signed this pairing's transcript with the key of
/// the pinned certificate. The host signs only after its user has accepted that very prompt, and a grant counts only
/// after that. Nothing is heard by ``Limits/silence``, nothing is published by the end of the lease: the pairing ends.
package struct PairingClient: Hashable, Sendable {
    package typealias Instant = ContinuousClock.Instant

    package struct Limits: Hashable, Sendable {
        /// Until the service has to have answered the request.
        package var request: Duration
        /// The time that the host's user has for the answer. Shorter than ``PairingTable/Limits/signature``.
        package var prompt: Duration
        /// The time that the service's user has for the answer, with the time to hear of it.
        package var answer: Duration
        /// The longest silence of the service while it is polled: longer than a poll is held.
        package var silence: Duration

        package init(
            request: Duration = .seconds(10), prompt: Duration = .seconds(170),
            answer: Duration = PairingRequest.answerTime + .seconds(5), silence: Duration = .seconds(25)
        ) {
            self.request = request
            self.prompt = prompt
            self.answer = answer
            self.silence = silence
        }
    }

    /// A question for the host's user. An answer names the prompt that it belongs to.
    package struct Prompt: Hashable, Sendable {
        package let service: ServiceDescription
        package let transcript: PairingTranscript
    }

    package enum Input: Hashable, Sendable {
        /// - Parameter signatureIsValid: whether the offer's signature is that of the pinned certificate, over
        ///   ``PairingClient/transcript(of:)``.
        case offered(PairingOffer, signatureIsValid: Bool)
        /// A poll was answered: the service still waits.
        case waiting
        case userAccepted(Prompt, setup: [String: String])
        /// The host's user does not want, or does not want any more.
        case userDeclined
        case granted(PairingGrant)
        /// The service has answered the offer of the session.
        case published
        case refused(String)
        case failed(PairingFailure)
        /// `deadline` has come.
        case timeout
    }

    /// An action for the caller. Actions are performed in order.
    package enum Action: Hashable, Sendable {
        case ask(Prompt)
        /// Signs the bytes and sends the acceptance. Over a relay the setup is sealed first, and is signed, too.
        case confirm(setup: [String: String], bytesToSign: [UInt8])
        /// Tells the service that the pairing is over, if its resource is known.
        case withdraw
        case paired(PairingGrant)
        /// The pairing is over. A prompt that is still open closes.
        case end(PairingFailure)
    }

    enum State: Hashable, Sendable {
        case requesting(until: Instant)
        case asking(Prompt, until: Instant)
        case confirming(Prompt, until: Instant)
        case paired(until: Instant)
        case published
        case ended
    }

    private let service: ServiceID
    private let serviceFingerprint: [UInt8]
    private let application: ApplicationInfo
    private let hostFingerprint: [UInt8]
    private let isOverRelay: Bool
    private let limits: Limits
    /// 32 bytes, sent with the request.
    package let nonce: [UInt8]
    private(set) var state: State
    /// When the service was heard last.
    private(set) var heardAt: Instant

    /// - Parameters:
    ///   - fingerprint: of the service's certificate, from its link.
    ///   - host: the fingerprint of the host's certificate.
    ///   - nonce: 32 new random bytes.
    ///   - isOverRelay: a relay passes on what both sides say, so they sign more of it.
    package init(
        service: ServiceID, fingerprint: [UInt8], application: ApplicationInfo, host: [UInt8], nonce: [UInt8],
        isOverRelay: Bool = false, limits: Limits = Limits(), now: Instant
    ) {
        self.service = service
        serviceFingerprint = fingerprint
        self.application = application
        hostFingerprint = host
        self.nonce = nonce
        self.isOverRelay = isOverRelay
        self.limits = limits
        state = .requesting(until: now + limits.request)
        heardAt = now
    }

    /// The transcript that the service signs with this offer.
    package func transcript(of offer: PairingOffer) -> PairingTranscript {
        PairingTranscript(
            application: application, service: service, serviceFingerprint: serviceFingerprint,
            hostFingerprint: hostFingerprint, hostNonce: nonce, serviceNonce: offer.nonce,
            relayedDescription: isOverRelay ? offer.service.digest : nil)
    }

    /// When `.timeout` has to be handled; nil if nothing is scheduled.
    package var deadline: Instant? {
        switch state {
        case .requesting(let until), .paired(let until): until
        case .asking(_, let until), .confirming(_, let until): min(until, heardAt + limits.silence)
        case .published, .ended: nil
        }
    }

    package var isPaired: Bool {
        switch state {
        case .paired, .published: true
        case .requesting, .asking, .confirming, .ended: false
        }
    }

    package var hasEnded: Bool { state == .ended }

    /// Input that does not fit the state is ignored, except for a grant that nobody has asked for.
    package mutating func handle(_ input: Input, now: Instant) -> [Action] {
        switch (input, state) {
        case (_, .ended): return []
        case (.offered(let offer, let signatureIsValid), .requesting):
            return handle(offer, signatureIsValid: signatureIsValid, now)
        case (.userAccepted(let prompt, let setup), .asking(let open, _)) where prompt == open:
            return confirm(prompt, setup, now)
        case (.granted(let grant), .confirming):
            state = .paired(until: now + grant.lease)
            return [.paired(grant)]
        case (.granted, .requesting), (.granted, .asking):
            // The service would have begun without the host's user.
            return end(.malformed, withdrawing: true)
        case (.published, .paired):
            state = .published
            return []
        case (.waiting, .asking), (.waiting, .confirming):
            heardAt = now
            return []
        case (.userDeclined, _): return end(.declined, withdrawing: true)
        case (.refused(let reason), .requesting), (.refused(let reason), .asking), (.refused(let reason), .confirming):
            return end(.refused(UntrustedText.clean(reason, limit: 256, fallback: "no reason given")))
        case (.failed(let failure), _): return end(failure)
        case (.timeout, _):
            guard let deadline, now >= deadline else { return [] }
            return end(.timedOut, withdrawing: true)
        case (.offered, _), (.waiting, _), (.userAccepted, _), (.granted, _), (.published, _), (.refused, _):
            return []
        }
    }

    private mutating func handle(_ offer: PairingOffer, signatureIsValid: Bool, _ now: Instant) -> [Action] {
        guard signatureIsValid else { return end(.wrongSignature, withdrawing: true) }
        guard offer.service.id == service else { return end(.malformed, withdrawing: true) }
        let prompt = Prompt(service: offer.service, transcript: transcript(of: offer))
        state = .asking(prompt, until: now + limits.prompt)
        heardAt = now
        return [.ask(prompt)]
    }

    /// Asks again if a field has no value or a wrong one.
    private mutating func confirm(_ prompt: Prompt, _ values: [String: String], _ now: Instant) -> [Action] {
        guard let setup = try? prompt.service.setup(values) else { return [.ask(prompt)] }
        state = .confirming(prompt, until: now + limits.answer)
        return [.confirm(setup: setup, bytesToSign: prompt.transcript.signedBytes(role: .host))]
    }

    private mutating func end(_ failure: PairingFailure, withdrawing: Bool = false) -> [Action] {
        state = .ended
        return (withdrawing ? [.withdraw] : []) + [.end(failure)]
    }
}
