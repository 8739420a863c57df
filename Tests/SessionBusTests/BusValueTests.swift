import BusSupport
import Testing

@testable import SessionBus

/// Values on their way through a bus.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct BusValueTests {
    /// Sends values from one connection to another.
    private func sent(_ values: [BusValue]) throws -> BusMessage {
        let bus = try TestBus()
        let (sender, receiver) = (try bus.service(), try bus.service("io.sharekit.Test"))
        sender.connection.call("io.sharekit.Test", "/a/path", "io.sharekit.Test", "Take", values, expectsReply: false)
        return try #require(receiver.call(of: "Take"))
    }

    @Test func valuesArriveAsTheyWereSent() throws {
        let values: [BusValue] = [
            .boolean(true), .int32(-7), .uint32(.max), .text("\u{E9} \u{1F600}"), .path("/a/b"), .bytes([0, 255]),
            .array(of: "s", [.text("a"), .text("")]), .array(of: "{sv}", []),
            .dictionary(["b": .boolean(false), "t": .tuple([.int32(1), .text("x")])]),
            .variant(.variant(.text("deep"))),
        ]
        let message = try sent(values)
        #expect(message.arguments == values)
        #expect(message.signature == "biusoayasa{sv}a{sv}v")
        #expect(message.path == "/a/path" && message.sender.hasPrefix(":"))
        #expect(message.arguments[8]["t"]?.list == [.int32(1), .text("x")])
        #expect(message.arguments[8]["nothing"] == nil && message.arguments[0]["b"] == nil)
        #expect(message.arguments[9].text == "deep" && message.arguments[3].number == nil)
    }

    /// What others send is read up to a bound, and the rest is left out.
    @Test func valuesThatAreTooManyTooDeepOrUnknownAreCutOff() throws {
        var nested = BusValue.text("core")
        for _ in 0..<40 { nested = .variant(nested) }
        let message = try sent([
            .array(of: "i", (0..<5_000).map { .int32($0) }), .array(of: "{sv}", []), nested,
        ])
        #expect(message.arguments[0].list?.count == 1_024)
        #expect(message.arguments[2].text == nil)
    }
}
