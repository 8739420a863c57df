import Foundation
import FrameEncryption
import HTTP
import MediaCore
import SFrame
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// What a relay passes on: each message once, in its order, and of one admission.
@Suite struct SealedRequestTests {
    private func makeTable(_ tokens: [TokenTable.Key], now: TokenTable.Instant) -> TokenTable {
        var table = TokenTable(limits: .init())
        for (number, token) in tokens.enumerated() {
            let fingerprint = [UInt8](repeating: UInt8(number), count: 32)
            let viewer = Viewer(
                knock: .random(), name: "Ann", kind: "share", address: "192.0.2.1", fingerprint: fingerprint,
                identity: ViewerIdentity(fingerprint: fingerprint))
            let isAdmitted = table.admit(token, viewer, from: PeerAddress("192.0.2.1").key, now: now)
            #expect(isAdmitted)
        }
        return table
    }

    @Test func aMessageIsTakenOnceAndInItsOrder() throws {
        let (now, tokens) = (ContinuousClock.now, [TokenHash(of: "one"), TokenHash(of: "two")])
        var table = makeTable(tokens, now: now)
        for carrier in MessageCarrier.allCases {
            for (counter, isTaken) in [(1, true), (1, false), (5, true), (4, false), (5, false), (6, true)]
                as [(UInt64, Bool)]
            {
                let result = table.noteMessage(tokens[0], counter: counter, by: carrier)
                #expect(result == isTaken, "\(counter) by \(carrier)")
            }
        }
        // The other admission has a count of its own, and one that has ended none.
        let others = [
            table.noteMessage(tokens[1], counter: 1, by: .request),
            table.noteMessage(TokenHash(of: "three"), counter: 9, by: .request),
        ]
        #expect(others == [true, false])
    }

    @Test func bothSidesOfAKnockHaveTheSameKeysAndNoOtherKnock() throws {
        func wraps(_ secret: UInt8) throws -> (KeyWrap, KeyWrap) {
            let (host, viewer) = (EphemeralKey(), EphemeralKey())
            let reveal = KnockReveal(key: viewer.publicKey, nonce: [UInt8](repeating: 3, count: 16))
            let identity = try #require(ViewerIdentity(fingerprint: [UInt8](repeating: 4, count: 32)))
            let challenge = KnockChallenge(
                id: .random(), host: [UInt8](repeating: 5, count: 32), identity: identity,
                nonce: [UInt8](repeating: 6, count: 16))
            let offer = KnockOffer(
                commitment: reveal.commitment, hostKey: host.publicKey, run: [UInt8](repeating: 7, count: 16),
                isSealed: true)
            let transcript = KnockTranscript(challenge, offer, reveal)
            let secret = [UInt8](repeating: secret, count: 16)
            return (
                try #require(KeyWrap(host, with: viewer.publicKey, secret: secret, transcript)),
                try #require(KeyWrap(viewer, with: host.publicKey, secret: secret, transcript))
            )
        }
        let (ofHost, ofViewer) = try wraps(1)
        #expect(ofHost.messages.toHost == ofViewer.messages.toHost)
        #expect(ofHost.messages.toViewer == ofViewer.messages.toViewer)
        #expect(ofHost.messages.toHost != ofHost.messages.toViewer)
        let other = try wraps(1).0
        #expect(other.messages.toHost != ofHost.messages.toHost)
        let sealed = MessageSeal<GCMFrameCipher>.seal(
            [1, 2, 3], key: ofViewer.messages.toHost, counter: 1, instance: [1, 2, 3, 4])
        #expect(MessageSeal<GCMFrameCipher>.open(sealed, key: ofHost.messages.toHost)?.text == [1, 2, 3])
        // A relay repeats it on the socket.
        let data = MessageCarrier.socket.associatedData
        #expect(
            MessageSeal<GCMFrameCipher>.open(sealed, key: ofHost.messages.toHost, authenticating: data) == nil)
        // Reflected, or of another viewer.
        #expect(MessageSeal<GCMFrameCipher>.open(sealed, key: ofHost.messages.toViewer) == nil)
        #expect(MessageSeal<GCMFrameCipher>.open(sealed, key: other.messages.toHost) == nil)
    }

    @Test func aRequestOfTheHostHasWhatARelayTakes() throws {
        var waiting = SealedMessages()
        for number in 0..<40 { waiting.add(frame: Base64URL.encode([UInt8(number)])) }
        let viewers = (0..<70).map { [UInt8](repeating: UInt8($0), count: 32) }
        for viewer in viewers { waiting.add(box: "AQID", for: viewer) }
        waiting.add(box: "BAUG", for: viewers[0])
        let first = waiting.takePart()
        #expect(first.frames.count == 32 && first.frames.last == Base64URL.encode([39]) && first.boxes.count == 64)
        #expect(try JSONDecoder().decode(SealedMessages.self, from: JSONEncoder().encode(first)) == first)
        let second = waiting.takePart()
        #expect(second.frames.isEmpty && second.boxes.count == 6 && waiting.isEmpty)
        #expect((first.boxes[viewers[0]] ?? second.boxes[viewers[0]]) == "BAUG")
        // Long ones go one by one.
        for _ in 0..<3 { waiting.add(frame: String(repeating: "A", count: 24_000)) }
        let counts = [waiting.takePart().frames.count, waiting.takePart().frames.count]
        #expect(counts == [2, 1])
        var wrong = SealedMessages()
        wrong.add(frame: "no base64url!")
        let document = try JSONEncoder().encode(wrong)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(SealedMessages.self, from: document) }
    }
}
