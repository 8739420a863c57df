package import Admission
public import HTTP
import Identifiers
public import Identity
public import MediaCore
import NIOHTTP1
import SessionDescription

/// A knock that waits for its answer.
public struct KnockTicket: Sendable {
    /// The resource's path. It is secret, because it gives access to the answer.
    let path: String
    /// The words that the host shows, too.
    public let words: ShortAuthenticationString
    /// The codec of the video, if the host has announced it.
    public let video: VideoCodec?
}

/// The host's decision about a knock.
public enum KnockOutcome: Sendable, Equatable {
    case accepted(token: String, iceServers: [ICEServer])
    case refused(String)
    case unanswered
}

/// How a host encrypts what it publishes to a relay, as it has signed in a knock of version 2.
package struct HostEncryption: Sendable {
    /// All media of another server than the link's own is encrypted.
    package let isSealed: Bool
    /// 16 bytes, which the keys have, too.
    package let run: [UInt8]
    package let wrap: KeyWrap
}

extension SignalingClient {
    /// Knocks and signs the host's challenge with `identity`. The host then asks its user. The token will be valid for
    /// the identity's certificate only.
    /// - Parameters:
    ///   - records: tells the host that this viewer records.
    ///   - pass: what another server of the broadcast has given.
    ///   - takes: whether this viewer can show video in a codec that the host announces.
    /// - Throws: `.refused` if the host refused this identity a short while ago; `.unsupportedCodec`, before anybody is
    ///   asked.
    public func knock(
        name: String, identity: Identity, records: Bool = false, pass: String? = nil,
        takes: @Sendable (VideoCodec) -> Bool = { _ in true }
    ) async throws(SignalingError) -> KnockTicket {
        guard let viewer = ViewerIdentity(fingerprint: identity.fingerprint) else {
            throw SignalingError(.offerRefused, "the certificate has no usable fingerprint")
        }
        return try await knock(
            name: name, identity: viewer, certificate: identity.certificateDER, records: records, pass: pass,
            takes: takes
        ) { challenge in
            identity.signature(over: challenge.signedBytes)
        }
    }

    /// - Parameter sign: returns 64 bytes r | s, or nil.
    func knock(
        name: String, identity: ViewerIdentity, certificate: [UInt8]?, records: Bool = false, pass: String? = nil,
        takes: @Sendable (VideoCodec) -> Bool = { _ in true }, sign: @Sendable (KnockChallenge) -> [UInt8]?
    ) async throws(SignalingError) -> KnockTicket {
        fingerprint = identity.fingerprint
        let origin = KnockOrigin.random(at: .now)
        self.origin = origin
        let ephemeral = EphemeralKey()
        let reveal = KnockReveal(key: ephemeral.publicKey, nonce: randomBytes(KnockReveal.nonceLength))
        let request = KnockRequest(
            name: name, fingerprint: Fingerprint.colons(identity.fingerprint),
            proof: Base64URL.encode(proof.viewer(fingerprint: identity.fingerprint)),
            key: identity.key.map { Base64URL.encode($0) }, records: records ? true : nil, pass: pass,
            nonce: origin.text, commitment: Base64URL.encode(reveal.commitment))
        let answer = try await send(request, .POST, path("/knock"))
        if answer.status == 404 { throw .oldLink }
        guard answer.status == 202 else { throw http.failure(answer) }
        guard let place = answer.headers.first(name: "Location"), place.hasPrefix(path("/knock/")),
            let document = answer.document(ChallengeDocument.self),
            let nonce = Base64URL.decode(document.nonce, count: KnockChallenge.nonceLength)
        else { throw .notAShareHost(http.server, "its answer to a knock makes no sense; it may be of another version") }
        let video = document.video.flatMap(VideoCodec.init(rawValue:))
        if let video, !takes(video) {
            await withdraw(place)
            throw .unsupported(video)
        }
        var challenge = KnockChallenge(id: link.id, host: link.fingerprint, identity: identity, nonce: nonce)
        do throws(SignalingError) {
            encryption = try document.seal.map { (seal) throws(SignalingError) in
                try accept(seal, reveal, ephemeral, &challenge)
            }
        } catch {
            await withdraw(place)
            throw error
        }
        guard let signature = sign(challenge) else {
            await withdraw(place)
            throw SignalingError(.offerRefused, "this machine's key does not sign")
        }
        let proof = KnockSignatureDocument(
            signature: Base64URL.encode(signature), certificate: certificate.map { Base64URL.encode($0) },
            seal: challenge.reveal.map {
                RevealDocument(key: Base64URL.encode($0.key), nonce: Base64URL.encode($0.nonce))
            })
        let signed = try await send(proof, .PUT, place)
        guard signed.status == 204 else { throw http.failure(signed) }
        return KnockTicket(path: place, words: challenge.words, video: video)
    }

