import Foundation
import MediaCore
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Each event of each table: what is sent, and that it is read as it was written.
@Suite struct EventTableTests {
    private static func knock() throws -> Knock {
        Knock(
            told: try #require(KnockID(Substring("q" + String(repeating: "1", count: 21)))), name: "Ann",
            kind: "Firefox",
            address: "192.0.2.1",
            identity: try #require(ViewerIdentity(fingerprint: [UInt8](repeating: 7, count: 32))), records: false,
            words: ShortAuthenticationString(
                viewer: [UInt8](repeating: 7, count: 32), host: [UInt8](repeating: 8, count: 32), nonce: [1]))
    }

    /// Checks the data against JSON, whose keys have no order, and the rest of each row.
    private func check<Event: TabulatedEvent & Equatable>(
        _ events: [(event: Event, json: String)], final: Set<String>, notLasting: Set<String>
    ) throws {
        for (event, json) in events {
            let (data, expected) = try (object(event.json), object(json))
            #expect(data == expected, "\(event.name): \(event.json)")
            #expect(Event(name: event.name, data: event.json) == event)
            #expect(event.isFinal == final.contains(event.name))
            #expect((event.lasting == nil) == notLasting.contains(event.name), "\(event.name)")
        }
        #expect(Set(events.map(\.event.name)) == Set(Event.table.map(\.name)), "each row has its case here")
        #expect(Set(Event.table.map(\.name)).count == Event.table.count)
        for row in Event.table { #expect(try Self.protocolPage.contains("event: \(row.name) "), "protocol.md") }
    }

    private static var protocolPage: String {
        get throws {
            let page = URL(filePath: #filePath).appending(path: "../../../Docs/internals/protocol.md").standardized
            return try String(contentsOf: page, encoding: .utf8)
        }
    }

    private func object(_ json: String) throws -> NSDictionary {
        try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
    }

    @Test func eventsOfAHost() throws {
        let alternates = try SignedAlternates(["https://a/x"], of: BroadcastID(1), signedBy: .ephemeral())
        let redirect = try SignedRedirect(
            to: Link(
                host: "a", port: 1, id: BroadcastID(1), secret: Link.randomSecret(),
                fingerprint: [UInt8](repeating: 7, count: 32)), of: BroadcastID(1),
            viewer: [UInt8](repeating: 7, count: 32), knock: .random(at: .now), now: .now, signedBy: .ephemeral())
        let layers = VideoLayers(line: 1, layers: [VideoLayer(temporalLayer: 0, bitrate: Bitrate(bitsPerSecond: 9))])
        let alternatesJSON = """
            {"type":"alternates","links":["https://a/x"],"certificate":"\(alternates.certificate)",\
            "signature":"\(alternates.signature)"}
            """
        let redirectJSON = """
            {"type":"reconnect","link":"\(redirect.link)","age":\(redirect.age),\
            "certificate":"\(redirect.certificate)","signature":"\(redirect.signature)"}
            """
        let events: [(event: HostEvent, json: String)] = [
            (.active, "{}"), (.inactive, "{}"), (.layers(layers), #"{"1":[{"temporalLayerId":0,"bitrate":9}]}"#),
            (.viewerCount(3), #"{"type":"viewercount","viewercount":3}"#),
            (.recorderCount(1), #"{"type":"recordercount","recordercount":1}"#),
            (
                .viewers(WatchingNames(["Ann", "Bob"], count: 3)),
                #"{"type":"viewers","names":["Ann","Bob"],"count":3}"#
            ),
            (.held(.pause), #"{"type":"paused"}"#), (.held(.blank), #"{"type":"paused","hold":"blank"}"#),
            (.resumed, #"{"type":"resumed"}"#),
            (.alternates(alternates), alternatesJSON), (.reconnect(nil), #"{"type":"reconnect"}"#),
            (.reconnect(redirect), redirectJSON), (.returnToHost, #"{"type":"return"}"#),
            (.candidates(fragment: "a=x\r\n"), #"{"type":"candidates","fragment":"a=x\r\n"}"#),
            (.keys("AQ"), #"{"type":"keys","keys":"AQ"}"#),
            (
                .comment(try #require(BroadcastComment(from: "Ann", "a/b"))),
                #"{"type":"comment","from":"Ann","text":"a/b"}"#
            ),
            (.comment(try #require(BroadcastComment(from: nil, "b"))), #"{"type":"comment","text":"b"}"#),
            (
                .rights(GrantedRights(ViewerRights(comment: .yes, point: .ask, control: .no))),
                #"{"type":"rights","comment":"yes","point":"ask","control":"no"}"#
            ),
            (
                .rights(GrantedRights(.none, grant: 4, pointer: 3)),
                #"{"type":"rights","comment":"no","point":"no","control":"no","grant":4,"pointer":3}"#
            ),
            (
                .pointers(
                    PointerEvents([
                        PointerEvent(id: 3, from: "Ann", kind: .draw, points: [PicturePoint(x: 1, y: 65_535)]),
                        PointerEvent(id: 4, from: "Bob", kind: .leave, points: []),
                    ])),
                #"{"type":"pointers","pointers":[{"id":3,"from":"Ann","kind":"draw","points":[[1,65535]]},"#
                    + #"{"id":4,"from":"Bob","kind":"leave","points":[]}]}"#
            ),
            (.controller(ScreenController(by: "Ann")), #"{"type":"control","by":"Ann"}"#),
            (.controller(ScreenController(by: nil)), #"{"type":"control"}"#),
            (.sealed(.box("AQ")), #"{"type":"sealed","box":"AQ"}"#),
            (.sealed(.frame("AQ")), #"{"type":"sealed","frame":"AQ"}"#),
            (.sealedRights(.box("AQ")), #"{"type":"sealedrights","box":"AQ"}"#),
            (.removed(reason: "a/b"), #"{"type":"removed","reason":"a/b"}"#),
            (.ended(reason: "b"), #"{"type":"ended","reason":"b"}"#),
        ]
        try check(
            events, final: ["ended", "removed"], notLasting: ["inactive", "comment", "pointers", "sealed", "removed"])
        #expect(
            HostEvent.names == [
                "active", "inactive", "layers", "viewercount", "recordercount", "viewers", "paused", "resumed",
                "alternates", "reconnect", "return", "candidates", "keys", "comment", "rights", "pointers", "control",
                "sealed", "sealedrights", "removed", "ended",
            ])
        #expect(HostEvent.active.lastingKey == HostEvent.inactive.lastingKey)
        #expect(HostEvent.held(.blank).lastingKey == HostEvent.resumed.lastingKey)
        let other = HostEvent(name: "news", data: "[1]")
        #expect(other == .other(name: "news", json: "[1]") && other?.name == "news" && other?.json == "[1]")
        #expect(other?.lasting == nil && other?.isFinal == false)
    }

    @Test func eventsOfAService() throws {
        let knock = try Self.knock()
        let words = knock.words.words.map { "\"\($0)\"" }.joined(separator: ",")
        let viewerJSON = """
            {"type":"viewer","id":"\(knock.id.text)","name":"Ann","kind":"Firefox","address":"192.0.2.1",\
            "fingerprint":"\(Base64URL.encode(knock.fingerprint))","words":[\(words)]}
            """
        let events: [(event: ServiceEvent, json: String)] = [
            (
                .serviceInfo(ServiceInfo(viewers: 3)),
                #"{"type":"service-info","viewers":3,"likes":null,"comment":null}"#
            ), (.broadcastURL("https://a/b"), #"{"type":"broadcast-url","url":"https://a/b"}"#),
            (.candidates(fragment: "x"), #"{"type":"candidates","fragment":"x"}"#), (.viewer(knock), viewerJSON),
            (.viewerWithdrawn(knock.id), "{\"type\":\"viewer-withdrawn\",\"id\":\"\(knock.id.text)\"}"),
            (
                .viewerJoined([UInt8](repeating: 0, count: 32)),
                "{\"type\":\"viewer-joined\",\"viewer\":\"\(String(repeating: "A", count: 43))\"}"
            ),
            (
                .viewerLeft([UInt8](repeating: 0, count: 32)),
                "{\"type\":\"viewer-left\",\"viewer\":\"\(String(repeating: "A", count: 43))\"}"
            ),
            (.alternates(["https://a/x"]), #"{"type":"alternates","links":["https://a/x"]}"#),
            (.slowestBitrate(nil), #"{"type":"slowest-bitrate","bitrate":null}"#),
            (.slowestBitrate(Bitrate(bitsPerSecond: 5)), #"{"type":"slowest-bitrate","bitrate":5}"#),
            (.reconnect, #"{"type":"reconnect"}"#),
            (.finished(reason: "x", nextStep: nil), #"{"type":"finished","reason":"x","nextStep":null}"#),
            (.finished(reason: "x", nextStep: "y"), #"{"type":"finished","reason":"x","nextStep":"y"}"#),
        ]
        try check(
            events, final: ["finished"], notLasting: ["viewer", "viewer-withdrawn", "viewer-joined", "viewer-left"])
        let info = ServiceInfo(likes: 1, comment: BroadcastComment(from: "Ann", "hi"))
        #expect(ServiceEvent.serviceInfo(info).lasting == .serviceInfo(ServiceInfo(likes: 1)))
    }

    @Test func eventsOfATunnel() throws {
        let request = ForwardedRequest(
            number: 1, method: "GET", path: "/a", headers: ["accept": "b"], body: "c", address: "192.0.2.1")
        let requestJSON = """
            {"number":1,"method":"GET","path":"/a","headers":{"accept":"b"},"body":"c","address":"192.0.2.1"}
            """
        let events: [(event: TunnelEvent, json: String)] = [
            (.request(request), requestJSON), (.cancelled(4), #"{"number":4}"#),
            (.text(ForwardedText(number: 4, text: "a")), #"{"number":4,"text":"a"}"#),
            (.finished(reason: "x", .unwanted), #"{"reason":"x"}"#),
            (.finished(reason: "x", .replaced), #"{"reason":"x","replaced":true}"#),
            (.finished(reason: "x", .relayStopped), #"{"reason":"x","stopped":true}"#),
        ]
        try check(events, final: ["finished"], notLasting: ["request", "text", "cancelled", "finished"])
    }

    @Test(arguments: ["ended", "viewercount", "recordercount", "candidates", "removed"])
    func dataWithoutItsTypeIsMalformed(name: String) {
        let data = #"{"reason":"a","viewercount":1,"recordercount":1,"fragment":"a"}"#
        #expect(HostEvent(name: name, data: data) == nil)
    }

    @Test func whatNeedsNoDataIsReadWithAny() {
        for name in ["active", "inactive", "paused", "resumed", "return", "reconnect"] {
            for data in ["{}", "?"] { #expect(HostEvent(name: name, data: data)?.name == name) }
        }
    }
}
