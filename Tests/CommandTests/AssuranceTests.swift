import Control
import Foundation
import TestSupport
import Testing

@testable import share

/// What verbs say is on, is on; what cannot be known here is not said.
@Suite(.timeLimit(.minutes(2)))
struct AssuranceTests {
    private func camera(
        enabled: Bool = true, name: String? = nil, problem: String? = nil
    ) -> CameraStatus {
        CameraStatus(
            enabled: enabled, position: "front", place: "top-right", size: "20%", mirrored: false, name: name,
            problem: problem)
    }

    @Test func aCameraIsOnWhenItDelivers() {
        #expect(camera(name: "Desk").sentence == "the front camera (shown: Desk) is on: top-right, 20%")
        for status in [camera(), camera(problem: "there is no camera"), camera(enabled: false)] {
            #expect(!status.sentence.contains(" is on"), "\(status.sentence)")
        }
        #expect(camera(problem: "there is no camera").sentence.hasSuffix("but shows nothing: there is no camera"))
        #expect(camera().sentence.hasSuffix("but nothing has come from it yet"))
    }

    @Test func audioIsOnWhenItIsCaptured() throws {
        func audio(_ track: AudioTrackName, muted: Bool, captured: Bool) throws -> String {
            let text = #"{"track": "\#(track.rawValue)", "muted": \#(muted), "captured": \#(captured)}"#
            return try JSONDecoder().decode(BroadcastStatus.Audio.self, from: Data(text.utf8)).sentence
        }
        #expect(try audio(.microphone, muted: false, captured: true) == "microphone on")
        #expect(try audio(.microphone, muted: true, captured: false) == "microphone muted")
        let missing = "unmuted, but there is none to capture now"
        #expect(try audio(.microphone, muted: false, captured: false) == "microphone \(missing)")
        #expect(try audio(.system, muted: false, captured: false) == "system audio \(missing)")
    }

    /// On a machine without a camera and a microphone.
    @Test func whatIsMissingIsNotSaidToBeOn() throws {
        let host = try HostedScreen(["--source", "test", "--camera", "no such camera", "--mic"])
        func run(_ arguments: [String]) throws -> String {
            let process = try ShareProcess(arguments, in: host.folder)
            #expect(process.exitCode() == 0, "\(process.errorText)")
            return process.errorText
        }
        #expect(try run(["mute", "--mic"]).contains("microphone muted"))
        let microphone = try run(["unmute", "--mic"])
        #expect(microphone.contains("microphone unmuted, but there is none"), "\(microphone)")
        let camera = try run(["camera", "on"])
        #expect(camera.contains("is chosen") && !camera.contains(" is on"), "\(camera)")
    }

    /// Addresses of this machine say nothing of whether others reach it.
    @Test func doctorDoesNotSayThatOthersReachThisMachine() throws {
        let doctor = try ShareProcess(["doctor"])
        #expect(doctor.exitCode(seconds: 60) != nil)
        let index = try #require(doctor.lines.firstIndex { $0.contains(" network ") }, "\(doctor.lines)")
        let line = doctor.lines[index]
        #expect(!line.contains("reachable"), "\(line)")
        if line.contains("only this machine can watch") { return }
        #expect(line.contains("only they can tell"), "\(line)")
        // The ports of a host without --listen, which its user may open ahead.
        let ports = "a firewall has to let in TCP 27427 (to 27436, for further hosts) and UDP 27500 to 27755"
        #expect(doctor.lines[(index + 1)...].first?.hasSuffix("-> " + ports) == true, "\(doctor.lines)")
    }
}
