import ArgumentParser

/// The exit codes, after sysexits.h; Docs/manual.md lists them.
enum ExitStatus: Int32 {
    case fine = 0
    /// `doctor` found something missing.
    case missing = 1
    /// Wrong arguments (ArgumentParser's own code).
    case usage = 64
    /// The link is mistyped or cut off.
    case badLink = 65
    /// No display, or it went away.
    case noDisplay = 66
    /// The host cannot be reached.
    case unreachable = 68
    /// The port is in use or may not be opened.
    case portUnavailable = 69
    /// Something broke inside.
    case failed = 70
    /// A file cannot be written.
    case cannotWrite = 73
    /// The connection was lost.
    case lost = 74
    /// Nobody answered within 60 s.
    case unanswered = 75
    /// The other side is not what it should be: another certificate, another protocol.
    case untrusted = 76
    /// The host said no, or the link's secret is wrong.
    case refused = 77

    var code: ExitCode { ExitCode(rawValue) }
}

/// A sentence for the person, what to do next, and the code to leave with.
struct Complaint: Error {
    var sentence: String
    var remedy: String = ""
    var status: ExitStatus

    /// Says it on stderr and gives the code to throw.
    func say() -> ExitCode {
        Words.say("share: \(sentence)")
        if !remedy.isEmpty { Words.say("       \(remedy)") }
        return status.code
    }
}