    /// Polls until the host answers; the host gives up after 60 s.
    public func waitForAnswer(_ ticket: KnockTicket) async throws(SignalingError) -> KnockOutcome {
        var losses = 0
        while true {
            let answer: HTTPAnswer
            do {
                answer = try await http.ask(.GET, ticket.path, timeout: http.configuration.pollTimeout)
            } catch {
                // A poll may be repeated, because the host keeps the knock for some seconds.
                losses += 1
                guard error.code == .connectionLost, losses < 3, !Task.isCancelled else { throw error }
                continue
            }
            switch answer.status {
            case 202: continue
            case 200:
                guard let document = answer.document(AdmissionDocument.self) else {
                    throw SignalingError.notAShareHost(http.server, "its answer makes no sense")
                }
                await http.authorize(with: document.token)
                (pass, redirect) = (document.pass, document.reconnect)
                try takeKeys(document.keys)
                return .accepted(token: document.token, iceServers: Array(document.iceServers.prefix(16)))
            default:
                let failure = http.failure(answer)
                switch failure.code {
                case .refused: return .refused(failure.description)
                case .unanswered: return .unanswered
                default: throw failure
                }
            }
        }
    }

    /// Checks the host's offer of version 2, and completes the challenge with it.
    func accept(
        _ seal: OfferDocument, _ reveal: KnockReveal, _ ephemeral: EphemeralKey, _ challenge: inout KnockChallenge
    ) throws(SignalingError) -> HostEncryption {
        guard let key = Base64URL.decode(seal.key), KnockChallenge.isKey(key), let run = Base64URL.decode(seal.run),
            run.count == KnockOffer.runLength, let certificate = Base64URL.decode(seal.certificate),
            let signature = Base64URL.decode(seal.signature)
        else {
            throw .notAShareHost(http.server, "its answer to a knock makes no sense; it may be of another version")
        }
        let offer = KnockOffer(commitment: reveal.commitment, hostKey: key, run: run, isSealed: seal.sealed)
        let isSigned = CertificateSignature.isValid(
            signature, over: offer.signedBytes(challenge), certificate: certificate, fingerprint: link.fingerprint)
        (challenge.offer, challenge.reveal) = (offer, reveal)
        guard isSigned, let transcript = challenge.transcript,
            let wrap = KeyWrap(ephemeral, with: key, secret: link.secret, transcript)
        else {
            throw SignalingError(
                .hostNotProven,
                "the answer to the knock is not that of the host that the link names: somebody may be in between")
        }
        return HostEncryption(isSealed: offer.isSealed, run: run, wrap: wrap)
    }

    /// Decrypts the keys that came with the admission.
    private func takeKeys(_ text: String?) throws(SignalingError) {
        guard let encryption, encryption.isSealed else { return }
        guard let keys = encryption.wrap.open(text: text) else {
            throw SignalingError(
                .hostNotProven, "the keys of the broadcast are not from the host: somebody may be in between")
        }
        frameKeys = keys
    }

    /// Asks the host for the keys of what it publishes to a relay.
    /// - Parameter token: of an admission.
    /// - Returns: base64url of what a `KeyWrap` opens; nil if the token is not valid any more.
    package func fetchKeys(token: String) async throws(SignalingError) -> String? {
        await http.authorize(with: token)
        let answer = try await http.ask(.POST, path("/keys"))
        if answer.status == 401 { return nil }
        guard answer.status == 200, let document = answer.document(ViewerKeysDocument.self) else {
            throw http.failure(answer)
        }
        return document.keys
    }

    /// Withdraws a knock that has not been answered.
    public func withdraw(_ ticket: KnockTicket) async { _ = try? await http.ask(.DELETE, ticket.path) }

    /// Gives back the host's place for a challenge that stays unsigned. A host that does not answer delays this viewer
    /// little.
    private func withdraw(_ place: String) async {
        _ = try? await http.ask(.DELETE, place, timeout: .seconds(2))
    }
}
