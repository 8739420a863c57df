import Testing

@testable import SessionDescription

@Suite struct IPAddressTests {
    @Test(arguments: [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.1.1", "100.64.0.1", "::1",
        "fe80::1", "fd00::1", "fc01::1", "::ffff:192.168.1.1", "::ffff:127.0.0.1",
    ])
    func isOfTheLocalNetwork(text: String) { #expect(IPAddress(text)?.isOfLocalNetwork == true) }

    @Test(arguments: [
        "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.167.1.1", "192.169.1.1", "100.63.0.1", "100.128.0.1", "11.0.0.1",
        "2001:db8::1", "fe00::1", "fec0::1", "::ffff:8.8.8.8", "64:ff9b::192.168.1.1", "2002:c0a8:101::1",
        "::192.168.1.1",
    ])
    func isNotOfTheLocalNetwork(text: String) { #expect(IPAddress(text)?.isOfLocalNetwork == false) }
}
