import MediaCore
import Testing

@testable import Admission
@testable import HTTP
@testable import Signaling

@Suite struct ServiceEventTests {
    @Test(arguments: [
        ServiceEvent.serviceInfo(
            ServiceInfo(viewers: 3, likes: 4, comment: BroadcastComment(from: "Ann", "hi \"you\" /"))),
        .serviceInfo(ServiceInfo()), .broadcastURL("https://example.com/watch?v=1"),
        .candidates(fragment: "a=ice-ufrag:x\r\na=candidate:1\r\n"), .finished(reason: "enough", nextStep: nil),
        .slowestBitrate(Bitrate(bitsPerSecond: 640_001)), .slowestBitrate(nil),
        .finished(reason: "sign in", nextStep: "https://example.com/"),
    ])
    func anEventIsReadAsItWasWritten(event: ServiceEvent) throws {
        var read: [ServiceEvent?] = []
        var parser = EventStreamParser()
        try parser.feed(Array(event.serialized.utf8)) { read.append(ServiceEvent(name: $0, data: $1)) }
        #expect(read == [event])
    }

    @Test func whatIsUnknownIsWrittenAsNull() {
        let text = ServiceEvent.serviceInfo(ServiceInfo(viewers: 3)).json
        #expect(text.contains("\"viewers\":3") && text.contains("\"likes\":null") && text.contains("\"comment\":null"))
        #expect(ServiceEvent.finished(reason: "x", nextStep: nil).json.contains("\"nextStep\":null"))
    }

    @Test(arguments: [
        ("service-info", "{\"type\":\"service-info\",\"viewers\":-1}"), ("service-info", "[]"),
        ("service-info", "{\"type\":\"service-info\",\"viewers\":1e99}"),
        ("slowest-bitrate", "{\"type\":\"slowest-bitrate\",\"bitrate\":0}"),
        ("slowest-bitrate", "{\"type\":\"slowest-bitrate\",\"bitrate\":-5}"),
        ("slowest-bitrate", "{\"type\":\"slowest-bitrate\",\"bitrate\":1e30}"), ("slowest-bitrate", "[]"),
        ("broadcast-url", "{\"type\":\"broadcast-url\",\"url\":\"javascript:alert(1)\"}"),
        ("broadcast-url", "{\"type\":\"broadcast-url\",\"url\":\"https://a b\"}"), ("finished", "{}"), ("news", "{}"),
    ])
    func aMalformedOrUnknownEventIsSkipped(name: String, data: String) {
        #expect(ServiceEvent(name: name, data: data) == nil)
    }

    /// A relay may say anything; what its host adds to it must not overflow.
    @Test func countsAreLimited() {
        let data = "{\"type\":\"service-info\",\"viewers\":\(Int.max),\"likes\":\(Int.max)}"
        #expect(
            ServiceEvent(name: "service-info", data: data)
                == .serviceInfo(ServiceInfo(viewers: 1_000_000_000, likes: 1_000_000_000)))
    }

    @Test func textForPeopleIsCleanAndShort() {
        let reason = String(repeating: "x", count: 999)
        let data = "{\"type\":\"finished\",\"reason\":\"\(reason)\",\"nextStep\":\"\\u202E\"}"
        #expect(
            ServiceEvent(name: "finished", data: data)
                == .finished(reason: String(reason.prefix(ServiceEvent.textLimit)), nextStep: nil))
    }
}
