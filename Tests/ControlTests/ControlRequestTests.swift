import MediaCore
import Testing

@testable import Control
@testable import Host
@testable import Identifiers
@testable import Identity

/// Requests and answers of the control socket as text, and who is meant by a name.
@Suite struct ControlRequestTests {
    @Test(
        arguments: [
            .status, .stop, .hold(.pause, true), .hold(.pause, false), .hold(.blank, true), .hold(.blank, false),
            .hold(.freeze, true), .hold(.freeze, false), .viewers, .setMuted(nil, true),
            .setMuted([.microphone], false),
            .setMuted([.microphone, .system], true), .remove("Ann \"the\" \u{1F600}"),
            .setRight(.comment, isGranted: true, viewer: "Ann"), .setRight(.control, isGranted: false, viewer: "2"),
            .say("Hello, \"all\""),
        ] as [ControlRequest.Command])
    func requestsSurviveTheirText(_ command: ControlRequest.Command) throws {
        let text = ControlRequest(command).text
        #expect(!text.contains("\n"))
        #expect(try ControlRequest(parsing: text) == ControlRequest(command))
    }

    @Test(
        arguments: [
            ("", .malformed), ("null", .malformed), ("[]", .malformed), ("{}", .malformed), ("\u{0}", .malformed),
            ("{\"version\":1}", .malformed), ("{\"version\":\"1\",\"command\":\"stop\"}", .malformed),
            ("{\"version\":1e400,\"command\":\"stop\"}", .malformed),
            ("{\"version\":2,\"command\":\"stop\"}", .version),
            ("{\"version\":1,\"command\":\"explode\"}", .unknownCommand),
            ("{\"version\":1,\"command\":\"\"}", .unknownCommand),
            ("{\"version\":1,\"command\":\"remove\"}", .malformed),
            ("{\"version\":1,\"command\":\"remove\",\"viewer\":\"\"}", .malformed),
            ("{\"version\":1,\"command\":\"grant\",\"viewer\":\"Ann\"}", .malformed),
            ("{\"version\":1,\"command\":\"revoke\",\"viewer\":\"Ann\",\"right\":\"all\"}", .malformed),
            ("{\"version\":1,\"command\":\"say\"}", .malformed),
            ("{\"version\":1,\"command\":\"mute\",\"tracks\":[\"camera\"]}", .malformed),
            (String(repeating: "[", count: 4_000), .malformed),
            (String(repeating: "{\"version\":", count: 300), .malformed),
        ] as [(String, ControlError.Code)])
    func otherTextIsRefused(_ text: String, _ code: ControlError.Code) {
        let error = #expect(throws: ControlError.self) { try ControlRequest(parsing: text) }
        #expect(error?.code == code)
    }

    @Test func aViewerIsMeantByNumberNameOrFingerprint() {
        func viewer(_ number: Int, _ name: String, _ byte: UInt8) -> ViewerSessionInfo {
            let print = [UInt8](repeating: byte, count: 32)
            return ViewerSessionInfo(
                number: number, id: .random(),
                description: ViewerDescription(name: name, kind: "share", address: "192.0.2.1", words: ""),
                fingerprint: print, identity: ViewerIdentity(fingerprint: print), connectedFor: nil,
                isInterrupted: false, path: "", bitrate: .kilobits(1))
        }
        let ann = viewer(1, "Ann", 0xA1)
        let annAgain = viewer(2, "Ann", 0xA1)
        let bob = viewer(3, "Bob", 0xB2)
        let other = viewer(4, "Ann", 0xC3)
        let two = viewer(5, "2", 0xD4)
        #expect(ViewerSelection.find("Ann", in: [ann, annAgain, bob]) == .one(ann))
        #expect(ViewerSelection.find("Ann", in: [ann, bob, other]) == .several([ann, other]))
        #expect(ViewerSelection.find("3", in: [ann, bob]) == .one(bob))
        #expect(ViewerSelection.find("2", in: [ann, annAgain, two]) == .one(annAgain))
        #expect(ViewerSelection.find("2", in: [ann, two]) == .none)
        #expect(ViewerSelection.find("B2:B2", in: [ann, bob]) == .one(bob))
        #expect(ViewerSelection.find("b2b", in: [ann, bob]) == .none)
        #expect(ViewerSelection.find("", in: [ann, bob]) == .none)
        #expect(ViewerSelection.find("ann", in: [ann, bob]) == .none)
    }
}
