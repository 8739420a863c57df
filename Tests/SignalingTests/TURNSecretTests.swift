import Foundation
import Signaling
import Testing

@Suite struct TURNSecretTests {
    @Test func credentialsSayWhenTheyExpire() {
        let time = Date(timeIntervalSince1970: 1_700_000_000)
        let servers = [ICEServer(urls: ["turn:a.example"]), ICEServer(urls: ["stun:a.example"])]
        #expect(servers.expiry == nil)
        #expect(servers.issued(with: TURNSecret("north"), to: "bob", at: time).expiry == time + TURNSecret.lifetime)
        #expect(servers.issued(with: TURNSecret("north", lifetime: 60), to: "bob", at: time).expiry == time + 60)
        for name in ["bob", "x:bob", "-1:bob", "99999999999999999999:bob", ":", ""] {
            #expect(ICEServer(urls: ["turn:a.example"], username: name, credential: "x").expiry == nil)
        }
    }

    /// By: printf 1700043200:alice | openssl dgst -sha1 -hmac north -binary | base64
    @Test func credentialsAreThoseOfCoturn() {
        let made = TURNSecret("north").credentials(for: "alice", at: Date(timeIntervalSince1970: 1_700_000_000))
        #expect(made.username == "1700043200:alice")
        #expect(made.credential == "01Pv2e5apc0HX4gVDY1wJke35Uc=")
    }

    @Test func onlyTURNServersWithoutAUserNameGetThem() {
        let servers = [
            ICEServer(urls: ["stun:s.example"]), ICEServer(urls: ["turn:t.example"]),
            ICEServer(urls: ["turns:u.example"], username: "alice", credential: "own"),
        ]
        let issued = servers.issued(with: TURNSecret("north"), to: "bob", at: Date(timeIntervalSince1970: 0))
        #expect(issued[0] == servers[0] && issued[2] == servers[2])
        #expect(issued[1].username == "43200:bob" && issued[1].credential?.isEmpty == false)
        #expect(servers.issued(with: nil, to: "bob", at: Date()) == servers)
    }
}
