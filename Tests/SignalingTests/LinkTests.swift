import Testing

@testable import Identifiers
@testable import Signaling

@Suite struct LinkTests {
    private let secret = [UInt8](0..<16)
    private let fingerprint = [UInt8](32..<64)
    private let fragment = "AQABAgMEBQYHCAkKCwwNDg8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-Pw"

    private func link(_ host: String = "192.168.1.5") -> Link {
        Link(host: host, port: 8443, id: BroadcastID(0x0123_4567_89AB_CDEF), secret: secret, fingerprint: fingerprint)
    }

    private func error(_ text: String) -> LinkError? {
        do {
            _ = try Link(parsing: text)
            return nil
        } catch {
            return error
        }
    }

    @Test func textIsAsSpecified() {
        #expect(link().text == "https://192.168.1.5:8443/028T5CY4TQKFF#" + fragment)
        #expect(link("fe80::1").text.hasPrefix("https://[fe80::1]:8443/"))
    }

    @Test func writtenValuesAreReadBack() throws {
        for host in ["192.168.1.5", "my-pc.local", "::1", "fe80::1%eth0", "2001:db8::7"] {
            for value in [UInt64.min, 1, 31, 32, .max >> 1, .max] {
                let link = Link(
                    host: host, port: 65_535, id: BroadcastID(value), secret: secret, fingerprint: fingerprint)
                #expect(try Link(parsing: link.text) == link)
            }
        }
    }

    /// The page reads the same link (link.test.mjs).
    @Test func aLinkOverARelayHasBothFingerprints() throws {
        let relay = [UInt8](64..<96)
        let link = Link(
            host: "relay.example", port: 443, id: BroadcastID(7), secret: secret, fingerprint: fingerprint, relay: relay
        )
        #expect(try Link(parsing: link.text) == link)
        #expect(try Link(parsing: link.at(host: "h", port: 1).text).relay == relay)
        let start = "https://relay.example:443/\(link.id.text)#".count
        for length in start + 3..<link.text.count {
            #expect(error(String(link.text.prefix(length))) == .cutOff(missing: link.text.count - length), "\(length)")
        }
        let newer = [2, 6] + secret + fingerprint + relay
        #expect(error("https://h:1/028T5CY4TQKFF#" + Base64URL.encode(newer)) == .unknownFlags(4))
    }

    @Test func pastedTextIsTolerated() throws {
        let text = link().text
        for pasted in [
            " \(text)\n", "\(text)\r\n", "<\(text)>", "\"\(text)\"", "'\(text)'",
            text.replacing("028T5", with: "o28t5"),
            text.replacing("https", with: "HTTPS"), String(text.prefix(60)) + "\n  " + text.dropFirst(60),
        ] {
            #expect(try Link(parsing: pasted) == link(), "\(pasted)")
        }
        let ones = Link(host: "h", port: 1, id: BroadcastID(33), secret: secret, fingerprint: fingerprint)
        #expect(try Link(parsing: ones.text.replacing("0000000000011", with: "OoOoOoOoOooIl")) == ones)
    }

    @Test func everyCutTellsHowMuchIsMissing() {
        let text = link().text
        let start = "https://192.168.1.5:8443/".count
        for length in start..<text.count {
            let cut = error(String(text.prefix(length)))
            let isInsideID = length > start && length < start + BroadcastID.length
            #expect(cut == .cutOff(missing: text.count - length), "\(length) \(isInsideID)")
        }
        #expect(error(String(text.dropLast()))?.description.contains("1 character short") == true)
    }

