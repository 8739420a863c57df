import Testing

@testable import CommandSupport
@testable import share

/// Where a host listens, and what its link names.
struct ListenAddressTests {
    @Test func withoutAnAddressThePortsAreTheSameEachTime() {
        let place = ListenAddress(addresses: ["192.0.2.5", "2001:db8::5"])
        #expect(place.host == "0.0.0.0" && place.linkHost == "192.0.2.5")
        #expect(place.port == 27_427 && place.furtherPorts == 9 && place.mediaPorts == 27_500...27_755)
    }

    /// A socket for IPv4 alone would not be reached at the address in the link.
    @Test func withIPv6AloneTheHostListensThere() {
        let place = ListenAddress(addresses: ["2001:db8::5"])
        #expect(place.host == "::" && place.linkHost == "2001:db8::5")
    }

    @Test func withoutANetworkTheLinkIsForThisMachine() {
        let place = ListenAddress(addresses: [])
        #expect(place.host == "0.0.0.0" && place.linkHost == "127.0.0.1")
    }

    @Test(arguments: [
        ("0.0.0.0:8443", ["2001:db8::5"], "2001:db8::5"), ("0.0.0.0:8443", ["2001:db8::5", "192.0.2.5"], "192.0.2.5"),
        ("[::]:8443", ["2001:db8::5"], "2001:db8::5"), ("[::]:8443", [], "::1"), (":8443", ["192.0.2.5"], "192.0.2.5"),
        ("[2001:db8::9]:8443", ["192.0.2.5"], "2001:db8::9"),
    ])
    func theLinkNamesAnAddressAtWhichTheSocketIsReached(text: String, own: [String], link: String) throws {
        let place = try ListenAddress(text, addresses: own)
        #expect(place.linkHost == link && place.port == 8_443 && place.furtherPorts == 0)
        #expect(place.mediaPorts == DefaultPorts.media)
        // IPv4 alone is not listened at for a link with an IPv6 address.
        #expect(!link.contains(":") || place.host.contains(":"))
    }

    @Test func port0SelectsFreePorts() throws {
        let place = try ListenAddress("127.0.0.1:0", addresses: [])
        #expect(place.port == 0 && place.mediaPorts == nil)
    }
}
