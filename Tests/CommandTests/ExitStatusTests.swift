import PeerConnection
import Testing

@testable import CommandSupport
@testable import RelayVerb
@testable import share

/// The exit codes that the manual lists, of reasons that take up to a minute to come about.
@Suite struct ExitStatusTests {
    @Test func eachReasonHasItsCode() {
        let codes: [(EndReason.Code, Int32)] = [
            (.unanswered, 75), (.connectionLost, 74), (.noRoute, 68), (.refused, 77), (.hostEnded, 0),
            (.unsupportedCodec, 80),
        ]
        for (code, status) in codes { #expect(EndReason(code, "").status.rawValue == status) }
    }
}