    @Test func otherTextIsNoLink() {
        for text in [
            "", "hello", "http://h:1/028T5CY4TQKFF#\(fragment)", "https:///x", "https://h:1/watch/this",
            "https://[::1/x",
            "https://[zz]:1/x", "https://a b\u{0}c/x", String(repeating: "a", count: 10_000), "https://example.com/",
            "https://meet.example.com/abc-defg", "https://meet.example.com/abc", "https://example.com",
        ] { #expect(error(text) == .notALink, "\(text.prefix(40))") }
        for text in ["https://h:1/services/com.example.a#AY0D", "https://h/services/com.example.a"] {
            #expect(error(text) == .isOfService, "\(text)")
        }
    }

    @Test func mistypedPlacesAreNamed() {
        func mistyped(_ text: String) -> Bool { if case .mistyped = error(text) { true } else { false } }
        #expect(mistyped("https://h:0/028T5CY4TQKFF#" + fragment))
        #expect(mistyped("https://h:65536/028T5CY4TQKFF#" + fragment))
        #expect(mistyped("https://h:99999999999999999999/028T5CY4TQKFF#" + fragment))
        #expect(mistyped("https://h:1/028T5CY4TQKF#" + fragment))
        #expect(mistyped("https://h:1/028T5CY4TQKFU#" + fragment))
        #expect(mistyped("https://h:1/Z28T5CY4TQKFF#" + fragment))
        #expect(mistyped(link().text + "A"))
        #expect(mistyped(String(link().text.dropLast()) + "x"))
        #expect(error("https://h:1/028T5CY4TQKFF#AQ*" + fragment) == .mistyped("character 3 after # cannot be there"))
    }

    @Test func otherVersionsAreNamed() {
        let payload = [UInt8(3)] + secret + fingerprint
        #expect(error("https://h:1/028T5CY4TQKFF#" + Base64URL.encode(payload)) == .unknownVersion(3))
    }

    @Test func flagsMakeALinkOfVersion2() throws {
        let flagged = Link(
            host: "relay.example", port: 443, id: BroadcastID(5), secret: secret, fingerprint: fingerprint,
            flags: .webPKI)
        #expect(flagged.text.hasSuffix("#" + Base64URL.encode([2, 1] + secret + fingerprint)))
        #expect(try Link(parsing: flagged.text) == flagged)
        #expect(flagged.at(host: "h", port: 1).flags == .webPKI)
        // The place of a relay whose publishers' link has a secret.
        let met = Link(
            host: "h", port: 1, id: flagged.id, secret: flagged.secret, fingerprint: flagged.fingerprint,
            relay: flagged.fingerprint, flags: [.webPKI, .secret])
        #expect(met.flags == [.webPKI, .relay] && (try? Link(parsing: met.text)) == met)
        // A cut tells how much is missing, as soon as the version is there.
        let start = "https://relay.example:443/0000000000005#".count
        for length in start + 2..<flagged.text.count {
            #expect(error(String(flagged.text.prefix(length))) == .cutOff(missing: flagged.text.count - length))
        }
    }

    @Test func unknownFlagsAreRefusedAndNamed() throws {
        for flags in [UInt8(0x80), 0x83, 0xFF] {
            let failure = error("https://h:1/028T5CY4TQKFF#" + Base64URL.encode([2, flags] + secret + fingerprint))
            guard case .unknownFlags(let unknown) = failure else {
                Issue.record("\(flags): \(String(describing: failure))")
                continue
            }
            #expect(unknown & 0x80 != 0 && unknown & 0x01 == 0)
            #expect(failure?.description.contains("newer share") == true)
        }
        // The fields of an unknown flag may follow.
        let longer = Base64URL.encode([2, 0x80] + secret + fingerprint + fingerprint)
        #expect(error("https://h:1/028T5CY4TQKFF#" + longer) == .unknownFlags(0x80))
    }

    @Test func noPrintedFormHoldsTheSecret() {
        let link = link()
        var dumped = ""
        dump(link, to: &dumped)
        for text in ["\(link)", link.debugDescription, link.redacted, dumped, "\([link])"] {
            #expect(!text.contains(fragment) && !text.contains("13, 14"))
        }
        for broken in [String(link.text.dropLast()), link.text + "AAAA", link.text.replacing("AQAB", with: "AwAB")] {
            #expect(error(broken)?.description.contains("BAgMEBQ") == false)
        }
    }

    @Test func base64RoundTripsAndRefusesLeftoverBits() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
        #expect(Base64URL.decode("A") == nil)
        #expect(Base64URL.decode("AB") == nil)
        #expect(Base64URL.decode("AA==") == [0])
        #expect(Base64URL.decode("+/-_") == Base64URL.decode("-_-_"))
    }
}
