package import ArgumentParser
package import PeerConnection

/// The exit codes, as in sysexits.h. Docs/manual.md lists them.
package enum ExitStatus: Int32 {
    case fine = 0
    /// `doctor` found a problem.
    case missing = 1
    /// Wrong arguments (ArgumentParser's own code).
    case usage = 64
    /// The link is mistyped or cut off.
    case badLink = 65
    /// There is no display, or it has closed.
    case noDisplay = 66
    /// There is no such service, or no extension for it.
    case unknownService = 67
    /// The host cannot be reached.
    case unreachable = 68
    /// The port is in use, or the process may not listen on it.
    case portUnavailable = 69
    /// An internal error.
    case failed = 70
    /// The service takes no further broadcast, or the host or relay no further viewer.
    case serviceBusy = 71
    /// No broadcast runs that a control verb could control.
    case noBroadcast = 72
    /// A file cannot be written.
    case cannotWrite = 73
    /// The connection was lost, or the service ended the broadcast.
    case lost = 74
    /// The knock was not answered within 60 s.
    case unanswered = 75
    /// The peer is not the one that the link names, or does not speak the protocol.
    case untrusted = 76
    /// The host refused, or the link's secret is wrong.
    case refused = 77
    /// This side's user declined to broadcast to the service.
    case declined = 78
    /// The screen of this session is broadcast already.
    case alreadyBroadcasting = 79
    /// This viewer cannot decode the broadcast's video.
    case unsupportedCodec = 80

    package var code: ExitCode { ExitCode(rawValue) }
}

/// An error for the user: a sentence, what to do next, and the exit code.
package struct CommandError: Error {
    package var sentence: String
    package var remedy: String = ""
    package var status: ExitStatus

    package init(sentence: String, remedy: String = "", status: ExitStatus) {
        self.sentence = sentence
        self.remedy = remedy
        self.status = status
    }

    /// The error for a session's end.
    package init(_ reason: EndReason) {
        self.init(sentence: reason.sentence, remedy: reason.remedy, status: reason.status)
    }

    /// Prints the error on stderr and returns the exit code to throw.
    package func report() -> ExitCode {
        ErrorOutput.writeLine("share: \(sentence)")
        if !remedy.isEmpty { ErrorOutput.writeLine("       \(remedy)") }
        return status.code
    }
}
