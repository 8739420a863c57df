import Foundation
import Testing

@testable import Identifiers

private let conference = ServiceID("com.example.conference")

private func fingerprint(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }

@Suite struct ServiceIDTests {
    @Test func reverseDNSNamesAreIdentifiersInLowerCase() {
        for text in [
            "a.b", "com.example.conference", "org.x-y.a1.0", String(repeating: "a", count: 63) + ".b",
            Array(repeating: "ab", count: 16).joined(separator: "."),
        ] {
            #expect(ServiceID(text)?.text == text, "\(text)")
            #expect(ServiceID(text.uppercased())?.text == text, "\(text)")
        }
    }

    @Test func otherTextIsNoIdentifier() {
        let long = Array(repeating: String(repeating: "a", count: 63), count: 3).joined(separator: ".")
        for text in [
            "", "a", "ab", "abc", "a.", ".a", "..", "a..b", ".a.b", "a.b.", "-a.b", "a-.b", "a.b-", "a_b.c", "a b.c",
            "a.b/c", "../a.b", "a.b\u{0}", "a.b\n", "ä.b", "K\u{212A}.com", "a.\u{131}", long + ".a",
            String(repeating: "a", count: 64) + ".b", Array(repeating: "a", count: 17).joined(separator: "."),
            String(repeating: "a.", count: 10_000),
        ] { #expect(ServiceID(text) == nil, "\(text.prefix(40))") }
    }

    @Test func jsonIsItsText() throws {
        let id = try #require(conference)
        #expect(try JSONEncoder().encode([id]) == Data(#"["com.example.conference"]"#.utf8))
        #expect(try JSONDecoder().decode([ServiceID].self, from: Data(#"["COM.example.conference"]"#.utf8)) == [id])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([ServiceID].self, from: Data(#"["a/b"]"#.utf8)) }
    }
}

@Suite struct ServiceLinkTests {
    private let fragment = "ASAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4_"
    private func link(_ host: String = "192.168.1.5") throws -> ServiceLink {
        ServiceLink(host: host, port: 8443, id: try #require(conference), fingerprint: [UInt8](32..<64))
    }

    private func error(_ text: String) -> LinkError? {
        do {
            _ = try ServiceLink(parsing: text)
            return nil
        } catch {
            return error
        }
    }

    @Test func textIsAsSpecified() throws {
        #expect(try link().text == "https://192.168.1.5:8443/services/com.example.conference#" + fragment)
        #expect(try link("fe80::1").text.hasPrefix("https://[fe80::1]:8443/services/"))
        #expect(try link().path == "/services/com.example.conference")
    }

    @Test func writtenValuesAreReadBack() throws {
        for host in ["192.168.1.5", "my-pc.local", "::1", "fe80::1%eth0"] {
            #expect(try ServiceLink(parsing: link(host).text) == link(host))
        }
        let data = try JSONEncoder().encode([link()])
        #expect(try JSONDecoder().decode([ServiceLink].self, from: data) == [link()])
        #expect(try link().at(host: "::1", port: 1).authority == "[::1]:1")
    }

    @Test func flagsMakeALinkOfVersion2() throws {
        let flagged = ServiceLink(
            host: "h", port: 1, id: try #require(conference), fingerprint: fingerprint(1), flags: .webPKI)
        #expect(
            flagged.text == "https://h:1/services/com.example.conference#" + Base64URL.encode([2, 1] + fingerprint(1)))
        #expect(try ServiceLink(parsing: flagged.text) == flagged)
        #expect(flagged.at(host: "i", port: 2).flags == .webPKI)
        for count in 1...44 { #expect(error(String(flagged.text.dropLast(count))) == .cutOff(missing: count)) }
        #expect(
            error("https://h:1/services/a.b#" + Base64URL.encode([2, 0x81] + fingerprint(1))) == .unknownFlags(0x80))
    }

    @Test func aLinkOverARelayHasBothFingerprints() throws {
        let link = ServiceLink(
            host: "relay.example", port: 443, id: try #require(conference), fingerprint: fingerprint(1),
            relay: fingerprint(2), flags: .webPKI)
        #expect(
            link.text == "https://relay.example:443/services/com.example.conference#"
                + Base64URL.encode([2, 3] + fingerprint(1) + fingerprint(2)))
        #expect(try ServiceLink(parsing: link.text) == link)
        #expect(link.destination == "over the relay at relay.example:443")
        #expect(link.at(host: "i", port: 2).relay == fingerprint(2))
        for count in 1...85 { #expect(error(String(link.text.dropLast(count))) == .cutOff(missing: count)) }
        // The flag says that there is a relay, and nothing else does.
        let bare = ServiceLink(
            host: "h", port: 1, id: try #require(conference), fingerprint: fingerprint(1), flags: [.webPKI, .relay])
        #expect(bare.flags == .webPKI && bare.relay == nil)
    }

    @Test func aSecretIsInTheTextAloneAndOlderProgramsRefuseTheLinkWithASentence() throws {
        let secret = [UInt8](repeating: 7, count: 16)
        for (relay, flags) in [(nil, 4), (fingerprint(2), 6)] as [([UInt8]?, UInt8)] {
            let link = ServiceLink(
                host: "h", port: 1, id: try #require(conference), fingerprint: fingerprint(1), relay: relay,
                secret: secret)
            #expect(
                link.text == "https://h:1/services/com.example.conference#"
                    + Base64URL.encode([2, flags] + fingerprint(1) + secret + (relay ?? [])))
            #expect(try ServiceLink(parsing: link.text) == link && link.at(host: "i", port: 2).secret == secret)
            #expect(try JSONDecoder().decode([ServiceLink].self, from: JSONEncoder().encode([link])) == [link])
            for count in 1...64 { #expect(error(String(link.text.dropLast(count))) == .cutOff(missing: count)) }
            for text in [
                "\(link)", String(reflecting: link), "\(String(describing: Mirror(reflecting: link).children.first))",
            ] {
                #expect(
                    !text.contains(Base64URL.encode(secret).prefix(8)) && !text.contains("#\(Base64URL.encode([2]))"))
            }
            // As programs before this flag read it.
            let older = #expect(throws: LinkError.self) {
                _ = try LinkFragment(
                    parsing: link.text.split(separator: "#")[1], length: 32, known: [.webPKI, .relay])
            }
            #expect(older == .unknownFlags(4) && older?.description.contains("update share") == true)
        }
    }

