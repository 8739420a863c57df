import MediaCore
import Testing

@testable import HTTP
@testable import Signaling

@Suite struct LinkHeaderTests {
    /// The example of RFC 9725 section 4.6.
    @Test func serversOfAnEndpointAreRead() {
        let links = LinkHeader.parse([
            "<stun:stun.example.net>; rel=\"ice-server\"",
            "<turn:turn.example.net?transport=udp>; rel=\"ice-server\"; username=\"user\"; credential=\"myPassword\"; "
                + "credential-type=\"password\"",
        ])
        #expect(links.map(\.target) == ["stun:stun.example.net", "turn:turn.example.net?transport=udp"])
        #expect(links.allSatisfy { $0.hasRelation("ice-server") })
        #expect(links.last?.parameters["credential"] == "myPassword")
    }

    @Test func severalLinksStandInOneField() {
        let links = LinkHeader.parse([" <a,b;c> ; REL = x ;title=\"a \\\"b\\\", <c>\" , , <d>;rel=y;rel=z;flag"])
        #expect(links.map(\.target) == ["a,b;c", "d"])
        #expect(links.first?.hasRelation("x") == true && links.last?.hasRelation("y") == true)
        #expect(links.last?.hasRelation("z") == false)
        let several = LinkHeader.parse(["<a>; rel=\"next ICE-Server\", <b>; rel=ice-server; anchor=\"#x\""])
        #expect(several.map { $0.hasRelation("ice-server") } == [true, false])
        #expect(links.first?.parameters["title"] == "a \"b\", <c>")
        #expect(links.last?.parameters["flag"] == "")
    }

    @Test(arguments: ["", "<", "<a", "a; rel=x", "<a>; rel=\"x", "<a>;", "<a>;;;=", "<a>; rel=\"\\", "\u{0}<a>"])
    func brokenLinksEndTheirField(text: String) {
        #expect(LinkHeader.parse([text, "<b>; rel=y"]).last == LinkHeader(target: "b", parameters: ["rel": "y"]))
    }

    @Test func thereAreNotMoreThan64() {
        #expect(LinkHeader.parse(Array(repeating: "<a>;rel=x,<b>", count: 200)).count == 64)
    }

    @Test func layersAreTold() throws {
        let event = HostEvent.layers(
            VideoLayers(
                line: 1,
                layers: [
                    VideoLayer(temporalLayer: 0, bitrate: .kilobits(300), size: PixelSize(width: 640, height: 360)),
                    VideoLayer(temporalLayer: 1, bitrate: .kilobits(500), target: .kilobits(600)),
                ]))
        for part in [
            "{\"1\":[{", "\"temporalLayerId\":0", "\"bitrate\":300000", "\"height\":360", "\"targetBitrate\":600000",
        ] {
            #expect(event.json.contains(part), "\(event.json)")
        }
        #expect(HostEvent(name: "layers", data: event.json) == event)
        #expect(HostEvent(name: "layers", data: "{\"x\":[]}") == nil)
    }
}
