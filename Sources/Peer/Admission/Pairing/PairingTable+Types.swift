package import Identifiers
package import Identity

extension PairingTable {
    package struct Limits: Hashable, Sendable {
        /// Unsigned pairings are polled, too, and have their places among the questions. They are not revived.
        package var approvals: ApprovalLimits
        /// The time that a grant waits for its session.
        package var lease: Duration
        /// Until a session without media ends.
        package var silence: Duration
        /// Grants and sessions at a time.
        package var broadcasts: Int
        /// Those of one address while others want one.
        var broadcastsOfAddress: Int { max(1, broadcasts / 4) }

        /// - Parameters:
        ///   - signature: how long the host's user may take.
        ///   - pairings: that are unsigned or wait for an answer.
        package init(
            signature: Duration = .seconds(180), answer: Duration = PairingRequest.answerTime,
            abandoned: Duration = .seconds(5), lease: Duration = .seconds(10), silence: Duration = .seconds(10),
            kept: Duration = .seconds(60), refusal: Duration = .seconds(60), pairings: Int = 64,
            pairingsOfAddress: Int = 4, broadcasts: Int = 4, outcomes: Int = 256, refusals: Int = 256
        ) {
            approvals = ApprovalLimits(
                signature: signature, answer: answer, abandoned: abandoned, kept: kept, refusal: refusal,
                questions: .init(all: pairings, ofAddress: pairingsOfAddress), unsigned: nil, outcomes: outcomes,
                refusals: refusals, asks: 1)
            (self.lease, self.silence, self.broadcasts) = (lease, silence, broadcasts)
        }
    }

    /// A request to pair as it was received, with the transcript that both sides sign.
    package struct Request: ApprovalRequest {
        package typealias Question = PairingRequest
        package typealias Grant = PairingGrant

        package enum Effect: Hashable, Sendable {
            /// Closes a session. The table has forgotten it.
            case endSession(SessionID, because: SessionEnd)
        }

        package let transcript: PairingTranscript
        /// The host's certificate, DER.
        package let certificate: [UInt8]
        package let address: PeerAddress

        package var application: ApplicationInfo { transcript.application }
        /// SHA-256 of the host's certificate, 32 bytes. A claim until the host has signed.
        package var fingerprint: [UInt8] { transcript.hostFingerprint }
        package var requester: [UInt8] { fingerprint }

        package func isReplaced(by newer: Request) -> Bool { fingerprint == newer.fingerprint }

        init(transcript: PairingTranscript, certificate: [UInt8], address: PeerAddress) {
            self.transcript = transcript
            self.certificate = certificate
            self.address = address
        }

        /// Nil if the nonce is not one, or if the certificate has another fingerprint or no key of P-256.
        /// - Parameters:
        ///   - fingerprint: of the service's certificate.
        ///   - nonce: 32 new random bytes.
        ///   - relayed: what the service says of itself, if a relay passes it on; else nil.
        package init?(
            _ document: PairingRequestDocument, service: ServiceID, fingerprint: [UInt8], nonce: [UInt8],
            address: PeerAddress, relayed: ServiceDescription? = nil
        ) {
            guard let host = document.fingerprintBytes, let certificate = document.certificateBytes,
                let hostNonce = document.nonceBytes,
                CertificateSignature.isUsable(certificate, fingerprint: host)
            else { return nil }
            self.init(
                transcript: PairingTranscript(
                    application: document.application, service: service, serviceFingerprint: fingerprint,
                    hostFingerprint: host, hostNonce: hostNonce, serviceNonce: nonce,
                    relayedDescription: relayed?.digest),
                certificate: certificate, address: address)
        }
    }

    package enum Opening: Hashable, Sendable {
        /// The pairing waits for the host's signature.
        case opened
        /// There are too many pairings, in all or of this address.
        case full
        /// The service takes no further broadcast.
        case busy
        case ended
    }

    package enum Signing: Hashable, Sendable {
        /// A poll tells the outcome, also if it is there already.
        case accepted
        /// The signature is not the host's. The pairing is gone, unless it was signed before.
        case wrong
        /// The host has another secret than the link's. The pairing still waits for its signature.
        case wrongSecret
        /// The pairing still waits for its signature.
        case malformed(SetupError)
        case unknown
    }

    package enum SessionStart: Hashable, Sendable {
        /// `sessionOpened` or `sessionFailed` has to follow.
        case opening(PairingRequest)
        /// There is no such token, or it has ended.
        case unknownToken
        /// The offer is that of another certificate.
        case otherCertificate
        /// The token has a session.
        case taken
    }

    package enum SessionEnd: Hashable, Sendable {
        /// There was no media for some time.
        case silent
        /// The host has left.
        case left
        /// The same host broadcasts anew.
        case replaced
        /// Another address wants a place, and this one's has more than its share.
        case displaced
        /// Another host wants the place, and nobody came for some time.
        case idle
        case ended
    }
}