    @Test func pastedTextIsTolerated() throws {
        let text = try link().text
        for pasted in [
            " \(text)\n", "<\(text)>", "\"\(text)\"", "'\(text)'", text.replacing("https", with: "HTTPS"),
            text.replacing("com.example", with: "Com.EXAMPLE"), text.replacing("services", with: "Services"),
            String(text.prefix(60)) + "\n  " + text.dropFirst(60),
        ] {
            #expect(try ServiceLink(parsing: pasted) == link(), "\(pasted)")
        }
    }

    @Test func otherTextIsNoLink() {
        let broadcast = Link(
            host: "h", port: 1, id: BroadcastID(1), secret: Array(repeating: 1, count: 16), fingerprint: fingerprint(1))
        for text in [
            "", "hello", "http://h:1/services/com.example.conference#\(fragment)", "https:///services/a.b",
            "https://h:1/a.b#\(fragment)", "https://[zz]:1/services/a.b#\(fragment)",
            String(repeating: "a", count: 10_000),
        ] { #expect(error(text) == .notAServiceLink, "\(text.prefix(40))") }
        #expect(error(broadcast.text) == .isOfBroadcast)
        #expect(error("")?.description.contains("services/ID#") == true)
    }

    @Test func cutsAndMistypedPlacesAreNamed() throws {
        let text = try link().text
        for count in 1...44 { #expect(error(String(text.dropLast(count))) == .cutOff(missing: count)) }
        #expect(error(String(text.dropLast(45))) == .cutOff(missing: 45))
        func mistyped(_ text: String) -> Bool { if case .mistyped = error(text) { true } else { false } }
        #expect(mistyped(text + "A") && mistyped(text.replacing("com.", with: "com..")))
        #expect(mistyped(text.replacing(":8443", with: ":0")) && mistyped(text.replacing("#AS", with: "#A!")))
        #expect(mistyped("https://h:1/services/../x#" + fragment) && mistyped("https://h:1/services/#" + fragment))
        #expect(error(text.replacing("#AS", with: "#BS")) == .unknownVersion(5))
    }
}
